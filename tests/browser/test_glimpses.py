"""The explorer of models of glimpses and of few-shot learners: places set by a click, drawings as inputs."""

import base64
import re
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from helpers.tasks import drawn_episodes, glimpses, write_drawings
from saccade.api import Model
from saccade.data.tokenizer import Tokenizers
from saccade.look.page import page
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.tasks.episodes import Episodes
from saccade.tasks.glimpses import Glimpses


@pytest.fixture
def looker(tmp_path):
    recipe = parse_recipe(RecipeText(glimpses(tmp_path), "test"))
    return Model(Glimpses(recipe, Tokenizers(None, None, [str(digit) for digit in range(10)])))


def field():
    pixels = np.full((24, 24, 3), 255, np.uint8)
    pixels[8:16, 10:14] = 0
    return pixels


def draw(shown, *points):
    """Draw a line on the sheet, through points in fractions of its sides."""
    box = shown.locator(".sheet").bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    shown.mouse.move(*places[0])
    shown.mouse.down()
    for place in places[1:]:
        shown.mouse.move(*place, steps=3)
    shown.mouse.up()


def test_a_saved_page_shows_the_path(looker, visit, tmp_path):
    trace = looker.trace(field())
    (tmp_path / "page.html").write_text(page([trace.dump()], title="A page"), encoding="utf-8")
    shown = visit((tmp_path / "page.html").as_uri(), online=False)
    expect(shown.locator(".path .fine")).to_have_count(3)
    expect(shown.locator(".path .coarse")).to_have_count(3)
    expect(shown.locator(".path text")).to_have_text(["1", "2", "3"])
    shown.locator(".words .word").nth(1).hover()
    expect(shown.locator(".path .on text")).to_have_text("2")
    expect(shown.locator(".looking .readout")).to_contain_text("After glimpse 2: ")


def test_a_drawing_is_answered_and_a_click_sets_a_place(looker, serve, visit):
    server = serve({"looker": looker.trace(field())})
    server.answer = lambda trace, asked, kept: looker.trace(
        base64.b64decode(asked["image"]),
        pull=[tuple(pull) for pull in asked.get("pull", [])],
        block=asked.get("block", []),
    )
    shown = visit(server.address)
    draw(shown, (0.5, 0.2), (0.5, 0.8))
    expect(shown.locator(".path .fine")).to_have_count(3)
    sent = np.asarray(Image.open(BytesIO(base64.b64decode(server.asked[-1]["image"]))).convert("L"))
    assert sent[140, 140] < 60, "ink where the line is"
    assert sent[5, 5] > 200
    shown.locator(".words .word").nth(1).click()
    box = shown.locator(".image").bounding_box()
    shown.mouse.click(box["x"] + 2, box["y"] + 2)
    expect(shown.locator(".path text", has_text="2")).to_have_attribute("x", re.compile(r"8\.3333"))
    assert server.asked[-1]["pull"] == [[1, 0, 1]]
    assert "force" not in server.asked[-1]


OPACITIES = """(canvas, [rows, columns]) => {
  const [wide, high] = [canvas.width / columns, canvas.height / rows];
  const { data } = canvas.getContext("2d").getImageData(wide * 0.2, high * 1.2, wide * 0.6, high * 0.6);
  return new Set(data.filter((_, place) => place % 4 === 3)).size;
}"""
"""The number of different opacities within the first example."""


def test_labeled_drawings_are_an_episode(serve, visit, tmp_path):
    recipe = parse_recipe(RecipeText(drawn_episodes(tmp_path), "test"))
    model = Model(Episodes(recipe, Tokenizers(None, None)))
    trace = model.trace({"support": write_drawings(tmp_path), "query": str(tmp_path / "query1.png")})
    server = serve({"learner": trace})
    server.answer = lambda trace, asked, kept: trace
    shown = visit(server.address)
    shown.get_by_role("button", name="Ask about it").click()
    expect(shown.get_by_text("The sheet is empty")).to_be_visible()
    for label, line in {"bar": [(0.5, 0.2), (0.5, 0.8)], "dash": [(0.2, 0.5), (0.8, 0.5)]}.items():
        shown.get_by_label("Label of the example").fill(label)
        draw(shown, *line)
        shown.get_by_role("button", name="Add as an example").click()
    draw(shown, (0.5, 0.2), (0.5, 0.7))
    shown.get_by_role("button", name="Ask about it").click()
    expect(shown.locator(".image")).to_be_visible()
    expect(shown.locator(".lane.looking .readout")).to_contain_text("The query is at the top left")
    shown.locator(".words .word").first.hover()
    expect(shown.locator(".lane.looking .readout")).to_contain_text(re.compile(r"The query attends most to \w+ \d"))
    assert shown.locator(".image .heatmap").evaluate(OPACITIES, trace.sides["source"].grid) == 1, (
        "an example is evenly lit"
    )
    shown.set_viewport_size({"width": 390, "height": 844})
    assert shown.evaluate("document.documentElement.scrollWidth") <= 390
    asked = server.asked[-1]["input"]
    assert {label: len(images) for label, images in asked["support"].items()} == {"bar": 1, "dash": 1}
    assert asked["query"].startswith("iVBOR")
    shown.get_by_label("Remove the examples of bar").click()
    expect(shown.locator(".examples-of")).to_have_count(1)

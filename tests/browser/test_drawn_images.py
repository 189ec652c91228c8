"""The explorer of models that draw: seed, class and the way to another seed; where each place of the image looked."""

from collections import Counter

import numpy as np
import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.pages import AUDIT
from helpers.tasks import generating
from saccade.api import Model
from saccade.config import merge
from saccade.data.tokenizer import Tokenizers
from saccade.look.page import page
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.tasks.image_generation import ImageGeneration

CLASSES = ["blue rows", "red solid"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models with and without attention that draw by class."""
    settings = generating(tmp_path_factory.mktemp("drawn"))
    made = {}
    for name, changes in (("with", {}), ("without", {"model": {"attend": []}})):
        recipe = parse_recipe(RecipeText(merge(settings, changes), "test"))
        made[name] = Model(ImageGeneration(recipe, Tokenizers(None, None, CLASSES)))
    return made


@pytest.fixture
def explorer(models, serve, visit):
    """explorer(hash) is a page and its server, which asks the models."""

    def start(hash="", **options):
        server = serve({name: model.trace("1") for name, model in models.items()})
        server.classes = CLASSES
        server.answer = lambda trace, asked, kept: models[asked["model"]].trace(asked["input"])
        shown = visit(f"{server.address}#{hash}", **options)
        expect(shown.locator(".image img").first).to_be_visible()
        return shown, server

    return start


def press(shown, place, size=8):
    """Click a place of the grid over the first image."""
    box = shown.locator(".image").first.bounding_box()
    row, column = divmod(place, size)
    shown.mouse.click(box["x"] + (column + 0.5) * box["width"] / size, box["y"] + (row + 0.5) * box["height"] / size)


def strongest(trace, place):
    site = next(site for site in trace.sites if site.name == trace.default_site)
    row, column = divmod(int(site.weights.unpack()[0, place].argmax()), 8)
    return f"row {row + 1}, column {column + 1}"


def test_the_fields_say_what_to_draw_and_the_link_keeps_it(explorer):
    shown, server = explorer()
    expect_asked(shown, server, "input", {"seed": 1})
    shown.get_by_label("Class").select_option("red solid")
    expect_asked(shown, server, "input", {"seed": 1, "class": "red solid"})
    shown.get_by_label("Seed", exact=True).fill("7")
    expect_asked(shown, server, "input", {"seed": 7, "class": "red solid"})
    shown.get_by_label("The other seed", exact=True).fill("9")
    slider = shown.get_by_label("Share of the way to the other seed")
    slider.focus()
    slider.press("PageUp")
    share = float(slider.input_value())
    assert 0 < share < 1
    wish = {"seed": 7, "class": "red solid", "toward": 9, "share": share}
    expect_asked(shown, server, "input", wish)
    expect(shown.locator(".seed-told").first).to_have_text(f"{round(100 * share)} %")
    shown.get_by_label("Truncation of the noise").press("Home")
    expect_asked(shown, server, "input", {**wish, "truncation": 0})
    link = shown.url.partition("#")[2]
    again, other = explorer(link)
    expect_asked(again, other, "input", {**wish, "truncation": 0})
    expect(again.get_by_label("Class")).to_have_value("red solid")
    shown.go_back()
    expect(shown.get_by_label("Truncation of the noise")).to_have_value("1")


def test_a_click_shows_where_a_place_looked(explorer, models):
    shown, _ = explorer()
    trace = models["with"].trace({"seed": 1})
    press(shown, 19)
    shown.mouse.move(5, 5)
    told = shown.locator(".looking .readout")
    expect(told).to_contain_text(f"row 3, column 4 attends most to {strongest(trace, 19)}")
    expect(shown.locator("#inspector h2")).to_have_text("row 3, column 4")
    assert shown.locator(".image canvas").evaluate(
        "canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(v => v > 0)"
    )
    shown.get_by_label("Layer").select_option(label="discriminator")
    expect(shown.locator(".tile")).to_have_count(16)
    found = shown.evaluate(AUDIT)
    assert {name: found[name] for name in ("nameless", "faint")} == {"nameless": [], "faint": []}


def test_two_models_stand_side_by_side_and_share_the_pointer(explorer, models):
    shown, _ = explorer("model=with&model=without&noise=3")
    expect(shown.locator(".gallery .image")).to_have_count(2)
    images = shown.locator(".gallery .image img").evaluate_all("images => images.map(image => image.src)")
    assert images == [models[name].trace({"seed": 3}).sides["source"].image for name in ("with", "without")]
    expect(shown.locator(".gallery .answer").nth(1)).to_contain_text("This model has no attention")
    press(shown, 19)
    first = shown.locator(".gallery .answer").first
    expect(first.locator(".readout")).to_contain_text("row 3, column 4 attends most to")


def test_a_saved_page_works_offline_and_on_a_phone(models, visit, tmp_path):
    trace = models["with"].trace({"seed": 4, "class": "blue rows"})
    (tmp_path / "page.html").write_text(page([trace.dump()], title="A page"), encoding="utf-8")
    shown = visit(
        (tmp_path / "page.html").as_uri(), online=False, viewport={"width": 390, "height": 844}, has_touch=True
    )
    expect(shown.locator(".seeds")).to_have_count(0)
    press(shown, 8)
    expect(shown.locator(".looking .readout")).to_contain_text(f"row 2, column 1 attends most to {strongest(trace, 8)}")
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    likeliest = np.exp(trace.steps[0].log_probability)
    expect(shown.locator(".judged")).to_contain_text(f"The judge sees {trace.text} {100 * likeliest:.0f} %")
    assert Counter(site.columns for site in trace.sites) == {"source": 2}

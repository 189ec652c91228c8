"""The explorer of models that read images: the image as a lane, tiles, regions, and images to ask about."""

import base64
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from helpers.page_server import expect_asked
from helpers.pages import AUDIT, LENSES, downloaded, expect_answer, inspector, lens, open_more, open_share, wrote
from helpers.traces import CAPTION, captioned, quartered, translation
from saccade.look.heatmap import heatmap
from saccade.look.page import page
from saccade.look.picture import data_address, png

ANSWER = [*CAPTION, "end"]
PIXELS = """canvas => {
    const { width, height } = canvas;
    return { width, height, data: [...canvas.getContext("2d").getImageData(0, 0, width, height).data] };
}"""

MIDDLES = """(canvas, [rows, columns]) => {
    const high = canvas.height / rows, wide = canvas.width / columns, drawn = canvas.getContext("2d");
    const opacity = (row, column) => drawn.getImageData((column + 0.5) * wide, (row + 0.5) * high, 1, 1).data[3];
    return [...Array(rows).keys()].map(row => [...Array(columns).keys()].map(column => opacity(row, column)));
}"""


@pytest.fixture
def saved(visit, tmp_path):
    """saved(trace, …, hash="…") opens a page of traces from disk, with the network off."""

    def open_page(*traces, hash="", **options):
        file = tmp_path / "page.html"
        file.write_text(page([trace.dump() for trace in traces], title="A page"), encoding="utf-8")
        return visit(f"{file.as_uri()}#{hash}", online=False, **options)

    return open_page


@pytest.fixture
def explorer(serve, visit):
    """explorer(hash) is a page and its server, with a captioner and a translator."""

    def start(hash="", models=("seer", "reader"), **options):
        known = {"seer": captioned("seer"), "reader": translation("reader")}
        server = serve({name: known[name] for name in models})
        for name, value in options.items():
            setattr(server, name, value)
        return visit(f"{server.address}#{hash}"), server

    return start


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "square.png"
    path.write_bytes(png(quartered()))
    return path


def opacity(canvas, rows=3, columns=4):
    """The heatmap's pixels in the middle of each region."""
    return np.array(canvas.evaluate(MIDDLES, [rows, columns]))


def at(shown, region, rows=3, columns=4):
    """The position of a region, relative to the corner of the image."""
    expect(shown.locator(".image img")).to_have_js_property("complete", True)
    # found and measured in one call: an answer in between would replace the image, and the old one has no size
    measured = (
        "() => (({ clientWidth, clientHeight }) => [clientWidth, clientHeight])(document.querySelector('.image'))"
    )
    width, height = shown.evaluate(measured)
    assert min(width, height) > 0
    row, column = divmod(region, columns)
    return {"x": (column + 0.5) * width / columns, "y": (row + 0.5) * height / rows}


def test_pointing_at_a_word_lights_its_region(saved):
    shown = saved(captioned())
    overlaid = shown.locator(".image .heatmap")
    assert opacity(overlaid).max() == 0, "the image is clear while nothing is pointed at"
    wrote(shown).nth(1).hover()
    dark = opacity(overlaid)
    assert dark.argmin() == 1
    assert dark[0, 1] < 30
    assert dark[2].min() > 150
    expect(shown.locator(".looking .readout")).to_have_text("red attends most to row 1, column 2: 83\u00a0%")
    assert shown.locator(".outlines .gold").count() == 0
    wrote(shown).nth(2).hover()
    assert shown.locator(".outlines .gold").count() == 2


def test_the_keyboard_lights_regions_and_words(saved):
    shown = saved(captioned())
    wrote(shown).first.focus()
    shown.keyboard.press("ArrowRight")
    assert opacity(shown.locator(".image .heatmap")).argmin() == 1
    shown.locator(".image").focus()
    for key in ("ArrowRight", "ArrowRight"):
        shown.keyboard.press(key)
    expect(shown.locator(".looking .readout")).to_contain_text("row 1, column 2: red 83\u00a0%")
    shown.keyboard.press("Enter")
    expect(inspector(shown).get_by_role("heading", name="row 1, column 2")).to_be_visible()
    assert shown.evaluate("document.activeElement.className") == "image"


def test_a_region_tells_the_words_that_attend_to_it_most_first(saved):
    shown = saved(captioned())
    shown.locator(".image").hover(position=at(shown, 2))
    looks = [float(one.evaluate("word => word.style.getPropertyValue('--look')")) for one in wrote(shown).all()]
    assert np.argmax(looks) == 2
    assert max(looks) == 1
    faded = shown.locator(".tile").evaluate_all("all => all.map(one => Number(one.style.opacity))")
    assert np.argmax(faded) == 2
    assert min(faded) < 0.4
    shown.locator(".image").click(position=at(shown, 2))
    first = inspector(shown).locator(".weights li").first
    assert first.inner_text().split() == ["square", "83", "%"]
    assert inspector(shown).get_by_role("button", name="Hide").count() == 0  # a saved answer


def test_the_heatmap_is_the_one_of_python(saved):
    shown = saved(captioned())
    tile = shown.locator(".tile").nth(1)
    found = tile.locator("canvas").evaluate(PIXELS)
    drawn = np.array(found["data"]).reshape(found["height"], found["width"], 4)
    weights = captioned().sites[0].weights.unpack()[0, 1].reshape(3, 4)
    expected = heatmap(weights, found["height"], found["width"])
    np.testing.assert_allclose(drawn[..., 3], expected[..., 3], atol=1)
    seen = expected[..., 3] > 60  # a canvas loses the color of almost transparent pixels
    np.testing.assert_allclose(drawn[seen], expected[seen], atol=4)


def test_a_tile_for_each_word(saved):
    shown = saved(captioned())
    assert shown.locator(".tile-name > :first-child").all_inner_texts() == [*CAPTION, "end"]
    assert shown.locator(".tile").nth(0).get_attribute("aria-label") == "a: attends most to row 1, column 1, 83 %"
    open_more(shown)
    shown.get_by_label("Ends and punctuation").select_option("hidden")
    assert shown.locator(".tile").count() == 3
    shown.locator(".tile").nth(1).hover()
    assert opacity(shown.locator(".image .heatmap")).argmin() == 1
    shown.locator(".tile").nth(1).click()
    expect(inspector(shown).get_by_role("heading", name="red")).to_be_visible()


def test_regions_that_attend_to_regions_are_pointed_at_in_the_image(saved):
    shown = saved(captioned(), hash="site=encoder")
    expect(shown.locator(".view .tile")).to_have_count(12)
    assert wrote(shown).count() == 0
    shown.locator(".image").hover(position=at(shown, 7))
    assert opacity(shown.locator(".image .heatmap")).argmin() == 7
    expect(shown.locator(".looking .readout")).to_contain_text("row 2, column 4 attends most to row 2, column 4")


def test_words_that_attend_to_words_have_lanes_and_the_image_stays(saved):
    shown = saved(captioned(), hash="site=decoder")
    assert shown.locator(".lane[data-lane=read] .word").count() == 4
    assert shown.get_by_role("img", name="The image that was read").is_visible()


def test_heads_look_where_the_word_looks(saved):
    shown = saved(captioned(heads=3), hash="lens=heads")
    assert shown.locator(".thumbnail").count() == 3
    wrote(shown).nth(1).hover()
    found = [opacity(shown.locator(".thumbnail canvas").nth(head)).argmin() for head in range(3)]
    assert found == [1, 2, 3]
    shown.get_by_role("button", name="cross, head 3").click()
    assert "head=2" in shown.url
    assert shown.locator(".matrix").is_visible()


def test_a_step_lights_its_word_and_lists_the_strongest_regions(saved):
    shown = saved(captioned(), hash="lens=step&step=2")
    assert opacity(shown.locator(".image .heatmap")).argmin() == 2
    assert shown.locator(".shares tbody th").first.inner_text() == "row 1, column 3"
    assert shown.locator(".shares tbody tr").count() == 12
    shown.keyboard.press("ArrowRight")
    assert opacity(shown.locator(".image .heatmap")).argmin() == 3


def test_a_picture_without_attention_is_shown_all_the_same(saved):
    shown = saved(captioned(sites=[], gold=None))
    assert shown.locator(".image img").is_visible()
    expect(shown.locator("#stage")).to_contain_text("has no attention")
    wrote(shown).first.hover()
    assert opacity(shown.locator(".image .heatmap")).max() == 0


@pytest.mark.parametrize("view", LENSES)
def test_what_is_on_the_screen_can_be_saved(view, saved):
    shown = saved(captioned())
    lens(shown, view)
    drawing = downloaded(shown, "SVG").decode()
    tree = ElementTree.fromstring(drawing)
    assert all(word in "".join(tree.itertext()) for word in CAPTION)
    images = list(tree.iter("{http://www.w3.org/2000/svg}image"))
    assert len(images) >= (10 if view == "Words" else 2)
    assert all(image.get("href").startswith("data:image/png") for image in images)
    assert downloaded(shown, "PNG")[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", LENSES)
def test_everything_has_a_name_and_can_be_read(view, scheme, saved):
    shown = saved(captioned(heads=2), hash="", color_scheme=scheme, reduced_motion="reduce")
    lens(shown, view)
    wrote(shown).first.hover()
    found = shown.evaluate(AUDIT)
    assert found["nameless"] == []
    assert found["faint"] == []


@pytest.mark.parametrize("view", LENSES)
def test_nothing_is_cut_off_on_a_telephone(view, saved):
    shown = saved(captioned(), viewport={"width": 360, "height": 740})
    lens(shown, view)
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360


def test_regions_of_a_crooked_trace_are_words_and_do_no_harm(saved):
    """If two regions are one word, the source is no grid."""
    trace = captioned()
    source = trace.sides["source"].model_copy(update={"word_of": [0, 0, *range(2, 12)]})
    shown = saved(trace.model_copy(update={"sides": {**trace.sides, "source": source}}))
    assert shown.locator(".image").count() == 0
    assert shown.locator(".lane[data-lane=read] .word").count() == 11


def test_an_image_is_chosen_and_described(explorer, file):
    shown, server = explorer()
    assert shown.get_by_role("textbox").count() == 0
    expect(shown.locator("#image-name")).to_have_text("or drop one on the page, or paste it")
    expect(shown.locator("#stage")).to_contain_text("Choose an image")
    shown.get_by_label("Choose an image").set_input_files(file)
    expect_answer(shown, ANSWER)
    expect(shown.locator("#image-name")).to_have_text("square.png")
    assert server.asked == [{"model": "seer", "image": base64.b64encode(file.read_bytes()).decode(), "options": {}}]
    assert "image" not in shown.url
    assert len(shown.url) < 200


def test_examples_are_images_to_click(explorer):
    shown, server = explorer(models=("seer",))
    address = data_address(quartered())
    server.examples = {"seer": [{"name": "one", "image": address}, {"name": "two", "image": address}]}
    shown.reload()
    expect_answer(shown, ANSWER)  # the first, without a click
    shown.get_by_role("button", name="two").click()
    expect(shown.locator("#image-name")).to_have_text("two")
    expect_answer(shown, ANSWER)
    assert server.asked[-1]["image"] == address.partition(",")[2]


def test_a_model_that_reads_is_asked_with_text(explorer, file):
    shown, server = explorer("model=reader&text=hello")
    expect(shown.get_by_role("status").last).to_contain_text("(hello)")
    assert shown.locator(".ask-image").count() == 0
    shown.get_by_text("+ Compare").click()
    shown.get_by_role("checkbox", name="seer").check()
    shown.get_by_label("Choose an image").set_input_files(file)
    expect_answer(shown, ANSWER, of=1)
    assert shown.get_by_role("button", name="Edit the text").is_visible()
    assert [sorted(asked) for asked in server.asked] == [["input", "model", "options"], ["image", "model", "options"]]


DROP = """([base64, name, event]) => {
    const bytes = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name, { type: "image/png" }));
    const options = { bubbles: true, cancelable: true };
    document.dispatchEvent(event === "drop" ? new DragEvent("drop", { ...options, dataTransfer: data })
        : new ClipboardEvent("paste", { ...options, clipboardData: data }));
}"""


@pytest.mark.parametrize("event", ["drop", "paste"])
def test_a_picture_is_dropped_or_pasted(event, explorer, file):
    shown, server = explorer()
    shown.evaluate(DROP, [base64.b64encode(file.read_bytes()).decode(), "<b>.png", event])
    expect_answer(shown, ANSWER)
    expect(shown.locator("#image-name")).to_have_text("<b>.png")
    assert len(server.asked) == 1


def test_pictures_for_nobody_are_told(explorer, saved, file):
    shown, server = explorer(models=("reader",))
    shown.evaluate(DROP, [base64.b64encode(file.read_bytes()).decode(), "a.png", "drop"])
    expect(shown.locator("#toast")).to_contain_text("a.png is an image, but no model here reads images.")
    other = saved(captioned())
    other.evaluate(DROP, [base64.b64encode(file.read_bytes()).decode(), "a.png", "drop"])
    expect(other.locator("#toast")).to_contain_text("but this page was saved without a model.")
    assert server.asked == []


def test_files_that_cannot_be_sent_are_told(explorer, tmp_path):
    shown, server = explorer()
    (tmp_path / "empty.png").write_bytes(b"")
    with (tmp_path / "large.png").open("wb") as large:
        large.truncate(32_000_001)
    for name, told in (("empty.png", "empty.png could not be read, or is empty"), ("large.png", "more than 32 MB")):
        shown.get_by_label("Choose an image").set_input_files(tmp_path / name)
        expect(shown.locator("#toast")).to_contain_text(told)
    assert server.asked == []


def test_what_the_server_refuses_is_a_sentence_and_the_same_file_can_be_tried_again(explorer, file, visit):
    shown, server = explorer(refuse=(422, "the picture is cut or damaged <b>"))
    shown.get_by_label("Choose an image").set_input_files(file)
    expect(shown.locator(".fault p")).to_have_text("the picture is cut or damaged <b>")
    visit.faults.clear()  # the browser itself logs the status as an error
    server.refuse = None
    shown.get_by_label("Choose an image").set_input_files(file)
    expect_answer(shown, ANSWER)


def test_a_region_is_hidden_and_shown_again(explorer, file):
    shown, server = explorer()
    shown.get_by_label("Choose an image").set_input_files(file)
    shown.locator(".image").click(position=at(shown, 5))
    shown.get_by_role("button", name="Hide from all words").click()
    expect(shown.locator(".outlines .closed")).to_have_count(1)
    expect_asked(shown, server, "block", [5])
    expect(shown.locator(".what-happened")).to_contain_text("“row 2, column 2” is hidden")
    assert "hide=5" in shown.url
    shown.locator(".image").click(position=at(shown, 5))
    shown.get_by_role("button", name="Show again").click()
    expect(shown.locator(".outlines .closed")).to_have_count(0)
    shown.locator(".image").click(position=at(shown, 5))
    shown.keyboard.press("h")
    expect_asked(shown, server, "block", [5])
    shown.get_by_label("Choose an image").set_input_files(file)
    expect(shown.locator(".changes")).to_have_count(0)  # another image resets interventions


def test_a_weight_is_set_to_a_region_and_another_word_said(explorer, file):
    shown, server = explorer()
    shown.get_by_label("Choose an image").set_input_files(file)
    wrote(shown).nth(2).click()
    slider = shown.get_by_role("slider", name="Attention of square to row 1, column 3")
    slider.evaluate("one => { one.value = 0.25; one.dispatchEvent(new Event('input', { bubbles: true })); }")
    expect_asked(shown, server, "pull", [[2, 2, 0.25]])
    slider.evaluate("one => one.dispatchEvent(new Event('change', { bubbles: true }))")
    shown.locator(".tile").nth(1).click()
    inspector(shown).get_by_role("button", name="autre 5.0 %").click()
    expect_asked(shown, server, "force", [5, 100])


def test_a_link_says_that_the_picture_stays_here(explorer, file, browser):
    shown, _ = explorer()
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.get_by_label("Choose an image").set_input_files(file)
    expect_answer(shown, ANSWER)
    open_share(shown)
    shown.get_by_role("button", name="Copy link").click()
    expect(shown.locator("#toast")).to_contain_text("but the image, which has to be chosen again")


def test_what_was_described_is_saved_as_a_page_of_its_own(explorer, file, visit, tmp_path):
    shown, server = explorer()
    shown.get_by_label("Choose an image").set_input_files(file)
    expect_answer(shown, ANSWER)
    (tmp_path / "saved.html").write_bytes(downloaded(shown, "HTML"))
    server.close()
    again = visit((tmp_path / "saved.html").as_uri(), online=False)
    expect_answer(again, ANSWER)
    expect(again.locator(".tile")).to_have_count(4)

"""Files of figures: descriptions, sizes, and letters as shapes."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from saccade.look import (
    SIZES,
    Curve,
    Format,
    Heads,
    Map,
    save,
    save_arcs,
    save_heads,
    save_lengths,
    save_reading,
    save_ribbons,
)
from saccade.look.canvas import sheet
from saccade.look.output import LARGEST_SCALE

pytest.importorskip("matplotlib")
SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["the", "old", "woman"]
SMALL = Map(WORDS, WORDS, [[1, 0, 0], [0.5, 0.5, 0], [0, 0.1, 0.9]])
LONG = Map(["sentence"] * 60, ["sentence"] * 60, [[1 / 60] * 60] * 60)
DRAW = {
    "matrix": save,
    "ribbons": save_ribbons,
    "reading": save_reading,
    "arcs": lambda map, path, format: save_arcs([map], path, format=format),
    "heads": lambda map, path, format: save_heads([Heads("site", [map] * 5)], path, format=format),
}


def page_of(path):
    """Width and height of an SVG in points, and of what it shows in its own units."""
    opening = re.search(r"<svg[^>]*>", path.read_text())[0]
    width, height = (float(re.search(rf'{name}="([\d.]+)pt"', opening)[1]) for name in ("width", "height"))
    return width, height, *map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', opening).groups())


@pytest.mark.parametrize("style", DRAW)
def test_a_column_of_a_paper(style, tmp_path):
    DRAW[style](SMALL, tmp_path / "x.svg", format=Format(caption="said " * 60, size=SIZES["paper"]))
    width, _, inside, _ = page_of(tmp_path / "x.svg")
    assert width == inside == pytest.approx(504 if style == "heads" else 240, abs=0.1), "not scaled"
    sizes = {float(size) for size in re.findall(r"font-size: ([\d.]+)px", (tmp_path / "x.svg").read_text())}
    assert 8.0 in sizes
    assert min(sizes) == pytest.approx(7.48 if style == "heads" else 8)


@pytest.mark.parametrize("style", ["matrix", "ribbons", "reading"])
def test_a_long_text_takes_both_columns(style, tmp_path):
    DRAW[style](LONG, tmp_path / "x.svg", format=Format(size=SIZES["paper"]))
    assert page_of(tmp_path / "x.svg")[0] == pytest.approx(504, abs=0.1)


@pytest.mark.parametrize("style", DRAW)
@pytest.mark.parametrize("map", [SMALL, LONG], ids=["short", "long"])
def test_slides_have_one_shape(style, map, tmp_path):
    DRAW[style](map, tmp_path / "x.svg", format=Format("Title", "caption", size=SIZES["slide"]))
    width, height, inside, high = page_of(tmp_path / "x.svg")
    assert (width, height) == (960, 540)
    assert inside / high == pytest.approx(16 / 9, rel=1e-3)
    assert inside >= 960 / LARGEST_SCALE - 0.1


def test_a_slide_is_a_picture_of_full_hd(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    for map in (SMALL, LONG):
        save(map, tmp_path / "x.png", format=Format(size=SIZES["slide"]))
        with image.open(tmp_path / "x.png") as picture:
            width, height = picture.size
        assert abs(width - 1920) <= 2
        assert abs(height - 1080) <= 2


def test_everything_lies_on_the_page(tmp_path):
    """Title and caption stand beyond the content, and the file shows them."""
    told = Format("A title", "a caption that is long enough to be broken into lines " * 2, size=SIZES["paper"])
    with sheet(tmp_path / "x.svg", told) as page:
        page.box((0, 0, 150, 50), fill="#000000")
    text = (tmp_path / "x.svg").read_text()
    height = page_of(tmp_path / "x.svg")[3]
    lines = [float(y) for y in re.findall(r'<text [^>]* y="([\d.]+)"', text)]
    assert len(lines) >= 4
    assert all(0 < y < height for y in lines)
    assert sorted(lines)[1] - sorted(lines)[0] > 50, "the title is above the box"


@pytest.mark.parametrize("size", SIZES)
def test_the_caption_of_a_narrow_figure_lies_on_the_page(size, tmp_path):
    """Hinted letters have other widths at every resolution, so the page is measured at the resolution of its file."""
    pixels = pytest.importorskip("PIL.Image")
    said = "snail, cross-attention, layer 1 of 2; brightness is the share of attention that the label pays to a region"
    with sheet(tmp_path / "x.png", Format(caption=said, size=SIZES[size])) as page:
        page.box((0, 0, 50, 50), fill="#000000")
    ink = np.asarray(pixels.open(tmp_path / "x.png").convert("L")) < 200
    margin = round(0.5 * SIZES[size].margin / 72 * SIZES[size].dots)
    assert ink.any()
    assert not ink[:, -margin:].any()


@pytest.mark.parametrize("style", DRAW)
def test_an_svg_says_what_it_shows(style, tmp_path):
    told = Format("Bread & <butter>", "the caption", "what is \x1b drawn\ufffe")
    DRAW[style](SMALL, tmp_path / "x.svg", format=told)
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    assert root.attrib["role"] == "img"
    assert [(part.tag, part.text) for part in root[:2]] == [
        (f"{SVG}title", "Bread & <butter>"),
        (f"{SVG}desc", "what is ␛ drawn�"),
    ]
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert {"the caption", "Bread & <butter>"} <= set(texts)


def test_without_a_title_the_caption_names_a_figure(tmp_path):
    save(SMALL, tmp_path / "x.svg", format=Format(caption="the caption"))
    assert ElementTree.parse(tmp_path / "x.svg").getroot()[0].text == "the caption"


def test_curves_say_what_they_show(tmp_path):
    save_lengths([Curve("a <b>", [(1, 10, 30, 29, 31)])], tmp_path / "x.svg")
    root = ElementTree.parse(tmp_path / "x.svg").getroot()
    assert [part.text for part in root[:2]] == ["BLEU by the length of the input", "a <b>: 30.0 (1 to 10)."]


def test_outlined_letters_need_no_font(tmp_path):
    for outline in (False, True):
        save(SMALL, tmp_path / f"{outline}.svg", format=Format(caption="said", outline=outline))
    plain, outlined = ((tmp_path / f"{outline}.svg").read_text() for outline in (False, True))
    assert "<text" in plain
    assert "<text" not in outlined
    assert "font" not in re.sub(r"<!--.*?-->", "", outlined).lower()
    assert "<title>said</title>" in outlined


def test_long_titles_are_cut(tmp_path):
    save(SMALL, tmp_path / "x.svg", format=Format("x" * 200))
    assert f">{'x' * 89}…</text>" in (tmp_path / "x.svg").read_text()


def test_a_long_text_on_a_slide_has_the_largest_letters_that_fit(tmp_path):
    """A hundred words fill the slide's width; if they kept their size, the slide would be scaled to a strip."""
    words = ["sentence"] * 100
    long = Map(words, words, [[0.01] * 100] * 100)
    save_ribbons(long, tmp_path / "x.svg", format=Format("Title", "caption", size=SIZES["slide"]))
    text = (tmp_path / "x.svg").read_text()
    places = [float(x) for x in re.findall(r'<text [^>]* x="([\d.]+)"[^>]*>sentence', text)] or [
        float(x) for x in re.findall(r"translate\(([\d.]+) [\d.]+\)[^>]*>sentence", text)
    ]
    assert max(places) - min(places) > 0.75 * page_of(tmp_path / "x.svg")[2]

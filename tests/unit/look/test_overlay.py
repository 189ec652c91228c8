"""Overlays: a panel for each word, as SVG, as an image and in the terminal."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from helpers.images import quarters
from saccade.errors import ConfigError, ShapeError
from saccade.look import Heads, Map, Overlay, Picture, draw_overlay, draw_overlay_heads, save_overlay, text_width
from saccade.look.overlay import NAME, Tiles, save_overlay_heads
from saccade.look.overlay_svg import OverlayDrawing

SVG = "{http://www.w3.org/2000/svg}"
CODES = re.compile(r"\x1b\[[\d;]*m")
HOSTILE = ['<script>alert("1")</script>', "&amp;", "]]>", "\x1b[31m\u202e", "x" * 200]


def look_at(*places, regions=16, words=None, **more):
    """A map whose words attend to one region each."""
    weights = np.zeros((len(places), regions))
    weights[range(len(places)), places] = 0.9
    return Map(
        [str(number) for number in range(regions)], words or [f"w{n}" for n in range(len(places))], weights, **more
    )


def seen(**more):
    return Picture(quarters(64, 64), 4, 4, **more)


def panels(overlay):
    return {panel.name: panel for panel in overlay.panels}


def test_a_panel_for_each_word_behind_the_picture_itself():
    overlay = Overlay.of(seen(), look_at(5, 0, words=["red", "<eos>"]))
    assert [panel.name for panel in overlay.panels] == [NAME, "red", "<eos>"]
    assert overlay.panels[0].weights is None
    assert overlay.panels[1].weights[1, 1] == overlay.panels[1].weights.max() == 0.9
    assert [panel.quiet for panel in overlay.panels] == [False, False, True]
    assert [panel.share for panel in overlay.panels] == ["", "90 %", "90 %"]
    without = Overlay.of(seen(), look_at(5, 0, words=["red", "<eos>"]), sinks=False)
    assert [panel.name for panel in without.panels] == [NAME, "red"]


def test_boxes_and_gold_links_are_outlined_with_their_words():
    box = (0.1, 0.2, 0.3, 0.4)
    known = Overlay.of(seen(boxes=(None, box)), look_at(1, 2, 3, words=["a", "square", "<eos>"]))
    assert [panel.boxes for panel in known.panels] == [(), (), (box,), ()]
    pieces = Overlay.of(seen(boxes=(None, box)), look_at(1, 2, 3), word_of=[0, 1, 1])
    assert [panel.boxes for panel in pieces.panels] == [(), (), (box,), (box,)]
    linked = Overlay.of(seen(), look_at(1, 2, gold=[(5, 1)]))
    assert panels(linked)["w1"].boxes == ((0.25, 0.25, 0.5, 0.5),)
    assert known.knows_boxes
    assert not Overlay.of(seen(), look_at(1)).knows_boxes


def test_a_map_of_something_else_is_refused():
    with pytest.raises(ShapeError, match=r"4 × 4 regions, but the map has 9 columns"):
        Overlay.of(seen(), look_at(1, regions=9))


@pytest.mark.parametrize(("count", "across", "rows"), [(1, 1, 1), (6, 6, 1), (7, 4, 2), (13, 5, 3), (18, 6, 3)])
def test_panels_wrap_into_rows_of_about_equal_length(count, across, rows):
    tiles = Tiles(seen(), count, 10)
    places = [tiles.place(number) for number in range(count)]
    assert len({x for x, _ in places}) == across
    assert len({y for _, y in places}) == rows
    assert max(x for x, _ in places) + tiles.width == pytest.approx(tiles.right)
    assert max(y for _, y in places) + tiles.height == pytest.approx(tiles.bottom)


def test_a_drawing_is_xml_with_the_pictures_inside(tmp_path):
    overlay = Overlay.of(seen(boxes=((0, 0, 0.5, 0.5),)), look_at(5, 0, words=["red", "<eos>"]))
    save_overlay(overlay, tmp_path / "x.svg", title="a <b> & c")
    tree = ElementTree.fromstring((tmp_path / "x.svg").read_text())
    images = list(tree.iter(f"{SVG}image"))
    assert len(images) == 1 + 2, "the image once, and a heatmap for each word"
    assert all(image.get("href").startswith("data:image/png;base64,") for image in images)
    assert len(list(tree.iter(f"{SVG}use"))) == 3
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert texts[:5] == ["a <b> & c", NAME, "red", "90 %", "<eos>"]
    assert "gold region of the word" in texts
    assert "http" not in (tmp_path / "x.svg").read_text().replace("http://www.w3.org/", "")


def test_words_in_a_drawing_are_only_words():
    text = str(OverlayDrawing(Overlay.of(seen(), look_at(1, 2, 3, 4, 5, words=HOSTILE)), title=HOSTILE[0], paper=True))
    tree = ElementTree.fromstring(text)
    assert not list(tree.iter(f"{SVG}script"))
    assert "\u202e" not in text
    longest = max((part.text for part in tree.iter(f"{SVG}text")), key=len)
    assert len(longest) < 110, "long words are cut to the panel they stand on"
    assert len(list(tree.iter(f"{SVG}title"))) == 5


def test_drawings_on_a_page_share_a_name_only_with_the_same_picture():
    name = re.compile(r'image id="([\w-]+)"')
    one, same = (str(OverlayDrawing(Overlay.of(seen(), look_at(place)))) for place in (1, 2))
    other = str(OverlayDrawing(Overlay.of(Picture(quarters(32, 32), 4, 4), look_at(1))))
    assert name.findall(one) == name.findall(same) != name.findall(other)
    assert 'fill="currentColor"' in one
    assert "<style" not in one
    assert "class=" not in one


@pytest.mark.parametrize("end", ["png", "pdf"])
def test_pictures_are_files_of_their_kind_and_the_same_each_time(end, tmp_path):
    pytest.importorskip("matplotlib")
    overlay = Overlay.of(seen(boxes=((0, 0, 0.5, 0.5),)), look_at(5, 0, words=HOSTILE[:2]))
    for name in ("one", "two"):
        save_overlay(overlay, tmp_path / f"{name}.{end}", title="a $title$")
    content = (tmp_path / f"one.{end}").read_bytes()
    assert content == (tmp_path / f"two.{end}").read_bytes()
    assert content.startswith({"png": b"\x89PNG", "pdf": b"%PDF"}[end])


def test_in_a_picture_up_is_up_and_bright_is_looked_at(tmp_path):
    """The four quarters are in their places, and in the second panel only the upper left is not dark."""
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    overlay = Overlay.of(seen(), look_at(0))
    save_overlay(overlay, tmp_path / "x.png")
    pixels = np.asarray(image.open(tmp_path / "x.png").convert("RGB")).astype(int)
    dots, tiles = 200 / 72, Tiles(seen(), 2, 11)
    red = np.argwhere((pixels == (255, 0, 0)).all(-1))
    top, left = red.min(0)  # of the first panel
    at = lambda panel, x, y: pixels[  # noqa: E731
        int(top + y * tiles.height * dots), int(left + (tiles.step * panel + x * tiles.width) * dots)
    ]
    near = lambda found, expected: np.abs(found - expected).max() < 12  # noqa: E731
    assert near(at(0, 0.2, 0.2), (255, 0, 0))
    assert near(at(0, 0.8, 0.2), (0, 255, 0))
    assert near(at(0, 0.2, 0.8), (0, 0, 255))
    assert near(at(0, 0.8, 0.8), (255, 255, 255))
    assert at(1, 0.04, 0.04)[0] > 230
    assert all(at(1, x, y).max() < 90 for x, y in ((0.8, 0.2), (0.2, 0.8), (0.8, 0.8)))


@pytest.mark.parametrize("end", ["png", "pdf", "svg"])
def test_heads_are_drawn_side_by_side(end, tmp_path):
    pytest.importorskip("matplotlib")
    heads = Heads("decoder.cross", [look_at(place, place + 1, words=["a", "ring"]) for place in range(3)])
    save_overlay_heads(seen(), heads, tmp_path / f"x.{end}", title="heads")
    content = (tmp_path / f"x.{end}").read_bytes()
    if end == "svg":
        texts = "".join(ElementTree.fromstring(content.decode()).itertext())
        assert all(name in texts for name in ("head 1", "head 3", "mean", "ring"))


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"x\.jpg ends in \.jpg"):
        save_overlay(Overlay.of(seen(), look_at(1)), tmp_path / "x.jpg")


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [1, 3, 12, 19, 20, 41, 42, 79, 120, None])
def test_a_terminal_is_never_too_narrow(width, colour):
    overlay = Overlay.of(seen(), look_at(0, 5, 9, 3, 4, words=HOSTILE))
    heads = Heads("decoder.layers.0.cross", [look_at(1, 2, words=["a", "非常に長い言葉"]), look_at(3, 4)][:1] * 3)
    for text in (
        draw_overlay(overlay, width=width, colour=colour),
        draw_overlay_heads(seen(), heads, width=width, colour=colour),
    ):
        bare = CODES.sub("", text)
        assert max(text_width.width(line) for line in bare.splitlines()) <= (width or 80)
        assert "\x1b" not in bare
        assert "\u202e" not in bare


def test_without_colour_the_shades_stand_where_was_looked():
    lines = draw_overlay(Overlay.of(seen(), look_at(15, words=["corner"])), width=40).splitlines()
    assert lines[0] == "corner          90 %"
    assert len(lines) == 11
    assert lines[-1].endswith("███")
    assert lines[1] == "·" * 20


def test_a_name_stands_beside_its_share_while_one_letter_of_it_fits():
    overlay = Overlay.of(seen(), look_at(15, words=["corner"]))
    for width, first in ((5, "corn…"), (6, "… 90 %"), (7, "c… 90 %"), (11, "corner 90 %")):
        assert draw_overlay(overlay, width=width).splitlines()[0] == first


@pytest.mark.parametrize(("high", "lines"), [(1, 1), (16, 10)])
def test_a_panel_has_the_proportions_of_its_picture_and_one_line_at_least(high, lines):
    """A panel is 20 cells wide, and a cell is twice as high as wide; an aspect ratio of 16 would give half a line."""
    picture = Picture(np.zeros((high, 16, 3), np.uint8), 1, 1)
    overlay = Overlay.of(picture, Map(["0"], ["w"], [[1.0]]))
    assert len(draw_overlay(overlay, width=20).splitlines()) == 1 + lines
    heads = draw_overlay_heads(picture, Heads("site", [Map(["0"], ["w"], [[1.0]])]), width=20)
    assert len(heads.splitlines()) == 3 + round(max(1, 12 * high / 16 / 2))


def test_with_colour_the_picture_is_there_and_dark_where_was_not_looked():
    text = draw_overlay(Overlay.of(seen(), look_at(0, words=["corner"])), width=50, colour=True)
    lines = text.splitlines()
    assert CODES.sub("", lines[0]).split() == [*NAME.split(), "corner", "90", "%"]
    colours = [tuple(map(int, found)) for found in re.findall(r"\x1b\[38;2;(\d+);(\d+);(\d+)m", lines[1])]
    assert len(colours) == 40
    assert colours[0] == (255, 0, 0)
    assert colours[19] == (0, 255, 0)
    assert colours[20][0] > 240
    assert max(colours[39]) < 60
    assert lines[1].endswith("\x1b[0m")


def test_words_that_are_too_many_for_panels():
    picture = Picture(np.zeros((4, 4, 3), np.uint8), 1, 1)
    Overlay.of(picture, Map(["0,0"], ["w"] * 500, [[1.0]] * 500))
    with pytest.raises(ShapeError, match="501 words would be as many panels, but 500 are the most"):
        Overlay.of(picture, Map(["0,0"], ["w"] * 501, [[1.0]] * 501))


@pytest.mark.parametrize(
    ("size", "grid", "suffix"), [((1, 16), (5, 1), ".png"), ((1, 16), (1, 5), ".svg"), ((16, 1), (5, 1), ".svg")]
)
def test_the_narrowest_pictures_and_grids_are_drawn(tmp_path, size, grid, suffix):
    pytest.importorskip("matplotlib")
    picture = Picture(np.zeros((*size, 3), np.uint8), *grid)
    map = Map(list("abcde"), ["w"], [[0.2] * 5])
    save_overlay(Overlay.of(picture, map), tmp_path / f"one{suffix}")
    save_overlay_heads(picture, Heads("site", [map, map]), tmp_path / f"heads{suffix}")
    assert draw_overlay(Overlay.of(picture, map))

"""Figures: complete, reproducible, and with unaltered words."""

import re
import struct
import sys
from itertools import pairwise
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saccade.errors import ConfigError, DataError, NumericsError, ShapeError
from saccade.look import Curve, Heads, Map, save, save_arcs, save_heads, save_lengths, save_reading
from saccade.look.canvas import shade, sheet
from saccade.look.curves import _apart, name_ends
from saccade.look.design import GOLD, INK, MUTED
from saccade.look.figure import key
from saccade.look.layout import folds

pytest.importorskip("matplotlib")

AREA = Map(["the", "Area"], ["la", "zone", "<eos>"], [[0.9, 0.1], [0.02, 0.98], [0.3, 0.7]], gold=[(0, 0), (1, 1)])
CURVES = [
    Curve("with attention", [(1, 10, 30, 29, 31), (11, 20, 29, 27, 30.5)]),
    Curve("without", [(11, 20, 12, 10, 14), (1, 10, 28, 27, 29)]),
]
SUFFIXES = [".png", ".pdf", ".svg"]
SVG = "{http://www.w3.org/2000/svg}"


def size(path):
    """Width and height of a PNG, from its header."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert data[-8:-4] == b"IEND"
    return struct.unpack(">II", data[16:24])


def words_only(word):
    return Map([word], ["b"], [[1]])


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "draw", [lambda path: save(AREA, path, title="T"), lambda path: save_lengths(CURVES, path, 15)]
)
def test_equal_inputs_give_equal_bytes(draw, suffix, tmp_path):
    one, two = tmp_path / f"one{suffix}", tmp_path / "deep" / f"two{suffix.upper()}"
    draw(one)
    draw(two)
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes()[:4] in {b"\x89PNG", b"%PDF", b"<?xm"}


@pytest.mark.parametrize(("words", "least", "most"), [(1, 150, 500), (3, 300, 800), (40, 1800, 2400)])
def test_the_size_follows_the_number_of_words(words, least, most, tmp_path):
    uniform = Map(["word"] * words, ["mot"] * words, [[1 / words] * words] * words)
    save(uniform, tmp_path / "map.png")
    assert all(least < side < most for side in size(tmp_path / "map.png"))


def test_cells_are_square(tmp_path):
    """With equal labels on both sides, a column adds as much width as a row adds height."""
    sizes = {}
    for columns, rows in [(4, 4), (9, 4), (4, 9)]:
        save(Map(["a"] * columns, ["b"] * rows, [[0] * columns] * rows), tmp_path / "map.png")
        sizes[columns, rows] = size(tmp_path / "map.png")
    wider, higher = sizes[9, 4][0] - sizes[4, 4][0], sizes[4, 9][1] - sizes[4, 4][1]
    assert abs(wider - higher) <= 2


def test_long_words_are_not_clipped(tmp_path):
    save(words_only("a"), tmp_path / "short.png")
    save(words_only("a" * 20), tmp_path / "long.png")
    (width, height), (wider, higher) = size(tmp_path / "short.png"), size(tmp_path / "long.png")
    assert higher - height > 200
    assert wider - width > 100  # less, since the legend below the matrix was wider than the short word


def test_dollar_signs_are_drawn(tmp_path):
    save(words_only("$iiiiii$"), tmp_path / "literal.png")
    save(words_only("iiiiii"), tmp_path / "letters.png")
    assert size(tmp_path / "literal.png")[1] > size(tmp_path / "letters.png")[1] + 20


@pytest.mark.parametrize(
    "word", [r"$\frac{$", "x_1^2", r"\alpha", "%", "读", "한국어", "\U0001f600", "\x1b[31m", "\ud800", ""]
)
def test_any_word_can_be_drawn(word, tmp_path):
    save(Map([word], [word], [[0.5]]), tmp_path / "map.svg", title=word)
    save_lengths([Curve(word, [(1, 2, 3, 2, 4)])], tmp_path / "lengths.svg", title=word, score=word)


def texts(path):
    """The words of an SVG that can be selected."""
    return ["".join(text.itertext()) for text in ElementTree.parse(path).iter(f"{SVG}text")]


def test_words_in_a_drawing_can_be_selected(tmp_path):
    save(Map(["سلام", "読む", "."], ["été", "<eos>"], [[1, 0, 0], [0, 0, 1]]), tmp_path / "map.svg", title="a & b")
    found = texts(tmp_path / "map.svg")
    assert [found[:5], found[-1]] == [["سلام", "読む", ".", "été", "<eos>"], "a & b"]


def test_fonts_go_into_the_file(tmp_path):
    save(AREA, tmp_path / "map.pdf")
    data = (tmp_path / "map.pdf").read_bytes()
    assert b"/FontFile2" in data
    assert b"/Type3" not in data, "publishers reject Type 3 fonts"


def test_gold_links_are_outlined(tmp_path):
    for links in (0, 1, 2):
        gold = sorted(AREA.gold)[:links]
        save(Map(AREA.source, AREA.target, AREA.weights, gold), tmp_path / "map.svg")
        outlines = re.findall(f'style="fill: none; stroke: {GOLD}', (tmp_path / "map.svg").read_text())
        assert len(outlines) == (links + 1 if links else 0), "one for each, and one that says what they are"
        assert ("gold link" in texts(tmp_path / "map.svg")) == bool(links)


def test_shades_survive_a_black_and_white_printer():
    grey = []
    for step in range(101):
        red, green, blue = (int(shade(step / 100)[at : at + 2], 16) for at in (1, 3, 5))
        grey.append(0.299 * red + 0.587 * green + 0.114 * blue)
    assert all(lighter > darker for lighter, darker in pairwise(grey))
    assert shade(-1) == shade(0) == "#ffffff"
    assert shade(2) == shade(1) == INK


def test_marks_stand_apart_and_are_lighter(tmp_path):
    words, weights = ["a", "b", ".", "<eos>"], [[0.25] * 4] * 4
    save(Map(words, words, weights, marks=((), ())), tmp_path / "even.svg")
    save(Map(words, words, weights), tmp_path / "apart.svg")
    even, apart = ((tmp_path / f"{name}.svg").read_text() for name in ("even", "apart"))
    wider, width = (float(re.search(r'width="([\d.]+)pt"', text)[1]) for text in (apart, even))
    assert wider - width == pytest.approx(0.35 * 30, abs=0.1)
    for text, count in ((even, 4), (apart, 8)):  # two names, two notes, and the four labels of marks
        assert len(re.findall(f"fill: {MUTED}", text)) == count + 1


@pytest.mark.parametrize(("count", "stretches"), [(1, [1]), (80, [80]), (81, [41, 40]), (161, [54, 54, 53])])
def test_long_texts_are_folded(count, stretches):
    found = folds(count)
    assert [len(part) for part in found] == stretches
    assert [place for part in found for place in part] == list(range(count))


def test_a_folded_map_keeps_every_word_readable(tmp_path):
    source, target = [f"s{number}" for number in range(100)], [f"t{number}" for number in range(90)]
    save(Map(source, target, [[1 / 100] * 100] * 90, gold=[(0, 0), (99, 89)]), tmp_path / "map.svg")
    shown = texts(tmp_path / "map.svg")
    assert all(shown.count(word) == 2 for word in [*source, *target]), "two stretches of each side meet"
    assert "columns 51–100 of 100" in shown
    assert "rows 1–45 of 90" in shown
    text = (tmp_path / "map.svg").read_text()
    assert min(map(float, re.findall(r"font-size: ([\d.]+)px", text))) >= 7.5
    assert float(re.search(r'width="([\d.]+)pt"', text)[1]) < 730
    assert text.count(f"stroke: {GOLD}") == 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_letters_that_no_font_has_become_boxes(suffix, tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.look.canvas.knows", lambda character: character < "\u2600" or character == "□")
    with sheet(tmp_path / f"map{suffix}") as page:
        label = page.label("a👩\u200d👧b")
        assert label == ("a👩\u200d👧b" if suffix == ".svg" else "a□b"), "a browser may know it"
        assert page.boxes == (suffix != ".svg")
        key(page, 0, 0)


def test_letters_are_joined_by_whoever_draws_them(tmp_path, monkeypatch):
    for joins, expected in ((True, "\u0628\u0628"), (False, "\ufe90\ufe91")):
        monkeypatch.setattr("saccade.look.canvas.draws_joined_letters", lambda joins=joins: joins)
        with sheet(tmp_path / "map.png") as page:
            assert page.label("\u0628\u0628") == expected
        with sheet(tmp_path / "map.svg") as page:
            assert page.label("\u0628\u0628") == "\u0628\u0628"


def test_all_scripts_can_stand_in_a_pdf(tmp_path):
    words = [
        "سلام",
        "שלום",
        "読む",
        "한국어",
        "नमस्ते",
        "😀",
        "👩\u200d👧",
        "❤\ufe0f",
        "e\u0301",
        "\U000107f0",
        "\ud800",
        "",
    ]
    save(Map(words, ["x"], [[0.5] * len(words)]), tmp_path / "map.pdf")
    assert (tmp_path / "map.pdf").read_bytes().count(b"/FontFile") >= 1


def width_of(path, draw):
    """Size in points of a page with a box of 100 points and further drawings."""
    with sheet(path) as page:
        page.box((0, 0, 100, 100), fill="#000000")
        draw(page)
    return float(re.search(r'width="([\d.]+)pt"', path.read_text())[1])


def test_the_page_grows_for_what_counts_alone(tmp_path):
    path, far = tmp_path / "x.svg", (500, 0, 50, 50)
    alone = width_of(path, lambda page: None)
    assert alone == pytest.approx(100 + 2 * 0.15 * 72, abs=0.5)
    assert width_of(path, lambda page: page.box(far)) == pytest.approx(alone + 450, abs=0.5)
    assert width_of(path, lambda page: page.text(500, 50, "far", 10)) > alone + 400
    for draw in (
        lambda page: page.box(far, counts=False),
        lambda page: page.text(500, 50, "far", 10, counts=False),
        lambda page: page.cells([far], ["#000000"]),
        lambda page: page.curves([(500, 0, 550, 50)], [("#000000", 1.0)], [1.0]),
        lambda page: page.image(np.zeros((2, 2, 3), np.uint8), far),
    ):
        assert width_of(path, draw) == alone


def test_labels_are_level_unless_they_are_turned(tmp_path):
    with sheet(tmp_path / "x.svg") as page:
        page.text(0, 0, "level", 10)
        page.text(0, 0, "turned", 10, turn=45)
        assert [text.get_rotation() for text in page.figure.texts] == [0, 45]


PICTURES = {
    "matrix": save,
    "reading": save_reading,
    "arcs": lambda map, path, title: save_arcs([map, map], path, title=title),
    "heads": lambda map, path, title: save_heads([Heads(title, [map, map])], path, title=title),
}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.characters(), max_size=6), min_size=1, max_size=4),
    st.sampled_from(list(PICTURES)),
    st.sampled_from([".png", ".svg"]),  # a .pdf takes a second to subset the fonts
)
def test_any_words_at_all_can_be_drawn(tmp_path, words, style, suffix):
    size, path = len(words), tmp_path / f"map{suffix}"
    PICTURES[style](Map(words, words, [[1 / size] * size] * size), path, title=words[0])
    if suffix == ".svg":
        assert texts(path)


def test_gold_links_and_titles_change_the_picture(tmp_path):
    for name, one, title in [("gold", AREA, None), ("plain", Map(AREA.source, AREA.target, AREA.weights), None)]:
        save(one, tmp_path / f"{name}.svg", title=title)
    save(AREA, tmp_path / "title.svg", title="T")
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 3


def test_settings_of_others_neither_matter_nor_suffer(tmp_path):
    import matplotlib

    save(AREA, tmp_path / "before.png")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        save(AREA, tmp_path / "after.png")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "before.png").read_bytes() == (tmp_path / "after.png").read_bytes()


def test_no_window_is_opened(tmp_path):
    loaded = "matplotlib.pyplot" in sys.modules
    save(AREA, tmp_path / "map.png")
    assert ("matplotlib.pyplot" in sys.modules) == loaded


def test_many_curves_that_end_together(tmp_path):
    save_lengths([Curve(f"system {n}", [(1, 9, 20, 19, 21)]) for n in range(9)], tmp_path / "lengths.png", 30)
    width, height = size(tmp_path / "lengths.png")
    assert 1200 < width < 2400
    assert 600 < height < 1400


def test_scores_of_zero_can_be_drawn(tmp_path):
    save_lengths([Curve("untrained", [(1, 1, 0, 0, 0)])], tmp_path / "lengths.png")
    assert size(tmp_path / "lengths.png")[0] > 1000


@pytest.mark.parametrize(("name", "was"), [("map.gif", r"\.gif"), ("map", "nothing")])
def test_other_formats_are_refused(name, was, tmp_path):
    with pytest.raises(ConfigError, match=rf"{name} ends in {was}\. Choose .* \.png, \.pdf or \.svg"):
        save(AREA, tmp_path / name)
    with pytest.raises(ConfigError, match=f"{name} ends in"):
        save_lengths(CURVES, tmp_path / name)


def test_nothing_cannot_be_drawn(tmp_path):
    with pytest.raises(ShapeError, match="1 source words and 0 target words"):
        save(Map(["a"], [], []), tmp_path / "map.png")
    with pytest.raises(ShapeError, match="0 curves"):
        save_lengths([], tmp_path / "lengths.png")
    with pytest.raises(ShapeError, match="'empty' has no points"):
        Curve("empty", [])


def test_points_have_five_finite_numbers():
    with pytest.raises(ShapeError, match="a point of 'a' has 3 numbers, but needs 5"):
        Curve("a", [(1, 2, 3)])
    with pytest.raises(NumericsError, match=r"a point of 'a' is \(51\.0, inf, 3\.0, 2\.0, 4\.0\)"):
        Curve("a", [(51, float("inf"), 3, 2, 4)])


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"file/map\.png"):
        save(AREA, tmp_path / "file" / "map.png")


def test_without_matplotlib_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[images\]'"):
        save(AREA, tmp_path / "map.png")


@given(st.lists(st.floats(0, 40), min_size=1, max_size=12))
def test_names_at_the_ends_of_curves_keep_their_order_and_their_distance(heights):
    moved = _apart(sorted(heights), 2.5, 40.0)
    assert all(above - below >= 2.5 - 1e-9 for below, above in pairwise(moved))
    assert moved[-1] <= 40.0
    if all(above - below >= 2.5 for below, above in pairwise(sorted(heights))):
        assert moved == sorted(heights)


def test_more_cells_than_can_be_drawn(tmp_path):
    wide = Map(["w"] * 388, ["v"] * 387, [[0.0] * 388] * 387)
    with pytest.raises(
        ShapeError, match=r"a figure has at most 150,000 cells, but this one would have 150,156\. Draw f"
    ):
        save(wide, tmp_path / "x.svg")
    half = Map(["w"] * 388, ["v"] * 194, [[0.0] * 388] * 194)
    for draw in (
        lambda: save_heads([Heads("s", [half, half])], tmp_path / "x.svg"),
        lambda: save_arcs([half] * 2, "x.svg"),
    ):
        with pytest.raises(ShapeError, match=r"would have 150,544"):
            draw()
    assert not list(tmp_path.iterdir())


def test_names_at_the_ends_of_curves_stand_apart_by_a_share_of_what_the_axis_shows():
    axes = SimpleNamespace(
        get_ylim=lambda: (10.0, 12.0), get_yaxis_transform=lambda: None, annotate=lambda text, at, **_: drawn.append(at)
    )
    drawn = []
    name_ends(axes, [("one", 11.0), ("other", 11.01)])
    assert drawn == [(1, 11.0), (1, pytest.approx(11.0 + 2 * 0.065))]

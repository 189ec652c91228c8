"""Figures: written, whole, the same each time, and with words as they are."""

import struct
import sys

import pytest

from saccade.errors import ConfigError, DataError, NumericsError, ShapeError
from saccade.look import Curve, Map, save, save_lengths

pytest.importorskip("matplotlib")

AREA = Map(["the", "Area"], ["la", "zone", "<eos>"], [[0.9, 0.1], [0.02, 0.98], [0.3, 0.7]], gold=[(0, 0), (1, 1)])
CURVES = [
    Curve("with attention", [(1, 10, 30, 29, 31), (11, 20, 29, 27, 30.5)]),
    Curve("without", [(11, 20, 12, 10, 14), (1, 10, 28, 27, 29)]),
]
SUFFIXES = [".png", ".pdf", ".svg"]


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


@pytest.mark.parametrize(("words", "least", "most"), [(1, 150, 500), (3, 300, 800), (60, 2000, 3000)])
def test_the_size_follows_the_number_of_words(words, least, most, tmp_path):
    uniform = Map(["word"] * words, ["mot"] * words, [[1 / words] * words] * words)
    save(uniform, tmp_path / "map.png")
    assert all(least < side < most for side in size(tmp_path / "map.png"))


def test_cells_are_square(tmp_path):
    """With labels alike on both sides, one more column widens the picture as much as one more row heightens it."""
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
    assert wider - width > 100  # less, since the key below the matrix was wider than the short word


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
    with pytest.raises(ShapeError, match="1 words were read and 0 written"):
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
    with pytest.raises(ConfigError, match=r"pip install 'saccade\[pictures\]'"):
        save(AREA, tmp_path / "map.png")

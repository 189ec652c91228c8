"""Reading figures, as files and in a terminal."""

import re

import pytest

from saccade.errors import ConfigError, ShapeError
from saccade.look import Map, draw_reading, save_reading
from saccade.look.canvas import shade
from saccade.look.design import MUTED, TEXT, YOURS

WORDS = ["the", "cat", "sat"]
BACK = Map(WORDS, WORDS, [[0, 0, 0], [1, 0, 0], [0.75, 0.25, 0]])
OWN = Map(WORDS, WORDS, [[1, 0, 0], [0.5, 0.5, 0], [0.1, 0.1, 0.8]])
AHEAD = Map(WORDS, WORDS, [[0.2, 0.3, 0.5]] * 3)


def drawn(tmp_path, map):
    """Each word of the drawing with its color, in the order of the page."""
    save_reading(map, tmp_path / "reading.svg")
    text = (tmp_path / "reading.svg").read_text()
    found = re.findall(r'<text style="[^"]*fill: (#\w+)"[^>]*>([^<]*)</text>', text)
    return text, [(word, colour) for colour, word in found if word in map.source]


def test_a_line_for_each_word_read_which_is_red(tmp_path):
    _, words = drawn(tmp_path, BACK)
    assert [word for word, _ in words] == ["the", "the", "cat", "the", "cat", "sat"]
    assert [word for word, colour in words if colour == YOURS] == WORDS


def test_the_words_looked_at_are_shaded(tmp_path):
    text, words = drawn(tmp_path, BACK)
    assert text.count(f"fill: {shade(0.75)}") == text.count(f"fill: {shade(0.25)}") == 1
    assert ("the", "#ffffff") in words, "letters on the darkest shade are white"


@pytest.mark.parametrize(
    ("word", "mark", "colours"),
    [(0.68, 0.3, ["#ffffff", TEXT]), (0.679, 0.299, [TEXT, MUTED]), (0.005, 0.005, [TEXT, MUTED])],
)
def test_letters_are_seen_on_every_shade(tmp_path, word, mark, colours):
    """White on the darkest shade; and on a shade, a mark is as dark as a word, to stay readable."""
    text, words = drawn(tmp_path, Map(["a", ".", "b"], ["b"], [[word, mark, 0]]))
    assert [colour for _, colour in words] == [*colours, YOURS]
    assert text.count(f"fill: {shade(word)}") == (2 if word == mark else 1)


@pytest.mark.parametrize(("weight", "shown"), [(0.005, True), (0.0049, False)])
def test_what_would_round_to_nothing_is_not_shown(tmp_path, weight, shown):
    text, _ = drawn(tmp_path, Map(["a", "b"], ["b"], [[weight, weight]]))
    assert text.count(f"fill: {shade(weight)}") == 2 * shown
    assert ("its weight on itself" in text) == shown
    ahead = draw_reading(Map(["a", "b"], ["a", "b"], [[0, weight], [0, 0]]))
    assert ahead == ("[a] b\na [b]" if shown else "[a]\na [b]")


def test_what_a_word_gives_itself_is_a_strip_below_it(tmp_path):
    assert "its weight on itself" not in drawn(tmp_path, BACK)[0]
    text, words = drawn(tmp_path, OWN)
    assert "its weight on itself" in text
    assert text.count(f"fill: {shade(0.8)}") == 1
    assert [word for word, colour in words if colour == YOURS] == WORDS


def test_a_strip_is_explained_where_one_word_alone_has_it(tmp_path):
    alone = Map(WORDS, WORDS, [[0, 0, 0], [1, 0, 0], [0.5, 0, 0.5]])
    assert "its weight on itself" in drawn(tmp_path, alone)[0]


def test_a_reader_that_looks_ahead_has_whole_lines(tmp_path):
    assert [word for word, _ in drawn(tmp_path, AHEAD)[1]] == WORDS * 3


def test_what_comes_before_the_first_row_is_shown(tmp_path):
    seeded = Map(["<source>", "<bos>", "the"], ["<bos>", "the"], [[1, 0, 0], [0.5, 0.5, 0]])
    assert [word for word, _ in drawn(tmp_path, Map(["x", *WORDS], WORDS, [[1, 0, 0, 0]] * 3))[1]][:2] == ["x", "the"]
    assert draw_reading(seeded) == "█<source> [<bos>]\n▓<source> ▓<bos> [the]"


def test_long_texts_wrap_and_every_line_alike(tmp_path):
    words = [f"word{number}" for number in range(30)]
    text, _ = drawn(tmp_path, Map(words, words, [[0] * 30] * 30))
    places = re.findall(r' x="([\d.]+)"[^>]*>word29<', text)
    assert len(places) == 1
    assert len(set(re.findall(r' x="([\d.]+)"[^>]*>word3<', text))) == 1
    assert float(re.search(r'width="([\d.]+)pt"', text)[1]) < 660


def test_texts_that_run_to_the_left_do(tmp_path):
    words = ["זה", "ספר", "ישן"]
    text, _ = drawn(tmp_path, Map(words, words, [[0] * 3] * 3))
    first, last = (float(re.findall(rf' x="([\d.]+)"[^>]*>{word}<', text)[-1]) for word in (words[0], words[-1]))
    assert first > last
    text, _ = drawn(tmp_path, Map(["ab", "זה"], ["ab", "זה"], [[0] * 2] * 2))
    first, last = (float(re.findall(rf' x="([\d.]+)"[^>]*>{word}<', text)[-1]) for word in ("ab", "זה"))
    assert first < last, "as many letters of either kind run to the right"


def test_other_words_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match=r"here 1 words attend to 2 others\. Draw a matrix or arcs"):
        save_reading(Map(["a", "b"], ["c"], [[1, 0]]), tmp_path / "reading.png")
    with pytest.raises(ConfigError, match="here 2 words attend to 1 others"):
        draw_reading(Map(["a"], ["a", "a"], [[1], [1]]))
    with pytest.raises(ShapeError, match="0 source words"):
        save_reading(Map([], [], []), tmp_path / "reading.png")


def test_the_terminal_needs_no_colour():
    assert draw_reading(BACK) == "[the]\n█the [cat]\n█the ▒cat [sat]"
    assert draw_reading(OWN).splitlines()[-1] == "░the ░cat [█sat]"
    assert draw_reading(Map([], [], [])) == "(nothing was read)"


@pytest.mark.parametrize(
    ("weight", "mark"),
    [(0.7, "█"), (0.69, "▓"), (0.4, "▓"), (0.39, "▒"), (0.2, "▒"), (0.19, "░"), (0.05, "░"), (0.049, "")],
)
def test_shades_of_the_terminal_begin_at_their_weights(weight, mark):
    assert draw_reading(Map(["a", "b"], ["b"], [[weight, 0]])) == f"{mark}a [b]"


def test_the_terminal_with_colour_paints_what_is_looked_at_and_keeps_it_readable():
    def painted(weight):
        return draw_reading(Map(["a", "b"], ["b"], [[weight, 0]]), colour=True).removesuffix(" \x1b[1;31m[b]\x1b[0m")

    assert painted(0.0049) == " a "
    assert painted(0.005).startswith("\x1b[97m\x1b[48;5;234m a ")
    assert painted(0.49).startswith("\x1b[97m")
    assert painted(0.5).startswith("\x1b[30m")


def test_the_terminal_with_colour_shows_the_same_words():
    plain = re.sub(r"\x1b\[[\d;]*m", "", draw_reading(BACK, colour=True))
    assert plain.split() == ["[the]", "the", "[cat]", "the", "cat", "[sat]"]
    assert "\x1b[1;31m[sat]\x1b[0m" in draw_reading(BACK, colour=True)


def test_lines_of_the_terminal_wrap():
    assert draw_reading(BACK, width=10).splitlines()[1:] == ["█the [cat]", "█the ▒cat", "  [sat]"]
    assert draw_reading(BACK, width=1).splitlines()[:3] == ["[the]", "█the", "  [cat]"]


def test_words_are_not_commands():
    evil = ["\x1b[2J", "\u202e"]
    assert draw_reading(Map(evil, evil, [[0, 0], [1, 0]])) == "[␛[2J]\n█␛[2J [�]"

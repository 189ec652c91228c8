"""Maps drawn as text."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.look import Map, draw, draw_arcs, text_width
from saccade.look.terminal import strongest

SOURCE = ["an", "eye", "leaps", "from", "one", "thing", "to", "the", "next"]
BACKWARDS = """
              l        t
              e  f     h        n
           e  a  r  o  i     t  e
        a  y  p  o  n  n  t  h  x
        n  e  s  m  e  g  o  e  t
  next                         ███
   the                      ███
    to                   ███
 thing                ███
   one             ███
  from          ███
 leaps       ███
   eye    ███
    an ███
 <eos> ███"""
AREA = Map(["the", "Area", "the"], ["la", "zone"], [[0.75, 0.15, 0.1], [0.02, 0.97, 0.01]])


def test_the_drawing_of_the_readme():
    weights = np.vstack([np.eye(9)[::-1], np.eye(9)[:1]])
    assert "\n" + draw(Map(SOURCE, [*SOURCE[::-1], "<eos>"], weights)) == BACKWARDS


def test_shades_grow_with_the_weight():
    row = draw(Map([*"abcdefgh"], ["x"], [[-1e300, 0.19, 0.2, 0.4, 0.6, 0.8, 1, 1e300]])).splitlines()[-1]
    assert row == " x       ░░░▒▒▒▓▓▓█████████"


def test_wide_and_combining_letters_keep_the_columns():
    drawing = draw(Map(["読む", "cafe\u0301", "x"], ["本", "e\u0301te\u0301", "abc"], np.eye(3)))
    assert drawing.splitlines() == [
        "         c",
        "         a",
        "     読  f",
        "     む  é  x",
        "  本 ███",
        " été    ███",
        " abc       ███",
    ]


@pytest.mark.parametrize("script", ["読む", "cafe\u0301", "한국어", "한", "ｗｉｄｅ", "नमस्ते", "שלום", "😀👩\u200d👧"])
def test_every_row_ends_in_its_column(script):
    one = Map([script, "end"], [script, "longer", "x"], [[0, 1]] * 3)
    rows = draw(one).splitlines()[-3:]
    assert len({text_width.width(row) for row in rows}) == 1


def test_letters_that_run_to_the_left_stay_in_their_columns():
    drawing = draw(Map(["אב", "גד"], ["הו"], [[1, 0]]))
    assert drawing.splitlines() == ["     א\u200e  ג\u200e", "     ב\u200e  ד\u200e", " הו\u200e ███"]
    assert draw(Map(["אב", "גד"], ["x"], [[0.8, 0.2]]), width=6) == "x ← א…"
    assert draw(Map(["אב", "a"] * 7, ["x"], [[0.8, 0.2, *[0] * 12]]), width=28) == "x ← אב₁\u200e 80 %, a₁ 20 %"


def test_an_emoji_stands_in_one_line_of_its_column():
    assert draw(Map(["👩\u200d👧", "x"], ["❤\ufe0f", "ab"], np.eye(2))).splitlines() == [
        "    👩\u200d👧  x",
        " ❤\ufe0f ███",
        " ab    ███",
    ]


def test_columns_become_narrower_before_they_are_given_up():
    one = Map(["ab", "c"], ["x", "y"], np.eye(2))
    assert draw(one, width=9) == draw(one)
    assert draw(one, width=8) == draw(one, width=7) == "   a\n   b c\n x ██\n y   ██"
    assert draw(one, width=6) == "x ← a…\ny ← c…"


def test_a_matrix_too_wide_becomes_a_list():
    wide = Map([*"abcdefgh", "Area"], ["la", "zone"], [[0.5, 0.4, 0.1, *[0] * 6], [0.03, *[0] * 7, 0.97]])
    assert draw(wide, width=20) == "  la ← a 50 %\nzone ← Area 97 %"
    assert draw(wide, width=21) == "  la ← a 50 %, b 40 %\nzone ← Area 97 %"


@pytest.mark.parametrize(("weight", "named"), [(0.1, True), (0.0999, False)])
def test_a_second_word_is_named_from_a_tenth_on(weight, named):
    one = Map(["a", "b"], ["x"], [[0.8, weight]])
    assert strongest(one) == ["x ← a 80 %, b 10 %" if named else "x ← a 80 %"]
    assert draw_arcs([one]) == ("x ← a 80 % (head 1), b 10 % (head 1)" if named else "x ← a 80 % (head 1)")


def test_the_list_tells_equal_words_apart():
    one = Map(["the", "Area", *["the"] * 9], ["la"], [[0.75, 0.05, 0.2, *[0] * 8]])
    assert draw(one, width=24) == "la ← the₁ 75 %"
    assert draw(one, width=25) == "la ← the₁ 75 %, the₂ 20 %"


def test_colour_paints_cells_and_stops_at_the_end_of_each_row():
    lines = draw(AREA, colour=True).splitlines()
    for line in lines[-2:]:
        assert line.endswith("\x1b[0m")
    plain = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in lines[-2:]]
    assert plain == ["   la" + " " * 10, " zone" + " " * 10]
    assert "\x1b[48;5;227m" in lines[-1]
    assert "\x1b[48;5;227m" not in lines[-2]


@given(st.text(st.characters(), min_size=1, max_size=8), st.sampled_from([None, 5, 20]))
def test_no_word_reaches_the_terminal_as_a_command(word, width):
    drawing = draw(Map([word, "b"], [word], [[0.5, 0.5]]), width=width)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", drawing)


def test_escape_sequences_become_pictures():
    drawing = draw(Map(["\x1b]0;title\x07"], ["\x1b[2J"], [[1]]), colour=True)
    assert "␛[2J" in drawing
    assert re.findall(r"\x1b[^m]*m", drawing) == ["\x1b[48;5;227m", "\x1b[0m"]
    assert drawing.count("\x1b") == 2


def test_endless_words_are_cut():
    drawing = draw(Map(["x" * 5000], ["y" * 5000], [[1]]))
    assert len(drawing.splitlines()) == 21
    assert max(map(len, drawing.splitlines())) == 25


def test_empty_words_and_empty_maps_are_drawn():
    assert draw(Map([""], [""], [[1]])) == "  ███"
    assert draw(Map(["a"], [], [])) == "(nothing was written)"
    assert draw(Map([], [], [])) == "(nothing was read)"

"""A long source in a terminal: running text, shaded by what all target words attended to."""

import re

import numpy as np
import pytest

from saccade.errors import ShapeError
from saccade.look import Map, draw_passage, save_passage
from saccade.look.canvas import shade
from saccade.look.passage import LONG, MOST, draw_long
from saccade.look.terminal import draw
from saccade.prediction import AttentionMaps, Side

COUNT = 40


def looking(count, *places):
    """A map whose target words attend to one source word each, with 90 %."""
    rest = 0.1 / (count - 1)
    rows = [[0.9 if s == place else rest for s in range(count)] for place in places]
    return Map([f"read{s}" for s in range(count)], [f"wrote{t}" for t in range(len(places))], rows)


def test_a_long_source_is_running_text_above_a_line_for_each_target_word():
    text = draw_long(looking(COUNT, 3, 39), width=60)
    passage, _, lines = text.partition("\n\n")
    words = passage.split()
    assert [word.lstrip("░▒▓█") for word in words] == [f"read{s}" for s in range(COUNT)]
    assert [word for word in words if word.startswith("█")] == ["█read3", "█read39"]
    assert max(map(len, passage.splitlines())) <= 60
    assert lines.splitlines() == ["wrote0 ← read3 90 %", "wrote1 ← read39 90 %"]


def test_coverage_adds_up_over_target_words():
    rows = [[0.3 if s == 5 else 0.7 / (COUNT - 1) for s in range(COUNT)]] * 3
    text = draw_long(Map([f"read{s}" for s in range(COUNT)], ["one", "two", "three"], rows), width=60)
    assert "█read5 " in text
    alone = draw_long(Map([f"read{s}" for s in range(COUNT)], ["one"], rows[:1]), width=60)
    assert "░read5 " in alone


def test_colors_paint_the_words():
    text = draw_long(looking(COUNT, 3), width=60, colour=True)
    assert text.count("\x1b[48;5;") == 1, "weights that round to 0 % are not painted"
    assert " read3 \x1b[0m" in text


def test_a_short_source_and_a_matrix_that_fits_are_drawn_as_they_were():
    for map, width in ((looking(LONG, 3), 40), (looking(COUNT, 3), 400), (looking(COUNT, 3), None)):
        assert draw_long(map, width=width) == draw(map, width=width)


def test_a_passage_can_be_asked_for_at_any_length():
    text = draw_passage(looking(4, 1), width=60)
    assert text.splitlines() == ["read0 █read1 read2 read3", "", "wrote0 ← read1 90 %"]


def test_a_figure_has_every_word_and_the_strongest_source_word_of_each_written_one(tmp_path):
    save_passage(looking(COUNT, 3, 39), tmp_path / "long.svg", title="A title")
    svg = (tmp_path / "long.svg").read_text()
    said = set(re.findall(r">([^<>\n]+)</(?:text|tspan)>", svg))
    assert {"A title", "wrote0", "wrote1", "← read3 90 %", "← read39 90 %"} <= said
    assert {f"read{s}" for s in range(COUNT)} <= said
    assert svg.count(shade(0.9 + 0.1 / (COUNT - 1))) == 2, "two words are covered, by one of two rows and a little"


def test_what_cannot_be_drawn_is_refused_before_it_takes_minutes(tmp_path):
    many = Map([f"w{s}" for s in range(MOST)], ["one"], [[1 / MOST] * MOST])
    with pytest.raises(ShapeError, match=r"at most 10,000 words, but this one would have 10,001\. Save a page"):
        save_passage(many, tmp_path / "many.svg")
    with pytest.raises(ShapeError, match="nothing to draw"):
        save_passage(Map(["a"], [], []), tmp_path / "none.svg")
    assert not list(tmp_path.iterdir())


def sideways(words):
    return Side(words, words, list(range(len(words))))


def test_the_text_of_a_passage_is_printed_once():
    words = [f"read{s}" for s in range(COUNT)]
    weights = {"attention": np.full((1, 1, COUNT), 1 / COUNT)}
    maps = AttentionMaps(sideways(words), sideways(["wrote"]), weights, ("attention",))
    assert maps.draw(60).count("read39") == 1
    assert maps.draw(60).splitlines()[0].endswith("wrote")
    assert maps.draw(width=None).splitlines()[0].endswith(" ".join(words[-3:]))

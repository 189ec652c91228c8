"""Heads: as lines between words, and side by side."""

import re

import pytest

from saccade.errors import ShapeError
from saccade.look import Heads, Map, draw_arcs, draw_heads, save_arcs, save_heads
from saccade.look.arcs import COLOURS
from saccade.look.canvas import shade
from saccade.look.design import INK
from saccade.look.heads import mean

SOURCE, TARGET = ["the", "Area", "."], ["la", "zone"]
ONE = Map(SOURCE, TARGET, [[0.9, 0.1, 0], [0, 0.51, 0.49]])
TWO = Map(SOURCE, TARGET, [[0.3, 0.7, 0], [0, 0.01, 0.99]])


def lines(text):
    """The color, opacity and width of every curve of a drawing."""
    found = re.findall(
        r'style="fill: none; stroke: (#\w+)(?:; stroke-opacity: ([\d.]+))?; stroke-width: ([\d.]+)', text
    )
    return [(colour, float(opacity or 1), float(width)) for colour, opacity, width in found]


def test_the_opacity_of_a_line_is_its_weight(tmp_path):
    save_arcs([ONE], tmp_path / "arcs.svg")
    found = lines((tmp_path / "arcs.svg").read_text())
    weights = [(0.1, 1.21), (0.49, 1.21), (0.51, 2.64), (0.9, 2.64)]
    assert found == [(INK, *each) for each in weights], "the strongest lie on top, and that of each word is bold"


def test_each_head_has_its_colour(tmp_path):
    save_arcs([ONE, TWO], tmp_path / "arcs.svg", title="T")
    text = (tmp_path / "arcs.svg").read_text()
    found = lines(text)
    assert [opacity for colour, opacity, _ in found if colour == COLOURS[1]] == [0.3, 0.7, 0.99, 1], (
        "and that of the key"
    )
    for word in (*SOURCE, *TARGET, "head 1", "head 2", "T"):
        assert f">{word}</text>" in text


def test_from_the_ninth_on_heads_are_dashed(tmp_path):
    save_arcs([ONE] * 9, tmp_path / "arcs.svg")
    text = (tmp_path / "arcs.svg").read_text()
    assert len(set(COLOURS)) == 8
    assert len(re.findall("stroke-dasharray", text)) >= 5
    save_arcs([ONE] * 8, tmp_path / "arcs.svg")
    assert "stroke-dasharray" not in (tmp_path / "arcs.svg").read_text()


def test_lines_in_the_terminal():
    assert draw_arcs([ONE, TWO]) == (
        "  la ← the 90 % (head 1), Area 70 % (head 2), the 30 % (head 2)\n"
        "zone ← . 99 % (head 2), Area 51 % (head 1), . 49 % (head 1)"
    )
    assert draw_arcs([ONE, TWO], width=41).splitlines()[1] == "zone ← . 99 % (head 2)"
    assert draw_arcs([ONE], width=9, names=["x"]) == "  la ← t…\nzone ← A…"


def test_heads_must_belong_together(tmp_path):
    other = Map(SOURCE, ["le", "zone"], ONE.weights)
    with pytest.raises(ShapeError, match="head 2 has other words than head 1"):
        save_arcs([ONE, other], tmp_path / "arcs.png")
    for nothing in (lambda: save_arcs([], tmp_path / "x.png"), lambda: save_heads([], tmp_path / "x.png")):
        with pytest.raises(ShapeError, match="0 heads"):
            nothing()
    with pytest.raises(ShapeError, match="decoder has 0 heads"):
        draw_heads([Heads("encoder", [ONE]), Heads("decoder", [])])
    assert not list(tmp_path.iterdir())


def test_the_mean():
    assert mean([ONE, TWO]).weights[0] == pytest.approx((0.6, 0.4, 0))
    assert mean([ONE]) == ONE


def test_every_head_and_the_mean_side_by_side(tmp_path):
    save_heads([Heads("decoder.cross", [ONE, TWO])], tmp_path / "heads.svg", title="T")
    text = (tmp_path / "heads.svg").read_text()
    for name in ("decoder.cross", "head 1", "head 2", "mean", "T"):
        assert text.count(f">{name}</text>") == 1
    for word in ("Area", "zone"):
        assert text.count(f">{word}</text>") == 1, "words are written once"
    for weight in (0.9, 0.99, 0.6):
        assert f"fill: {shade(weight)}" in text


def test_a_head_alone_has_no_mean(tmp_path):
    save_heads([Heads("attention", [ONE])], tmp_path / "heads.svg")
    assert ">mean</text>" not in (tmp_path / "heads.svg").read_text()


def test_several_places_are_rows(tmp_path):
    save_heads([Heads(f"layer {number}", [ONE] * 8) for number in range(3)], tmp_path / "heads.svg")
    text = (tmp_path / "heads.svg").read_text()
    assert text.count(">head 8</text>") == text.count(">mean</text>") == 3
    heights = re.findall(r' y="(\d+)[^>]*>(?:head 8|mean)<', text)
    assert heights[::2] == heights[1::2], "the mean ends its row"


def test_words_too_many_to_read_are_left_out(tmp_path):
    words = [f"word{number}" for number in range(60)]
    save_heads([Heads("x", [Map(words, words, [[1 / 60] * 60] * 60)])], tmp_path / "heads.svg")
    text = (tmp_path / "heads.svg").read_text()
    assert "word1" not in text
    assert ">rows attend to columns</text>" in text


def test_heads_in_the_terminal():
    drawing = draw_heads([Heads("cross", [ONE, TWO])], width=60)
    assert drawing.splitlines()[1].split("  ")[0] == "head 1"
    assert re.sub(" +", " ", drawing.splitlines()[1]) == "head 1 head 2 mean", "beside each other"
    assert "\nhead 2" in draw_heads([Heads("cross", [ONE, TWO])], width=30), "below each other where there is no room"
    assert drawing.count("zone") == 3

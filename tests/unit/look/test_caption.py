"""Captions, descriptions, and what stands around a drawing in the terminal."""

import numpy as np
import pytest

from saccade.look import FigureSpec, Map
from saccade.look.caption import Shown, formatted, headed, layer_of
from saccade.look.terminal import COLOURS, beside, scale
from saccade.prediction import AttentionMaps, Side

CROSS = ("target", "source")
LAYERS = ["decoder.layers.0.cross", "decoder.layers.1.cross"]


def shown(style="matrix", *, site=LAYERS[1], like=LAYERS, heads=8, sides=CROSS, pictured=False, **chosen):
    return Shown("transformer", sides, site, like, heads, pictured, FigureSpec(style, **chosen))


@pytest.mark.parametrize(
    ("made", "source"),
    [
        (shown(), "transformer, cross-attention, layer 2 of 2, mean of 8 heads"),
        (shown(head=2), "transformer, cross-attention, layer 2 of 2, head 3 of 8"),
        (shown("arcs"), "transformer, cross-attention, layer 2 of 2, 8 heads"),
        (shown("heads"), "transformer, cross-attention, 8 heads"),
        (
            shown("heads")._replace(view=FigureSpec("heads", LAYERS[0]), site=LAYERS[0]),
            "transformer, cross-attention, layer 1 of 2, 8 heads",
        ),
        (shown(heads=1, like=LAYERS[1:]), "transformer, cross-attention"),
        (
            shown(heads=1, like=["a", "b"], site="b", sides=("source", "source")),
            "transformer, encoder self-attention, b",
        ),
    ],
)
def test_model_layer_and_head(made, source):
    assert made.source == source


@pytest.mark.parametrize(
    ("made", "part"),
    [
        (shown(), "; a cell is the share of attention that the written word pays to the read word"),
        (shown(words=False), "; a cell is the share of attention that the written subword pays to the read subword"),
        (shown("ribbons"), "pays to the read word; below 4 % none is drawn"),
        (
            shown("reading", sides=("target", "written")),
            "; a shade is the share of attention that the next word pays to the earlier word",
        ),
        (shown("reading", sides=("source", "source")), "that the attending word pays to the attended word"),
        (
            shown("heads", pictured=True),
            "; brightness is the share of attention that the written word pays to a region",
        ),
    ],
)
def test_what_a_cell_is(made, part):
    assert made.caption().endswith(part)


def test_a_label_is_no_written_word():
    made = shown("overlay", pictured=True)._replace(labeled=True)
    assert made.caption().endswith("is the share of attention that the predicted label pays to a region")
    made = shown("passage")._replace(labeled=True)
    assert made.caption().endswith("the attention that the predicted label pays to the read word, up to 100 %")
    weights = {"pooling": np.full((1, 1, 2), 0.5, np.float32)}
    read, label = Side(["a", "b"], ["a", "b"], [0, 1]), Side(["good"], ["good"], [0])
    written = Side(["good", "</s>"], ["good"], [0, 1])
    for target, labeled in ((label, True), (written, False)):
        maps = AttentionMaps(read, target, weights, ("pooling",))
        assert maps._shown(FigureSpec()).labeled == labeled


def test_layers_need_numbers():
    assert layer_of("cross.3", ["cross.1", "cross.3"]) == "layer 2 of 2"
    assert layer_of("two", ["one", "two"]) == "two"
    assert layer_of("one", ["one"]) == ""


def test_a_description_has_the_strongest_link_of_each_word():
    maps = [Map(["a", "b"], ["x"], [[0.9, 0.1]]), Map(["a", "b"], ["x"], [[0.0, 1.0]])]
    made = formatted(shown("arcs"), FigureSpec("arcs", size="paper", outline=True), "T", maps=maps)
    assert made.description.endswith("8 heads. Read: a b. Wrote: x. Strongest link of each word: x ← b 55 %.")
    assert (made.title, made.size.letters, made.outline) == ("T", 8.5, True)
    long = Map(["a"] * 300, ["x"] * 300, [[1 / 300] * 300] * 300)
    told = formatted(shown(), FigureSpec(), None, maps=[long]).description
    assert told.count("←") == 200
    assert "a a …. Wrote" in told


def test_question_answer_and_scale_stand_around_a_drawing():
    made = headed("drawing", shown(), [["one", "two", "three"], ["x\x1b"]], 14, painted=False)
    assert made.splitlines()[:6] == [" Read  one two", "       three", "Wrote  x␛", "", "drawing", ""]
    assert made.splitlines()[6:] == ["transformer, …", "░ from 20 %, …"]
    assert headed("drawing", shown("arcs"), [(), ["x"]], None, painted=True).splitlines() == [
        "Wrote  x",
        "",
        "drawing",
        "",
        "transformer, cross-attention, layer 2 of 2, 8 heads",
    ]


def test_the_scale_has_every_colour():
    assert scale(painted=True).count("\x1b[48;5;") == len(COLOURS)
    assert scale(painted=False) == "░ from 20 %, ▒ from 40 %, ▓ from 60 %, █ from 80 %"


def test_drawings_stand_beside_each_other_where_there_is_room():
    drawings = ["a\nbb", "\x1b[1mc\x1b[0m\nd", "e"]
    assert beside(drawings, None) == "a    \x1b[1mc\x1b[0m    e\nbb   d"
    assert beside(drawings, 7) == "a    \x1b[1mc\x1b[0m\nbb   d\n\ne"
    assert beside(drawings, 6).count("\n\n") == 2

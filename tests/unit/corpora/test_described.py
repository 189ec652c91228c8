"""Captions of scenes read back: which things they name, and where."""

import pytest

from saccade.corpora import scenes
from saccade.corpora.scenes.described import described, nouns_kept


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("a red seven", [(1, "red", "seven", set())]),
        ("there are three little pink boxes", []),
        ("there are three little pink crosses", [(3, "pink", "cross", set())]),
        ("a blue six to the left of two red stars", [(1, "blue", "six", {"left"}), (2, "red", "star", {"right"})]),
        ("a big green ring around a black one", [(1, "green", "ring", {"around"}), (1, "black", "one", {"inside"})]),
        (
            "two red rings with a blue zero between them",
            [(2, "red", "ring", {"outside"}), (1, "blue", "zero", {"between"})],
        ),
        (
            "a pink two between a red one and a blue nine",
            [(1, "pink", "two", {"between"}), (1, "red", "one", {"outside"}), (1, "blue", "nine", {"outside"})],
        ),
        (
            "a pink two right of a red one and below a blue nine",
            [(1, "pink", "two", {"right", "below"}), (1, "red", "one", {"left"}), (1, "blue", "nine", {"above"})],
        ),
        ("red left of", []),
        ("", []),
    ],
)
def test_a_caption_names_things_and_their_places(caption, expected):
    assert [(*part[:3], set(part.places)) for part in described(caption)] == expected


@pytest.mark.parametrize(
    ("asked", "read", "kept"),
    [
        ("a red six left of a blue star", "a red six left of a blue star", (2, 2)),
        ("a red six left of a blue star", "a blue star right of a red six", (2, 2)),
        ("a red six left of a blue star", "a red six above a blue star", (0, 2)),
        ("a red six left of a blue star", "a red six left of a pink star", (1, 2)),
        ("a red six left of a blue star", "a red six left of a red six", (1, 2)),
        ("a red six beside a blue star", "a red six left of a blue star", (2, 2)),
        ("a red six left of a blue star", "a red six beside a blue star", (0, 2)),
        ("two red sixes", "a red six", (1, 1)),
        ("a red six", "", (0, 1)),
        ("sixes", "a red six", (0, 0)),
    ],
)
def test_a_noun_is_kept_with_its_color_and_place(asked, read, kept):
    assert nouns_kept(asked, read) == kept


def test_all_captions_of_an_image_agree_but_for_what_they_leave_open():
    for example in scenes("train", 60, 3, captions=4):
        kept, total = nouns_kept(example.target, example.references[0])
        assert kept == total > 0, (example.target, example.references[0])

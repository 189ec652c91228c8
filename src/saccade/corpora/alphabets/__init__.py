"""alphabets: characters of invented alphabets, each drawn by twenty people; for few-shot learning.

An alphabet has its own curves, of which its characters are made, so characters of one alphabet resemble each other.
Every drawer has a slant, a size, a pen and an unsteady hand. Train, valid and test have different alphabets, so they
share no character. Read `characters` first (strokes), then `drawing` (pixels).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from saccade.corpora.alphabets.characters import SIZE, alphabet
from saccade.corpora.alphabets.drawing import DRAWERS, Drawing, drawers
from saccade.corpora.stream import Dice, check_request
from saccade.data.example import Example

__all__ = ["STROKES", "alphabets"]

STROKES = (1, 6)
"""Fewest and most strokes of a character."""


def alphabets(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 2, max_length: int = 4
) -> Iterator[Example]:
    """Generate `size` drawings, character by character; `size` None never ends.

    In an example, `image` is a Drawing, drawn when it is loaded, and `label` its character. Lengths count the strokes
    of a character. The same arguments give the same drawings, and a larger size only appends to them.
    """
    check_request("alphabets", split, size, min_length, max_length, STROKES, "strokes")
    return islice(_drawings(f"alphabets {split} {seed} {min_length} {max_length}", split, min_length, max_length), size)


def _drawings(name: str, split: str, low: int, high: int) -> Iterator[Example]:
    for number in count(1):
        people = drawers(Dice(f"{name} drawers {number}"))
        for place, strokes in enumerate(alphabet(Dice(f"{name} characters {number}"), low, high), 1):
            label = f"{split} alphabet {number}, character {place} of {SIZE}"
            for person, drawer in enumerate(people, 1):
                title = f"{label}, drawer {person} of {DRAWERS}"
                yield Example(label=label, image=Drawing(f"{name} {title}", strokes, drawer))

"""Read captions of scenes back: which things they name, and where these lie from each other."""

from __future__ import annotations

from typing import NamedTuple

from saccade.corpora.scenes.things import COLOURS, KINDS
from saccade.corpora.scenes.words import COUNTS, plural

__all__ = ["Described", "described", "nouns_kept"]

_NOUNS = {form: kind for kind in KINDS for form in (kind, plural(kind))}
_NUMBERS = {word: number for number, word in COUNTS.items()}
_DIRECTIONS = {
    **dict.fromkeys(("left",), ("left", "right")),
    **dict.fromkeys(("right",), ("right", "left")),
    **dict.fromkeys(("above", "over"), ("above", "below")),
    **dict.fromkeys(("below", "under"), ("below", "above")),
    **dict.fromkeys(("next", "beside"), ("beside", "beside")),
    **dict.fromkeys(("inside", "in"), ("inside", "around")),
    **dict.fromkeys(("around",), ("around", "inside")),
}
"""For each word of a relation: the place of the first group, and of the second."""


class Described(NamedTuple):
    """A group of things that a caption names; `places`: where they lie from the others."""

    number: int
    colour: str
    kind: str
    places: frozenset[str]


def described(caption: str) -> list[Described]:
    """Return the groups of a caption, in its order; words that are out of place are ignored."""
    words = caption.split()
    found = [place for place in range(1, len(words)) if words[place - 1] in COLOURS and words[place] in _NOUNS]
    places: list[set[str]] = [set() for _ in found]
    if "between" in words and len(found) > 1:
        middle = len(found) - 1 if "with" in words else 0
        for number, part in enumerate(places):
            part.add("between" if number == middle else "outside")
    for number in range(1, len(found)):
        for word in words[found[number - 1] + 1 : found[number] - 1]:
            if word in _DIRECTIONS:
                here, there = _DIRECTIONS[word]
                places[0].add(here)
                places[number].add(there)
    return [
        Described(_number(words[:noun]), words[noun - 1], _NOUNS[words[noun]], frozenset(where))
        for noun, where in zip(found, places, strict=True)
    ]


def _number(before: list[str]) -> int:
    """Return the number of things that a phrase names, given the words before its noun."""
    return next((_NUMBERS[word] for word in before[-3:-1] if word in _NUMBERS), 1)


def nouns_kept(asked: str, read: str) -> tuple[int, int]:
    """Count the groups of a caption that another one names with the same color, kind and place, and all its groups."""
    wanted, left = described(asked), described(read)
    kept = 0
    for part in wanted:
        same = [other for other in left if _agrees(part, other)]
        if same:
            left.remove(same[0])
            kept += 1
    return kept, len(wanted)


def _agrees(asked: Described, read: Described) -> bool:
    places = {read.places, frozenset({"beside"})} if read.places <= {"left", "right"} else {read.places}
    return (asked.colour, asked.kind) == (read.colour, read.kind) and asked.places in places

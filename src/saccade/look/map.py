"""Map: source words, target words, and the attention weight of each pair."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from saccade.errors import NumericsError, ShapeError
from saccade.look.text_width import is_mark

__all__ = ["Link", "Map", "Marks", "check_cells"]

MOST = 1 << 21
"""Maximum cells of a map: no screen has room for more, and a terminal needs seconds for this many."""
Link = tuple[int, int]
"""A source word and a target word, both counted from 0."""


class Marks(NamedTuple):
    """The positions in source and target that are not words: begin and end tokens, punctuation."""

    source: frozenset[int]
    target: frozenset[int]


@dataclass(frozen=True, init=False)
class Map:
    """The data of every figure: `weights[t][s]` is the attention weight of target word t on source word s.

    `weights` (T, S) may be lists, a numpy array or a tensor. They are stored as tuples, so that a map cannot change
    after it was checked. Figures clip weights to 0…1. `gold` are the reference alignment links, if known. `marks` are
    the source and target positions that figures set apart, by default special tokens and punctuation.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    gold: frozenset[Link]
    marks: Marks

    def __init__(
        self,
        source: Iterable[str],
        target: Iterable[str],
        weights: Iterable[Iterable[float]],
        gold: Iterable[Link] = (),
        marks: tuple[Iterable[int], Iterable[int]] | None = None,
    ) -> None:
        read, written = _words("source", source), _words("target", target)
        check_cells(len(read) * len(written))
        fields = {
            "source": read,
            "target": written,
            "weights": _rows(weights),
            "gold": frozenset((int(s), int(t)) for s, t in gold),
            "marks": Marks(*map(_sinks, (read, written)) if marks is None else map(frozenset, marks)),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)  # the dataclass is frozen
        self._check_shape()
        self._check_numbers()
        self._check_gold()
        self._check_marks()

    def strongest(self, t: int, count: int = 1) -> list[int]:
        """Return the positions of the source words with the highest weights for target word t; ties in order."""
        row = self.weights[t]
        return sorted(range(len(row)), key=lambda s: -row[s])[:count]

    def without_marks(self) -> Map:
        """Return the map without marks, and without their weights; a side that has only marks keeps them."""
        columns = _but(len(self.source), self.marks.source)
        rows = _but(len(self.target), self.marks.target)
        return Map(
            [self.source[s] for s in columns],
            [self.target[t] for t in rows],
            [[self.weights[t][s] for s in columns] for t in rows],
            [(columns.index(s), rows.index(t)) for s, t in self.gold if s in columns and t in rows],
            ((), ()),
        )

    def _check_shape(self) -> None:
        if len(self.weights) != len(self.target):
            raise ShapeError(
                f"weights have {len(self.weights)} rows, but there are {len(self.target)} target words. Pass one for "
                "each, the end of the sentence included if it is among them."
            )
        for t, row in enumerate(self.weights):
            if len(row) != len(self.source):
                raise ShapeError(
                    f"row {t} of weights ({self.target[t]!r}) has {len(row)} numbers, but there are "
                    f"{len(self.source)} source words. Cut off the padding, or name every word of the source."
                )

    def _check_numbers(self) -> None:
        for t, row in enumerate(self.weights):
            for s, weight in enumerate(row):
                if not math.isfinite(weight):
                    raise NumericsError(
                        f"the weight from {self.target[t]!r} (row {t}) to {self.source[s]!r} (column {s}) is {weight}. "
                        "Only finite numbers can be drawn; check the model's output."
                    )

    def _check_gold(self) -> None:
        for s, t in sorted(self.gold):
            if not (0 <= s < len(self.source) and 0 <= t < len(self.target)):
                raise ShapeError(
                    f"the gold link {s}-{t} lies outside {len(self.source)} source and {len(self.target)} "
                    "target positions. Links are source-target, both counted from 0."
                )

    def _check_marks(self) -> None:
        for side, places, words in zip(("source", "target"), self.marks, (self.source, self.target), strict=True):
            outside = sorted(place for place in places if not 0 <= place < len(words))
            if outside:
                raise ShapeError(
                    f"the {side} has a mark at {outside[0]}, but {len(words)} words. Marks are counted from 0."
                )


def check_cells(count: int) -> None:
    """Raise ShapeError for more weights than a figure can show."""
    if count > MOST:
        raise ShapeError(
            f"a figure shows at most {MOST:,} weights, but here are {count:,}. Choose a shorter text or fewer heads, "
            "or save the page (.html) or the trace (.json), which hold all."
        )


def _sinks(words: tuple[str, ...]) -> frozenset[int]:
    return frozenset(place for place, word in enumerate(words) if is_mark(word))


def _but(count: int, marks: frozenset[int]) -> list[int]:
    return [place for place in range(count) if place not in marks] or list(range(count))


def _words(side: str, words: Iterable[str]) -> tuple[str, ...]:
    if isinstance(words, str):  # tuple() would split it into letters
        raise ShapeError(f"{side} is one string, {words[:40]!r}, but a list of words is needed. Pass its .split().")
    return tuple(words)


def _rows(weights: Iterable[Iterable[float]]) -> tuple[tuple[float, ...], ...]:
    try:
        if getattr(weights, "ndim", 2) != 2:  # older versions of numpy convert arrays of one number
            raise TypeError
        return tuple(tuple(float(weight) for weight in row) for row in weights)
    except (TypeError, ValueError) as error:
        was = getattr(weights, "shape", type(weights).__name__)
        raise ShapeError(
            f"weights must be rows of numbers, (target words, source words), but are {was}: choose one "
            "sentence and one head."
        ) from error

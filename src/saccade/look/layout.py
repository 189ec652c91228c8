"""Where the cells of a matrix lie: apart where words and marks meet, folded where they are too many for a page."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

__all__ = ["folds", "positions"]

MOST = 40
"""Rows or columns of a panel: longer texts are folded into several of equal size."""
GAP = 0.35
"""Cells: what lies between words and marks."""


def folds(count: int) -> list[range]:
    """The places of so many words, cut into as few stretches of equal length as a page allows."""
    length = ceil(count / ceil(count / MOST))
    return [range(start, min(start + length, count)) for start in range(0, count, length)]


def positions(places: Sequence[int], marks: frozenset[int], cell: float, gap: float = GAP) -> list[float]:
    """Where each cell begins, and where the last one ends, with a gap wherever words and marks meet."""
    found, here = [], 0.0
    for before, place in zip([*places[:1], *places], places, strict=False):
        here += gap * cell if (before in marks) != (place in marks) else 0
        found.append(here)
        here += cell
    return [*found, here]

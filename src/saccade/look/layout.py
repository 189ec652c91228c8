"""Positions of a matrix's cells, with gaps between words and marks, and the split of large matrices into panels."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

__all__ = ["folds", "positions"]

MOST = 80
"""Maximum rows or columns of a panel: longer texts are split into several panels of equal size."""
GAP = 0.35
"""Cells: the gap between words and marks."""


def folds(count: int) -> list[range]:
    """Split the positions of `count` words into as few ranges of about equal length as `MOST` allows."""
    length = ceil(count / ceil(count / MOST))
    return [range(start, min(start + length, count)) for start in range(0, count, length)]


def positions(places: Sequence[int], marks: frozenset[int], cell: float, gap: float = GAP) -> list[float]:
    """Return where each cell begins and the last one ends, with a gap wherever words and marks meet."""
    found, here = [], 0.0
    for before, place in zip([*places[:1], *places], places, strict=False):
        here += gap * cell if (before in marks) != (place in marks) else 0
        found.append(here)
        here += cell
    return [*found, here]

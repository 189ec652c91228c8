"""Word and character error rates of speech recognition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

__all__ = ["Edits", "edit_rate", "edits", "error_counts"]

Floats = NDArray[np.float64]


class Edits(NamedTuple):
    """The fewest edits that turn a reference into an answer."""

    substitutions: int
    deletions: int
    insertions: int

    @property
    def total(self) -> int:
        """The edit distance."""
        return sum(self)


def edits(reference: Sequence[str], answer: Sequence[str]) -> Edits:
    """Return the edits of a shortest alignment (Levenshtein). Among equal ones, it has the most substitutions."""
    known = {symbol: number for number, symbol in enumerate({*reference, *answer})}
    wanted, found = (np.array([known[symbol] for symbol in side], np.int64) for side in (reference, answer))
    costs = np.empty((len(wanted) + 1, len(found) + 1), np.int64)
    columns = costs[0] = np.arange(len(found) + 1)
    for row, symbol in enumerate(wanted, 1):
        above = costs[row - 1]
        best = above + 1  # a deletion
        best[1:] = np.minimum(best[1:], above[:-1] + (found != symbol))
        costs[row] = np.minimum.accumulate(best - columns) + columns  # then insertions
    counts = {"substitutions": 0, "deletions": 0, "insertions": 0}
    row, column = len(wanted), len(found)
    while row or column:
        here = costs[row, column]
        if row and column and here == costs[row - 1, column - 1] + (wanted[row - 1] != found[column - 1]):
            counts["substitutions"] += int(wanted[row - 1] != found[column - 1])
            row, column = row - 1, column - 1
        elif row and here == costs[row - 1, column] + 1:
            counts["deletions"] += 1
            row -= 1
        else:
            counts["insertions"] += 1
            column -= 1
    return Edits(**counts)


def error_counts(references: Sequence[str], answers: Sequence[str], *, characters: bool = False) -> Floats:
    """Return (N, 4) for each example: substitutions, deletions, insertions, and the length of the reference.

    Words are separated by spaces. `characters`: count characters instead, spaces included.
    """
    if len(references) != len(answers):
        raise DataError(f"there are {len(references)} references for {len(answers)} answers. Give one each.")
    split = list if characters else str.split
    rows = [
        (*edits(split(" ".join(wanted.split())), split(" ".join(found.split()))), len(split(" ".join(wanted.split()))))
        for wanted, found in zip(references, answers, strict=True)
    ]
    return np.array(rows, np.float64).reshape(-1, 4)


def edit_rate(sums: Floats) -> float:
    """Compute (substitutions + deletions + insertions) / length of the references, which may exceed 1."""
    return float(sums[:3].sum() / sums[3]) if sums[3] else float(sums[:3].sum() > 0)

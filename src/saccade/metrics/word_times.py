"""When words are said, from attention; and how well that agrees with gold times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

__all__ = [
    "TOLERANCE",
    "course",
    "joined_spans",
    "median_onset",
    "monotonic_path",
    "onset_counts",
    "pointing_counts",
    "time_error",
    "time_error_counts",
    "word_spans",
]

Floats = NDArray[np.float64]
Time = tuple[float, float]
TOLERANCE = 0.06
"""Seconds that a peak may lie outside of its word."""
_ONSET_STEP, _ONSET_STEPS = 0.005, 401
_EDGE = 0.05
"""Share of a word's attention that is left out at each end of it."""


def monotonic_path(weights: NDArray[np.floating]) -> list[tuple[int, int]]:
    """Return the path of the largest sum through weights (T, S), from the first corner to the last.

    Each step goes one row down, one column right, or both: dynamic time warping with the cost -weight.
    """
    rows, columns = weights.shape
    best = np.full((rows + 1, columns + 1), -np.inf)
    best[0, 0] = 0.0
    for row in range(rows):
        for column in range(columns):
            before = max(best[row, column], best[row, column + 1], best[row + 1, column])
            best[row + 1, column + 1] = before + weights[row, column]
    row, column, path = rows - 1, columns - 1, []
    while row >= 0 and column >= 0:
        path.append((row, column))
        moves = (best[row, column], best[row, column + 1], best[row + 1, column])
        move = int(np.argmax(moves))
        row, column = row - (move != 2), column - (move != 1)
    return path[::-1]


def word_spans(weights: NDArray[np.floating], word_of: Sequence[int], words: int) -> list[tuple[int, int]]:
    """Return for each word its first key and the one after its last, from weights (T, S) of tokens.

    word_of: the word of each token; `words` for tokens that belong to none, such as the end. A monotonic path gives
    each token some keys. Of these, a word keeps those between the quantiles 0.05 and 0.95 of its attention, since the
    first and the last word would otherwise get the silence at the ends.
    """
    path = monotonic_path(weights)
    spans = []
    for word in range(words):
        keys = [column for row, column in path if word_of[row] == word]
        if not keys:
            spans.append((0, 0))
            continue
        first, last = min(keys), max(keys)
        own = weights[[row for row, owner in enumerate(word_of) if owner == word], first : last + 1].sum(0)
        shares = np.cumsum(own) / max(own.sum(), 1e-9)
        begin, end = (int(np.searchsorted(shares, share)) for share in (_EDGE, 1 - _EDGE))
        spans.append((first + begin, first + min(end, last - first) + 1))
    return spans


def joined_spans(spans: Sequence[tuple[int, int]], word_of: Sequence[int], words: int) -> list[tuple[int, int]]:
    """Return for each word its first key and the one after its last, from the spans of its tokens."""
    found = [(0, 0)] * words
    for (begin, end), word in zip(spans, word_of, strict=True):
        if word < words:
            found[word] = (found[word][0] if found[word][1] else begin, end)
    return found


def course(weights: Sequence[NDArray[np.floating]]) -> tuple[float, float]:
    """Return monotonicity and coverage of attention (T, S) to recordings.

    Monotonicity: the share of steps whose peak is not before that of the step before. Coverage: the share of the keys
    of a recording from its first peak to its last, the mean over recordings.
    """
    weights = [own for own in weights if own.size]
    peaks = [own.argmax(1) for own in weights]
    moves = np.concatenate([np.diff(own) for own in peaks] or [np.zeros(0)])
    covered = [(own.max() - own.min() + 1) / part.shape[1] for own, part in zip(peaks, weights, strict=True)]
    return float((moves >= 0).mean()) if len(moves) else 1.0, float(np.mean(covered)) if covered else 0.0


def pointing_counts(weights: NDArray[np.floating], times: Sequence[Time], key: float) -> Floats:
    """Return (3,): words, those whose peak lies in their time ± TOLERANCE, and the sum of their attention inside it.

    weights (words, S) of words; key: the seconds that a key covers.
    """
    if len(weights) < len(times):
        raise DataError(f"there are {len(times)} times for the attention of {len(weights)} words. Give one each.")
    centers = (np.arange(weights.shape[1]) + 0.5) * key
    counts = np.zeros(3)
    for own, (begin, end) in zip(weights, times, strict=False):
        inside = (centers >= begin - TOLERANCE) & (centers <= end + TOLERANCE)
        counts += 1.0, float(inside[int(own.argmax())]), float(own[inside].sum() / max(own.sum(), 1e-9))
    return counts


def time_error_counts(found: Sequence[Time], gold: Sequence[Time]) -> Floats:
    """Return (3,): words, and the sums of the absolute errors of their begins and ends in milliseconds."""
    if len(found) != len(gold):
        raise DataError(f"there are {len(found)} times for {len(gold)} gold times. Give one each.")
    both = np.abs(np.array(found, np.float64).reshape(-1, 2) - np.array(gold, np.float64).reshape(-1, 2))
    return np.array([len(gold), *(1000 * both.sum(0))])


def onset_counts(found: Sequence[Time], gold: Sequence[Time]) -> Floats:
    """Return how many words begin how wrongly: counts in steps of 5 ms, up to 2 s."""
    if len(found) != len(gold):
        raise DataError(f"there are {len(found)} times for {len(gold)} gold times. Give one each.")
    errors = [abs(one[0] - two[0]) / _ONSET_STEP for one, two in zip(found, gold, strict=True)]
    places = np.minimum(np.round(errors), _ONSET_STEPS - 1).astype(np.int64)
    return np.bincount(places, minlength=_ONSET_STEPS).astype(np.float64)


def median_onset(sums: Floats) -> float:
    """Compute the median error of a word's begin in milliseconds, from summed counts, to 5 ms."""
    total = sums.sum()
    return float(1000 * _ONSET_STEP * np.searchsorted(np.cumsum(sums), total / 2)) if total else 0.0


def time_error(sums: Floats) -> float:
    """Compute the mean error of a word's begin and end in milliseconds, from summed counts (3,)."""
    return float(sums[1:].sum() / sums[0] / 2) if sums[0] else 0.0

"""Quality by sentence length: the score of each length bin, with a bootstrap confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from saccade.errors import ConfigError, DataError
from saccade.metrics.bootstrap import Floats, Score, sums_interval

__all__ = ["LengthBin", "equal_bounds", "round_bounds", "score_by_length"]

MOST_BINS = 8
"""Enough bins to show the shape of a curve, with enough sentences in each for a narrow confidence interval."""
TYPICAL = 0.98
"""Share of sentences that decides the width of the bins; a few very long sentences would make bins too wide."""


@dataclass(frozen=True)
class LengthBin:
    """The sentences of `low` to `high` words, both included, and their score with its bootstrap interval.

    The interval of a single sentence has width 0: check `count` before trusting it.
    """

    low: int
    high: int
    count: int
    score: float
    lower: float
    upper: float


def score_by_length(
    lengths: Sequence[int],
    statistics: Floats,
    score: Score,
    *,
    bounds: Sequence[int] | None = None,
    samples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> list[LengthBin]:
    """Compute the score of each length bin, shortest first; bins without sentences are left out.

    lengths (N,): words of each SOURCE sentence. They do not depend on the model, so models can be compared bin by bin.
    statistics (N, K) and `score` are those of a metric, such as `text_statistics`. For BLEU of very short sentences
    use `effective_order=True`.
    bounds: the highest length of each bin; one last bin holds all longer sentences. Default: `round_bounds`.
    """
    statistics = np.asarray(statistics, dtype=np.float64)
    if len(lengths) != len(statistics):
        raise DataError(f"there are {len(lengths)} lengths for the statistics of {len(statistics)} sentences.")
    bounds = round_bounds(lengths) if bounds is None else list(bounds)
    _check_bounds(bounds)
    sizes = _sizes(lengths)
    longest = int(sizes.max())
    highs = [*bounds, longest] if longest > bounds[-1] else list(bounds)
    lows = [min(1, int(sizes.min())), *(high + 1 for high in highs)]
    bins = []
    for low, high in zip(lows, highs, strict=False):
        rows = statistics[(sizes >= low) & (sizes <= high)]
        if len(rows):
            found = sums_interval(rows, score, samples=samples, seed=seed, level=level)
            bins.append(LengthBin(low, high, len(rows), found.score, found.lower, found.upper))
    return bins


def round_bounds(lengths: Sequence[int], most: int = MOST_BINS) -> list[int]:
    """Return bounds of equal, round width, such as 10, 20, 30: for bins 1-10, 11-20, 21-30.

    The width is the smallest of 1, 2, 5, 10, 20, 50, … with which at most `most` bins hold 98 % of the sentences; the
    last bin also holds the longer ones. The bins depend only on the test set, so they are the same for every model.
    """
    sizes = _sizes(lengths)
    if most < 1:
        raise ConfigError(f"most is {most}, but there must be at least 1 bin.")
    typical = max(1, int(np.quantile(sizes, TYPICAL, method="higher")))
    width = next(width for power in range(20) for width in _widths(10**power) if -(-typical // width) <= most)
    bounds = list(range(width, typical + width, width))
    bounds[-1] = max(bounds[-1], int(sizes.max()))
    return bounds


def equal_bounds(lengths: Sequence[int], bins: int) -> list[int]:
    """Return bounds of bins that hold about equally many sentences; fewer than `bins` where lengths repeat."""
    sizes = _sizes(lengths)
    if bins < 1:
        raise ConfigError(f"bins is {bins}, but there must be at least 1.")
    quantiles = np.quantile(sizes, np.arange(1, bins + 1) / bins, method="inverted_cdf")
    return sorted({max(1, int(bound)) for bound in quantiles})


def _widths(power: int) -> tuple[int, int, int]:
    return power, 2 * power, 5 * power


def _sizes(lengths: Sequence[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if not len(lengths):
        raise DataError("there are 0 lengths to sort into bins. Pass at least one sentence.")
    sizes: np.ndarray[tuple[int], np.dtype[np.int64]] = np.array(lengths, dtype=np.int64)
    if sizes.min() < 0:
        row = int(sizes.argmin())
        raise DataError(f"sentence {row} has {sizes[row]} words, but a length is 0 or more.")
    return sizes


def _check_bounds(bounds: Sequence[int]) -> None:
    if not bounds or bounds[0] < 1 or any(low >= high for low, high in pairwise(bounds)):
        raise ConfigError(
            f"bounds are {list(bounds)}, but must be one or more rising lengths from 1, such as [10, 20]."
        )

"""Bootstrap confidence intervals, and paired bootstrap comparison of two systems.

A resample draws N sentences with replacement from N. Scores that are functions of sums over sentences need only the
sums of each resample: one matmul of counts (R, N) and statistics (N, K) gives all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError, DataError, NumericsError

__all__ = ["Comparison", "Interval", "interval", "paired", "sums_interval"]

Floats = NDArray[np.float64]
Score = Callable[[Floats], float]
"""Summed statistics (K,) -> score of the corpus they come from."""

AT_ONCE = 1 << 22
"""Draws held in memory at a time: 32 MiB of them, for any size of test set."""


@dataclass(frozen=True)
class Interval:
    """Score of the whole test set, and its percentile bootstrap interval at confidence `level`."""

    score: float
    lower: float
    upper: float
    level: float
    samples: int


@dataclass(frozen=True)
class Comparison:
    """Comparison of two systems on one test set. Differences are a − b.

    `difference` is that of the whole test set, `mean_difference` the mean over resamples. `lower` and `upper` bound the
    percentile interval at confidence `level`. For `p_value` see `paired`.
    """

    score_a: float
    score_b: float
    difference: float
    mean_difference: float
    lower: float
    upper: float
    p_value: float
    level: float
    samples: int


def interval(
    statistic: Callable[[NDArray[np.int64]], float], n: int, *, samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Compute the percentile interval of any statistic of `n` sentences.

    `statistic` is called with the indices (n,) of the sentences to use, with repetitions: once for each resample and
    once for the whole test set. For scores that are functions of sums, `sums_interval` is much faster.
    """
    _check(n, samples, level)
    scores = (statistic(drawn) for draws in _draws(n, samples, seed) for drawn in draws)
    return _interval(statistic(np.arange(n)), scores, samples, level)


def sums_interval(
    statistics: Floats, score: Score, *, samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Compute the percentile interval of a score of summed statistics (N, K); uses the resamples of `interval`."""
    statistics = _rows("statistics", statistics)
    _check(len(statistics), samples, level)
    sums = _resampled_sums(statistics, samples, seed)
    return _interval(score(statistics.sum(0)), (score(row) for row in sums), samples, level)


def paired(
    a: Floats, b: Floats, score: Score, *, samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Comparison:
    """Test whether two systems differ, by paired bootstrap resampling: both are scored on the same resamples.

    a, b (N, K): statistics of the same N sentences in the same order.

    The p-value is two-sided: twice the share of resamples in which the difference is zero or has the rarer sign,

        p = min(1, 2 · (1 + min(#{Δ ≤ 0}, #{Δ ≥ 0})) / (1 + samples))

    It is small if nearly all resamples agree about which system is better, and 1 for equal systems. The 1 added in
    numerator and denominator counts the test set itself as a resample, so p is never 0. If p is below 1 − level, the
    interval leaves out zero. Koehn's own p is one-sided, half of this one.
    Paper: Koehn 2004, "Statistical significance tests for machine translation evaluation".
    """
    a, b = _rows("statistics of a", a), _rows("statistics of b", b)
    if a.shape != b.shape:
        raise DataError(
            f"the systems have statistics {a.shape} and {b.shape}, but must have the same (sentences, numbers). "
            "Score both on the same sentences with the same metric."
        )
    _check(len(a), samples, level)
    sums = _resampled_sums(np.concatenate([a, b], axis=1), samples, seed)  # (R, 2K)
    width = a.shape[1]
    differences = _finite(np.array([score(row[:width]) - score(row[width:]) for row in sums]))
    score_a, score_b = score(a.sum(0)), score(b.sum(0))
    lower, upper = _middle(differences, level)
    fewest = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return Comparison(
        score_a=score_a,
        score_b=score_b,
        difference=score_a - score_b,
        mean_difference=float(differences.mean()),
        lower=lower,
        upper=upper,
        p_value=min(1.0, 2 * (1 + fewest) / (1 + samples)),
        level=level,
        samples=samples,
    )


def _draws(n: int, samples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield resamples as indices, (R, n) at a time."""
    generator = np.random.default_rng(seed)
    at_once = max(1, AT_ONCE // n)
    for start in range(0, samples, at_once):
        yield generator.integers(0, n, size=(min(at_once, samples - start), n))


def _resampled_sums(statistics: Floats, samples: int, seed: int) -> Floats:
    """Return the summed statistics of each resample: (N, K) -> (samples, K)."""
    n = len(statistics)
    sums = []
    for draws in _draws(n, samples, seed):
        rows = np.arange(len(draws))[:, None] * n
        counts = np.bincount((draws + rows).ravel(), minlength=draws.size).reshape(len(draws), n)
        sums.append(counts.astype(np.float64) @ statistics)
    return np.concatenate(sums)


def _interval(whole: float, scores: Iterable[float], samples: int, level: float) -> Interval:
    lower, upper = _middle(_finite(np.fromiter(scores, dtype=np.float64)), level)
    return Interval(whole, lower, upper, level, samples)


def _middle(values: Floats, level: float) -> tuple[float, float]:
    outside = (1 - level) / 2
    lower, upper = np.quantile(values, [outside, 1 - outside])
    return float(lower), float(upper)


def _finite(values: Floats) -> Floats:
    wrong = int((~np.isfinite(values)).sum())
    if wrong:
        raise NumericsError(
            f"{wrong} of {len(values)} resamples have a score that is NaN or infinite. "
            "Make the score function return a finite value for every sum."
        )
    return values


def _rows(name: str, statistics: Floats) -> Floats:
    statistics = np.asarray(statistics, dtype=np.float64)
    if statistics.ndim != 2:
        raise DataError(f"the {name} are {statistics.shape}, but must be (sentences, numbers).")
    return statistics


def _check(n: int, samples: int, level: float) -> None:
    if n < 1:
        raise DataError(f"there are {n} sentences to draw from, but at least 1 is needed.")
    if samples < 1:
        raise ConfigError(f"samples is {samples}, but must be 1 or more; 1000 is usual.")
    if not 0 < level < 1:
        raise ConfigError(f"level is {level}, but must lie between 0 and 1, such as 0.95.")

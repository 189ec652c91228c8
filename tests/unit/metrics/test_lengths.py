"""Scores by sentence length."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import ConfigError, DataError
from saccade.metrics import equal_bounds, round_bounds, score_by_length, sums_interval, text_statistics

many = st.lists(st.integers(0, 300), min_size=1, max_size=60)


def mean(sums):
    return sums[0] / sums[1]


def valued(values):
    return np.stack([np.array(values, dtype=float), np.ones(len(values))], axis=1)


def test_bins_are_scored_apart():
    bins = score_by_length([3, 10, 11, 20, 41], valued([1, 3, 10, 20, 7]), mean, bounds=[10, 20, 30], samples=50)
    assert [(each.low, each.high, each.count, each.score) for each in bins] == [
        (1, 10, 2, 2.0),
        (11, 20, 2, 15.0),
        (31, 41, 1, 7.0),  # 21 to 30 is empty and left out
    ]
    assert (bins[0].lower, bins[0].upper) == (1.0, 3.0)
    assert bins[2].lower == bins[2].upper == 7.0  # the interval of one sentence has width 0


def test_the_band_of_a_bin_is_the_interval_of_its_sentences():
    values = np.random.default_rng(0).normal(size=40)
    lengths = [5] * 25 + [15] * 15
    bins = score_by_length(lengths, valued(values), mean, bounds=[10, 20], samples=100, seed=3, level=0.8)
    alone = sums_interval(valued(values[25:]), mean, samples=100, seed=3, level=0.8)
    assert (bins[1].score, bins[1].lower, bins[1].upper) == (alone.score, alone.lower, alone.upper)


def test_bleu_by_length_is_the_bleu_of_each_half():
    hypotheses, references = ["a b c d", "a b c e", "x y z w v u"], ["a b c d", "a b c d", "x y z w v q"]
    statistics = text_statistics("bleu", hypotheses, references)
    bins = score_by_length([4, 4, 6], statistics.counts, statistics.score, bounds=[5, 10], samples=20)
    assert bins[0].score == text_statistics("bleu", hypotheses[:2], references[:2]).total().value
    assert bins[1].score == text_statistics("bleu", hypotheses[2:], references[2:]).total().value


@given(many, st.sampled_from(["round", "equal"]))
def test_every_sentence_is_in_one_bin(lengths, kind):
    bounds = None if kind == "round" else equal_bounds(lengths, 4)
    bins = score_by_length(lengths, valued(lengths), mean, bounds=bounds, samples=2)
    assert sum(each.count for each in bins) == len(lengths)
    assert sum(each.count * each.score for each in bins) == pytest.approx(sum(lengths))
    assert all(each.low <= each.score <= each.high for each in bins)
    assert all(before.high < after.low for before, after in pairwise(bins))


@given(many, st.integers(1, 12))
def test_round_bounds_are_few_and_reach_the_longest(lengths, most):
    bounds = round_bounds(lengths, most)
    assert len(bounds) <= most
    assert bounds[-1] >= max(lengths)
    assert bounds == sorted(set(bounds))


@pytest.mark.parametrize(
    ("longest", "bounds"),
    [
        (7, [1, 2, 3, 4, 5, 6, 7]),
        (12, [2, 4, 6, 8, 10, 12]),
        (40, [5, 10, 15, 20, 25, 30, 35, 40]),
        (58, [10, 20, 30, 40, 50, 60]),
        (81, [20, 40, 60, 80, 100]),
        (0, [1]),
    ],
)
def test_round_bounds_have_round_widths(longest, bounds):
    assert round_bounds([longest]) == bounds


def test_a_few_very_long_sentences_do_not_widen_the_bins():
    assert round_bounds([*range(1, 81)] * 2 + [700]) == [10, 20, 30, 40, 50, 60, 70, 700]


def test_a_small_test_counts_all_its_sentences():
    assert round_bounds([3, 40]) == [5, 10, 15, 20, 25, 30, 35, 40]


def test_equal_bounds_share_the_sentences_out():
    assert equal_bounds([9, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12], 3) == [4, 8, 12]
    assert equal_bounds([5, 5, 5, 5, 9], 4) == [5, 9]
    assert equal_bounds([1, 2, 30, 40], 2) == [2, 40]  # a bound is the length of some sentence


def test_an_empty_source_has_a_place():
    assert score_by_length([0, 3], valued([1, 2]), mean, bounds=[5], samples=2)[0].low == 0


def test_unequal_numbers_are_refused():
    with pytest.raises(DataError, match="2 lengths for the statistics of 3"):
        score_by_length([1, 2], valued([1, 2, 3]), mean)


def test_impossible_lengths_are_refused():
    with pytest.raises(DataError, match="sentence 1 has -4 words"):
        round_bounds([3, -4])
    with pytest.raises(DataError, match="0 lengths"):
        equal_bounds([], 3)
    with pytest.raises(DataError, match="0 lengths"):
        score_by_length([], np.zeros((0, 2)), mean)


@pytest.mark.parametrize("bounds", [[], [0, 5], [10, 10], [20, 10]])
def test_bounds_must_rise(bounds):
    with pytest.raises(ConfigError, match=r"bounds are \[.*rising lengths"):
        score_by_length([3], valued([1]), mean, bounds=bounds)


def test_no_bins_are_refused():
    with pytest.raises(ConfigError, match="most is 0"):
        round_bounds([3], 0)
    with pytest.raises(ConfigError, match="bins is 0"):
        equal_bounds([3], 0)


def test_one_bin_holds_all_sentences():
    assert equal_bounds([4, 1, 9], 1) == [9]
    assert round_bounds([4, 1, 9], 1) == [10]
    bins = score_by_length([4, 1, 9], valued([1, 2, 6]), mean, bounds=[10], samples=2)
    assert [(each.low, each.high, each.count, each.score) for each in bins] == [(1, 10, 3, 3.0)]

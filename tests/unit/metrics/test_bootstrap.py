"""Intervals and paired comparisons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from saccade.errors import ConfigError, DataError, NumericsError
from saccade.metrics import bootstrap, interval, paired, sums_interval, text_statistics

seeds = st.integers(0, 1000)


def mean(sums):
    """Statistics are (value, 1) a sentence."""
    return sums[0] / sums[1]


def valued(values):
    return np.stack([values, np.ones(len(values))], axis=1)


def noise(n, seed=0, centre=0.0):
    return np.random.default_rng(seed).normal(centre, 1.0, n)


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    values = noise(400)
    found = sums_interval(valued(values), mean, samples=4000)
    error = values.std() / 20
    assert found.score == pytest.approx(values.mean())
    assert found.lower == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert found.upper == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)
    assert (found.level, found.samples) == (0.95, 4000)


def test_intervals_hold_the_truth_as_often_as_they_say():
    tests = [sums_interval(valued(noise(60, seed)), mean, samples=200, seed=seed, level=0.8) for seed in range(200)]
    assert 0.7 <= np.mean([found.lower <= 0 <= found.upper for found in tests]) <= 0.88


@given(seeds)
@settings(max_examples=20)
def test_sums_and_indices_give_the_same_interval(seed):
    values = noise(15, seed)
    by_index = interval(lambda drawn: values[drawn].mean(), 15, samples=50, seed=seed)
    by_sums = sums_interval(valued(values), mean, samples=50, seed=seed)
    assert (by_index.lower, by_index.upper) == pytest.approx((by_sums.lower, by_sums.upper))
    assert by_index.score == pytest.approx(by_sums.score)


def test_resampled_bleu_is_the_bleu_of_the_resampled_text():
    hypotheses = ["a b c d e", "a b x d", "q r s t u v", "c c c c"]
    references = ["a b c d e", "a b c d e", "q r s t v", "c d c d"]
    statistics = text_statistics("bleu", hypotheses, references)

    def by_text(drawn):
        return text_statistics("bleu", [hypotheses[i] for i in drawn], [references[i] for i in drawn]).total().value

    assert sums_interval(statistics.counts, statistics.score, samples=50) == interval(by_text, 4, samples=50)


def test_intervals_of_bleu_are_as_wide_as_those_of_sacrebleu():
    random = np.random.default_rng(5)
    references = [" ".join(random.choice(list("abcdefgh"), 12)) for _ in range(80)]
    hypotheses = [" ".join(random.choice([word, "x"], p=[0.8, 0.2]) for word in line.split()) for line in references]
    expected = BLEU(force=True).corpus_score(hypotheses, [references], n_bootstrap=1000)
    statistics = text_statistics("bleu", hypotheses, references)
    found = sums_interval(statistics.counts, statistics.score)
    assert found.score == expected.score
    assert (found.upper - found.lower) / 2 == pytest.approx(expected._ci, rel=0.1)
    assert (found.upper + found.lower) / 2 == pytest.approx(expected._mean, abs=0.2 * expected._ci)


def test_a_thousand_resamples_and_95_percent_are_usual():
    values = valued(noise(5))
    for found in (interval(lambda drawn: 0.0, 5), sums_interval(values, mean), paired(values, values, mean)):
        assert (found.samples, found.level) == (1000, 0.95)


def test_few_draws_at_a_time_are_the_same_draws(monkeypatch):
    statistics = valued(noise(7))
    whole = sums_interval(statistics, mean, samples=30)
    monkeypatch.setattr(bootstrap, "AT_ONCE", 15)
    assert sums_interval(statistics, mean, samples=30) == whole


def test_a_seed_decides_everything():
    statistics = valued(noise(20))
    assert sums_interval(statistics, mean, seed=3) == sums_interval(statistics, mean, seed=3)
    assert sums_interval(statistics, mean, seed=3).lower != sums_interval(statistics, mean, seed=4).lower


def test_a_wider_level_gives_a_wider_interval():
    statistics = valued(noise(50))
    narrow, wide = (sums_interval(statistics, mean, level=level) for level in (0.5, 0.99))
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20), seeds)
@settings(max_examples=30)
def test_equal_systems_do_not_differ(values, seed):
    statistics = valued(np.array(values))
    found = paired(statistics, statistics, mean, samples=40, seed=seed)
    assert (found.difference, found.mean_difference, found.lower, found.upper) == (0, 0, 0, 0)
    assert found.p_value == 1


def test_a_system_that_always_wins_has_the_smallest_p():
    values = noise(30)
    found = paired(valued(values + 0.5), valued(values), mean, samples=999)
    assert found.difference == pytest.approx(0.5)
    assert (found.lower, found.upper) == pytest.approx((0.5, 0.5))
    assert found.p_value == pytest.approx(2 / 1000)


def test_pairing_sees_what_separate_intervals_hide():
    difficulty = 10 * noise(200)
    a, b = valued(difficulty + 0.3 + 0.5 * noise(200, 1)), valued(difficulty)
    apart = [sums_interval(system, mean) for system in (a, b)]
    assert apart[0].lower < apart[1].upper
    assert paired(a, b, mean).p_value < 0.01


@given(seeds)
@settings(max_examples=30)
def test_exchanging_the_systems_turns_the_difference_round(seed):
    a, b = valued(noise(25, seed)), valued(noise(25, seed + 1, 0.3))
    there, back = paired(a, b, mean, samples=99), paired(b, a, mean, samples=99)
    assert there.p_value == back.p_value
    assert (there.difference, there.lower, there.upper) == pytest.approx((-back.difference, -back.upper, -back.lower))
    assert 0 < there.p_value <= 1
    assert (there.score_a, there.score_b) == (back.score_b, back.score_a)


@given(seeds)
@settings(max_examples=30)
def test_a_small_p_goes_with_an_interval_without_zero(seed):
    found = paired(valued(noise(30, seed, 0.4)), valued(noise(30, seed + 7)), mean, samples=199)
    if found.p_value < 0.05:
        assert found.lower > 0 or found.upper < 0


def test_p_values_of_equally_good_systems_are_spread_evenly():
    values = [paired(valued(noise(50, s)), valued(noise(50, s + 5000)), mean, samples=199).p_value for s in range(200)]
    assert 0.02 <= np.mean(np.array(values) < 0.1) <= 0.18
    assert 0.4 <= np.mean(np.array(values) < 0.5) <= 0.6


def test_the_p_value_counts_resamples_of_the_other_sign():
    # one sentence against, n − 1 for: a wins unless the loss is drawn often enough
    a, b = valued(np.array([1.0, 1.0, 1.0, -2.0])), valued(np.zeros(4))
    found = paired(a, b, mean, samples=20_000)
    # the loss is drawn k times of 4: difference 4 − 3k, so a loses with k ≥ 2
    lost = 1 - (3 / 4) ** 4 - 4 * (1 / 4) * (3 / 4) ** 3
    assert found.p_value == pytest.approx(2 * lost, abs=0.02)


def test_systems_of_different_tests_are_refused():
    with pytest.raises(DataError, match=r"\(3, 2\) and \(4, 2\).*same sentences"):
        paired(valued(noise(3)), valued(noise(4)), mean)


def test_statistics_of_another_rank_are_refused():
    with pytest.raises(DataError, match=r"statistics are \(5,\)"):
        sums_interval(noise(5), mean)
    with pytest.raises(DataError, match=r"statistics of b are \(3,\)"):
        paired(valued(noise(3)), noise(3), mean)


def test_nothing_to_draw_from_is_refused():
    with pytest.raises(DataError, match="0 sentences"):
        sums_interval(np.zeros((0, 2)), mean)
    with pytest.raises(DataError, match="0 sentences"):
        interval(len, 0)


def test_impossible_settings_are_refused():
    with pytest.raises(ConfigError, match="samples is 0"):
        interval(len, 3, samples=0)
    with pytest.raises(ConfigError, match=r"level is 95, .* 0.95"):
        paired(valued(noise(3)), valued(noise(3)), mean, level=95)


def test_scores_that_are_no_numbers_are_refused():
    with pytest.raises(NumericsError, match="10 of 10 resamples"):
        interval(lambda drawn: float("nan"), 3, samples=10)


def test_one_resample_is_its_own_interval():
    found = interval(lambda drawn: float(drawn.sum()), 5, samples=1)
    assert (found.score, found.samples) == (10.0, 1)
    assert found.lower == found.upper


def test_one_sentence_is_drawn_each_time():
    found = sums_interval(valued(np.array([3.0])), mean, samples=4)
    assert (found.score, found.lower, found.upper) == (3.0, 3.0, 3.0)

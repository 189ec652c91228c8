"""Batches: each sentence once per epoch, within the token limit, the same when resumed at any batch."""

from collections import Counter
from itertools import combinations, islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.batch import round_up
from saccade.data.batch_sampler import BatchSampler, Cursor, _table, _usual_table, shard
from saccade.errors import ConfigError, DataError

lengths_of_corpora = st.integers(1, 2).flatmap(
    lambda sides: st.lists(st.lists(st.integers(1, 30), min_size=sides, max_size=sides), min_size=1, max_size=60)
)


def plan_of(lengths, tokens, dtype=np.uint16, **options):
    return BatchSampler(np.array(lengths, dtype), tokens, **options)


def realistic(count, seed=0):
    """Lengths as sentences have them, those of a translation near those of the source."""
    chance = np.random.default_rng(seed)
    source = np.exp(chance.normal(3.0, 0.5, count))
    target = source * np.exp(chance.normal(0.1, 0.2, count))
    return np.stack([source, target], 1).clip(1, 200).astype(np.uint16) + np.uint16(1)


@given(lengths=lengths_of_corpora, tokens=st.integers(1, 200), epoch=st.integers(0, 3), shuffle=st.booleans())
@settings(max_examples=60)
def test_every_sentence_once_an_epoch(lengths, tokens, epoch, shuffle):
    batches = list(plan_of(lengths, tokens, shuffle=shuffle).epoch(epoch))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    assert all(len(rows) and rows.dtype == np.int64 for rows in batches)


@given(lengths=lengths_of_corpora, tokens=st.integers(1, 200), shuffle=st.booleans())
@settings(max_examples=60)
def test_no_batch_is_larger_than_its_budget_unless_one_sentence_is(lengths, tokens, shuffle):
    for rows in plan_of(lengths, tokens, shuffle=shuffle).epoch(0):
        longest = max(max(lengths[row]) for row in rows)
        assert longest * len(rows) <= tokens or len(rows) == 1


def test_batches_are_as_large_as_the_budget_lets_them():
    batches = list(plan_of([[10]] * 100, 50).epoch(0))
    assert [len(rows) for rows in batches] == [5] * 20


@pytest.mark.parametrize("rounded", [False, True])
def test_a_limit_on_examples_gives_short_ones_more_batches(rounded):
    plan = plan_of([[5]] * 60 + [[50]] * 60, 500, examples=20, rounded=rounded)
    assert sorted(plan.shape(rows)[0] for rows in plan.epoch(0)) == ([9] * 7 if rounded else [10] * 6) + [20] * 3


def test_without_shuffling_the_order_stays():
    batches = list(plan_of([[3], [1], [2], [9], [1]], 6, shuffle=False).epoch(7))
    assert [rows.tolist() for rows in batches] == [[0, 1], [2], [3], [4]]


def flat(batches):
    return [rows.tolist() for rows in batches]


def test_an_epoch_is_the_same_each_time_and_unlike_others():
    lengths = realistic(500)
    same = [flat(BatchSampler(lengths, 300, seed=5).epoch(2)) for _ in range(2)]
    assert same[0] == same[1]
    others = [flat(BatchSampler(lengths, 300, seed=5).epoch(3)), flat(BatchSampler(lengths, 300, seed=6).epoch(2))]
    assert same[0] not in others
    assert others[0] != others[1]


def test_batches_come_in_no_order_of_length():
    plan = BatchSampler(realistic(3000), 500)
    widest = [int(plan.lengths[rows].max()) for rows in plan.epoch(0)]
    assert abs(np.corrcoef(widest, np.arange(len(widest)))[0, 1]) < 0.2


def test_from_any_place_it_goes_on_as_if_uninterrupted():
    plan = BatchSampler(realistic(150), 400)
    size = len(list(plan.epoch(0)))
    whole = [(place, rows.tolist()) for place, rows in islice(plan.from_place(Cursor()), 3 * size)]
    assert whole[0][0] == Cursor(0, 1)
    assert whole[size - 1][0] == Cursor(0, size)
    assert whole[size][0] == Cursor(1, 1)
    for done, (place, _) in enumerate(whole[: 2 * size], 1):
        found = [(after, rows.tolist()) for after, rows in islice(plan.from_place(place), size)]
        assert found == whole[done : done + size]


def test_a_place_beyond_the_data_is_refused():
    plan = BatchSampler(realistic(150), 400)
    size = len(list(plan.epoch(2)))
    assert next(plan.from_place(Cursor(2, size)))[0] == Cursor(3, 1)
    with pytest.raises(
        DataError, match=rf"after batch {size + 1} of epoch 2, which has {size} batches\. The training data"
    ):
        next(plan.from_place(Cursor(2, size + 1)))


@pytest.mark.parametrize("seed", [0, 1])
def test_little_padding_on_realistic_lengths(seed):
    plan = BatchSampler(realistic(50_000, seed), 4096)
    batches = list(plan.epoch(0))
    padded = sum(int(plan.lengths[rows].max(0).sum()) * len(rows) for rows in batches)
    assert 1 - plan.lengths.sum() / padded < 0.1
    assert np.mean([plan.padding(rows) for rows in batches]) < 0.1


def test_the_share_of_padding():
    plan = plan_of([[4, 2], [2, 2], [1, 1]], 100)
    assert plan.padding(np.array([0, 1])) == pytest.approx(2 / 12)
    assert plan.padding(np.array([2])) == 0


def test_the_share_of_padding_counts_sentences_that_are_padding():
    plan = plan_of([[4, 2], [2, 2]], 40, rounded=True)
    assert plan.shape(np.array([0, 1])) == (10, 4, 4)
    assert plan.padding(np.array([0, 1])) == pytest.approx(1 - 10 / 80)


@given(count=st.integers(1, 12), ranks=st.integers(1, 5))
def test_processes_share_a_batch(count, ranks):
    rows = np.arange(count) * 7
    shares = [shard(rows, rank, ranks).tolist() for rank in range(ranks)]
    assert sorted(row for share in shares for row in share) == rows.tolist()
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_budget_of_nothing():
    with pytest.raises(ConfigError, match="tokens_per_batch is 0, but a batch needs room for at least 1 token"):
        plan_of([[1]], 0)


def test_a_plan_for_nothing():
    with pytest.raises(DataError, match="there are no sentences to make batches of"):
        plan_of(np.empty((0, 2)), 10)


@given(lengths=lengths_of_corpora, tokens=st.integers(1, 400), epoch=st.integers(0, 3))
@settings(max_examples=60)
def test_rounded_batches_hold_every_sentence_once_and_keep_to_the_budget(lengths, tokens, epoch):
    plan = plan_of(lengths, tokens, rounded=True)
    batches = list(plan.epoch(epoch))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
    for rows in batches:
        sentences, *sides = plan.shape(rows)
        assert sentences >= len(rows)
        assert sentences * max(sides) <= tokens or sentences == 1
        assert all(side >= length for row in rows for side, length in zip(sides, lengths[row], strict=True))
        assert 0 <= plan.padding(rows) < 1


def test_rounded_batches_come_in_few_shapes():
    lengths = realistic(20000)
    shapes, plain = (
        {
            BatchSampler(lengths, 4000, rounded=rounded).shape(rows)
            for rows in BatchSampler(lengths, 4000, rounded=rounded).epoch(0)
        }
        for rounded in (True, False)
    )
    assert len(shapes) < len(plain) / 2


def test_rounding_stops_where_a_model_has_no_more_places():
    plan = plan_of([[50, 7], [49, 50], [50, 50]], 400, rounded=True, room=50)
    for rows in plan.epoch(0):
        assert max(plan.shape(rows)[1:]) == 50


def test_mixed_batches_hold_sentences_of_all_lengths():
    lengths = realistic(4000)
    kinds = {}
    for mixed in (False, True):
        plan = BatchSampler(lengths, 2000, mixed=mixed)
        batches = list(plan.epoch(0))
        assert sorted(np.concatenate(batches).tolist()) == list(range(4000))
        assert all(np.prod(plan.shape(rows)[:1]) * lengths[rows].max() <= 2000 for rows in batches)
        kinds[mixed] = np.mean([len(set(lengths[rows].max(1).tolist())) for rows in batches])
    assert kinds[True] > 2 * kinds[False]


def best_padding(counts, sizes, levels):
    """The least padding of lengths 0, 1, … with these counts, over every choice of levels."""
    return min(
        sum(count * min(level - length for level in chosen if level >= length) for length, count in enumerate(counts))
        for chosen in combinations(sizes, levels)
        if chosen[-1] >= len(counts) - 1
    )


@given(st.lists(st.integers(0, 9), min_size=5, max_size=40), st.integers(1, 4))
def test_fewer_levels_need_the_least_padding(counts, levels):
    usual = _usual_table(len(counts) - 1)
    sizes = sorted(set(usual.tolist()))
    levels = min(levels, len(sizes))
    table = _table(usual, np.array(counts), levels)
    assert len(set(table.tolist())) <= levels
    assert (table >= np.arange(len(counts))).all()
    assert (np.diff(table) >= 0).all()
    padding = sum(count * (table[length] - length) for length, count in enumerate(counts))
    assert padding == best_padding(counts, sizes, levels)


def test_sides_of_unequal_length_have_few_shapes():
    """Long sources with short targets, as in dialogues, would give nearly every batch a shape of its own."""
    chance = np.random.default_rng(1)
    lengths = chance.gamma((2.0, 2.0), (20.0, 8.0), (30_000, 2)).astype(int).clip(2, 160)
    batches = BatchSampler(lengths, 4096, rounded=True)
    shapes = Counter(batches.shape(rows) for rows in batches.epoch(0))
    assert len(shapes) <= 48
    assert np.mean([batches.padding(rows) for rows in batches.epoch(0)]) < 0.35
    related = np.stack([lengths[:, 0].clip(2, 40), lengths[:, 0].clip(2, 40) + 2], 1)
    usual = np.array([[round_up(int(length)) for length in row] for row in related[:50]])
    assert (BatchSampler(related, 4096, rounded=True)._lengths(np.arange(50)) == usual).all(), "sides that are alike"

"""Greedy search and sampling, on models small enough to check by hand."""

import math
from collections import Counter

import pytest
import torch

from helpers.search import greedy, sample
from helpers.slow_search import Penalties, brute_force, log_probability, replay, words_of
from helpers.table_model import Table, random_table
from saccade.batch import BOS, EOS, PAD, Batch

A, B, C = 4, 5, 6
ONE = Batch.from_lists([[3, 4, 5]])
TWO = Batch.from_lists([[3, 4, 5], [4, 3]])


def one_step(chances):
    """A model with the same prediction after every prefix."""
    return Table(7, lambda sentence, words: chances)


def frequencies(found):
    return Counter(tuple(one.tokens) for one in found)


def chi_square(counts, chances):
    total = sum(counts.values())
    assert counts.keys() <= chances.keys()
    return sum((counts[key] - total * chance) ** 2 / (total * chance) for key, chance in chances.items())


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


# Greedy


def test_greedy_takes_the_likeliest_word_and_stops_at_the_end():
    model = Table(7, lambda sentence, words: {A: 0.6, B: 0.4} if len(words) < 2 else {EOS: 0.7, C: 0.3})
    (found,) = greedy(model, ONE)
    assert found.tokens == [A, A, EOS]
    assert found.finished
    assert found.log_probability == pytest.approx(math.log(0.6 * 0.6 * 0.7))
    assert model.fed == 3, "no step after the end"


def test_a_sentence_that_has_ended_is_not_changed_by_the_others():
    model = Table(7, lambda sentence, words: {EOS: 0.9, A: 0.1} if sentence == 4 else {B: 0.8, EOS: 0.2})
    first, second = greedy(model, TWO, max_length=5)
    assert (first.tokens, first.finished) == ([B] * 5, False)
    assert (second.tokens, second.finished) == ([EOS], True)
    assert second.log_probability == pytest.approx(math.log(0.9))


@pytest.mark.parametrize("search", [greedy, lambda *args, **more: sample(*args, **more)[0]], ids=["greedy", "sample"])
def test_what_never_ends_is_cut_at_max_length_and_said_to_be_unfinished(search):
    model = one_step({A: 0.5, B: 0.5})
    (found,) = search(model, ONE, max_length=6)
    assert len(found.tokens) == 6
    assert EOS not in found.tokens
    assert not found.finished
    assert found.log_probability == pytest.approx(6 * math.log(0.5))


def test_padding_and_beginning_are_never_written():
    model = one_step({PAD: 0.5, BOS: 0.4, A: 0.06, EOS: 0.04})
    found = [*greedy(model, ONE, max_length=4), *sample(model, ONE, 50, max_length=4, generator=seeded())[0]]
    assert {token for one in found for token in one.tokens} == {A, EOS}
    assert found[0].log_probability == pytest.approx(4 * math.log(0.06)), "the probability is not renormalized"


# Sampling


@pytest.mark.parametrize("seed", range(5))
def test_the_best_word_alone_is_greedy(seed):
    model = random_table(seed)
    model.dtype = torch.float32
    walked = greedy(model, TWO, max_length=6)
    for limits in ({"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}, {"temperature": 1e-40}):
        drawn = sample(model, TWO, 3, max_length=6, generator=seeded(), **limits)
        for one, found in zip(walked, drawn, strict=True):
            assert [other.tokens for other in found] == [one.tokens] * 3


def test_words_that_are_equally_good_do_not_make_top_k_larger():
    model = one_step({A: 0.25, B: 0.25, C: 0.25, EOS: 0.25})
    (found,) = sample(model, ONE, 200, top_k=2, max_length=1, generator=seeded())
    assert len(frequencies(found)) == 2


CHANCES = {A: 0.5, B: 0.3, C: 0.15, EOS: 0.05}


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({}, {A: 0.5, B: 0.3, C: 0.15, EOS: 0.05}),
        ({"top_p": 1.0}, {A: 0.5, B: 0.3, C: 0.15, EOS: 0.05}),
        ({"top_p": 0.49}, {A: 1.0}),
        ({"top_p": 0.51}, {A: 0.5 / 0.8, B: 0.3 / 0.8}),
        ({"top_p": 0.79}, {A: 0.5 / 0.8, B: 0.3 / 0.8}),
        ({"top_p": 0.81}, {A: 0.5 / 0.95, B: 0.3 / 0.95, C: 0.15 / 0.95}),
        ({"top_k": 3}, {A: 0.5 / 0.95, B: 0.3 / 0.95, C: 0.15 / 0.95}),
        ({"top_k": 99}, {A: 0.5, B: 0.3, C: 0.15, EOS: 0.05}),
        # squares 0.25, 0.09, 0.0225, 0.0025 sum to 0.365: the first two hold 0.93 of it
        ({"temperature": 0.5}, {A: 0.25 / 0.365, B: 0.09 / 0.365, C: 0.0225 / 0.365, EOS: 0.0025 / 0.365}),
        ({"temperature": 0.5, "top_p": 0.9}, {A: 0.25 / 0.34, B: 0.09 / 0.34}),
        # the share is of what top_k leaves: 0.5 and 0.3 of 0.8
        ({"top_k": 2, "top_p": 0.6}, {A: 1.0}),
    ],
    ids=str,
)
def test_words_come_as_often_as_they_are_likely(limits, left):
    (found,) = sample(one_step(CHANCES), ONE, 4000, max_length=1, generator=seeded(), attention=False, **limits)
    counts = frequencies(found)
    assert counts.keys() == {(word,) for word in left}
    assert chi_square(counts, {(word,): chance for word, chance in left.items()}) < 16.3  # 1 in 1000 at 3 degrees


def test_whole_answers_come_as_often_as_they_are_likely():
    model = Table(6, lambda sentence, words: {EOS: 0.2, 3: 0.1, 4: 0.3, 5: 0.4} if not words else {EOS: 0.5, 4: 0.5})
    (found,) = sample(model, ONE, 4000, max_length=3, generator=seeded(), attention=False)
    chances = {one.tokens: math.exp(one.log) for one in brute_force(model, ONE, 3, Penalties()) if one.log > -math.inf}
    assert sum(chances.values()) == pytest.approx(1)
    assert len(chances) == 10
    assert chi_square(frequencies(found), chances) < 27.9  # 1 in 1000 at 9 degrees


def test_a_generator_makes_draws_repeatable():
    model = random_table(2)
    first, same, other = (
        [one.tokens for one in sample(model, ONE, 20, max_length=6, generator=seeded(seed))[0]] for seed in (1, 1, 2)
    )
    assert first == same
    assert first != other


def test_a_generator_leaves_the_global_one_alone():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    sample(random_table(2), ONE, 3, max_length=4, generator=seeded())
    assert torch.equal(before, torch.get_rng_state())


def test_log_probability_is_the_models_whatever_was_drawn_from():
    model = random_table(4)
    (found,) = sample(model, ONE, 10, temperature=3.0, top_k=4, top_p=0.9, max_length=6, generator=seeded())
    for one in found:
        (said,) = replay(model, ONE, [words_of(one.tokens)])
        assert one.log_probability == pytest.approx(log_probability(said, one.tokens))


def test_the_likeliest_draw_comes_first():
    (found,) = sample(random_table(4), ONE, 20, max_length=6, generator=seeded())
    logs = [one.log_probability for one in found]
    assert logs == sorted(logs, reverse=True)
    assert len(set(logs)) > 5

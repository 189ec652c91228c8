"""Steering: what is blocked gets nothing, what is pulled gets its weight, and the rest shares as it did."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from helpers_models import MIXED, loud, tiny
from saccade import search
from saccade.attention import Attention, Steering, Tape, build_attention

SITES = ["attention"]


def rows(*numbers):
    return torch.tensor([numbers], dtype=torch.float64)


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=6), st.data())
def test_blocking_is_a_mask(numbers, data):
    scores = torch.tensor([numbers], dtype=torch.float64)
    blocked = data.draw(st.sets(st.integers(0, len(numbers) - 1), max_size=len(numbers) - 1))
    mask = torch.tensor([[place in blocked for place in range(len(numbers))]])
    steered = Steering(SITES, blocked)("attention", 0, scores.softmax(-1))
    assert_close(steered, scores.masked_fill(mask, -torch.inf).softmax(-1))


def test_a_pulled_word_gets_its_weight_and_the_others_keep_their_proportions():
    steered = Steering(SITES, pulled={(0, 1): 0.4})("attention", 0, rows(0.5, 0.25, 0.25))
    assert_close(steered, rows(0.4, 0.4, 0.2))


def test_pulling_to_one_and_to_nothing():
    assert_close(Steering(SITES, pulled={(0, 0): 1.0})("attention", 0, rows(0.2, 0.8)), rows(1.0, 0.0))
    assert_close(Steering(SITES, pulled={(0, 0): 0.0})("attention", 0, rows(0.2, 0.8)), rows(0.0, 1.0))
    assert_close(Steering(SITES, pulled={(0, 0): 0.3})("attention", 0, rows(1.0, 0.0)), rows(0.3, 0.0))


def test_several_pulls_of_a_step_all_get_what_was_asked():
    steered = Steering(SITES, pulled={(0, 0): 0.5, (0, 2): 0.25})("attention", 0, rows(0.1, 0.3, 0.4, 0.2))
    assert_close(steered, rows(0.5, 0.15, 0.25, 0.1))


def test_only_its_step_and_its_sites_are_touched():
    weights = torch.full((2, 3, 4), 0.25)
    steering = Steering(SITES, pulled={(6, 0): 1.0})
    steered = steering("attention", 5, weights)
    assert_close(steered[:, 1, 0], torch.ones(2))
    assert_close(steered[:, [0, 2]], weights[:, [0, 2]])
    assert steering("elsewhere", 5, weights) is weights
    assert_close(steering("attention", 7, weights), weights)


@pytest.mark.parametrize("score", ["additive", "coverage"])
@pytest.mark.parametrize("heads", [None, 2])
def test_an_attention_takes_its_context_from_steered_weights(score, heads):
    attention = loud(build_attention(score, 4, 4, heads=heads))
    bank = attention.bank(torch.randn(1, 5, 4))
    site = attention.site if isinstance(attention, Attention) else attention.inner.site
    tape = Tape(steering=Steering([site], blocked=[1], pulled={(2, 0): 1.0}))
    seen = attention(torch.randn(1, 3, 4), bank, tape=tape)
    weights = tape[site]
    assert (weights[..., 1] == 0).all()
    assert_close(weights[0, :, 2], torch.eye(5)[0].expand(weights.shape[1], 5))
    assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    if heads is None:
        assert_close(seen.context, weights[:, 0] @ bank.values)


@pytest.mark.parametrize("name", ["bahdanau", "luong-general", "transformer-base", "lstmn", "self-attentive-rnn"])
@pytest.mark.parametrize("width", [1, 3])
def test_a_steered_search_looks_as_told_for_all_its_hypotheses(name, width):
    model, batch = loud(tiny(name)), MIXED.batch()
    steering = Steering(model.source_sites, blocked=[0], pulled={(1, 1): 0.7})
    found = search.beam(model, batch, width, max_length=4, min_length=3, steering=steering)
    for row, (best, *_) in enumerate(found):
        for site in model.source_sites:
            weights = best.attention[site]
            if weights.shape[-1] < 3:
                continue
            assert (weights[..., 0] == 0).all(), row
            assert_close(weights[:, 1, 1], torch.full_like(weights[:, 1, 1], 0.7))
    free = search.beam(model, batch, width, max_length=4, min_length=3)
    assert any(one[0].score != other[0].score for one, other in zip(found, free, strict=True))

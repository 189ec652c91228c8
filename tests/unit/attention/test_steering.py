"""Steering: blocked keys are hidden, pulled keys get their weight, and the others keep their proportions."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from helpers.models import MIXED, loud, tiny
from helpers.search import beam
from saccade import pytree
from saccade.attention import ALIGNS, Attention, DotScore, Steering, Tape, build_attention
from saccade.errors import ShapeError
from saccade.models.ensemble import Ensemble

SITES = ["attention"]


def rows(*numbers):
    return torch.tensor([numbers], dtype=torch.float64)


def weights_of(attention, query, bank, blocked):
    tape = Tape(steering=Steering(SITES, blocked))
    attention(query, bank, tape=tape)
    return tape["attention"]


@given(st.lists(st.floats(0.01, 1), min_size=3, max_size=6), st.data())
def test_of_a_softmax_the_visible_words_share_all_in_the_proportions_they_had(numbers, data):
    keys = torch.tensor([numbers], dtype=torch.float64)[..., None]
    blocked = data.draw(st.sets(st.integers(0, len(numbers) - 1), max_size=len(numbers) - 1))
    attention, free = Attention(DotScore(1, 1)), Tape()
    attention(torch.ones(1, 1, 1).double(), attention.bank(keys), tape=free)
    steered = weights_of(attention, torch.ones(1, 1, 1).double(), attention.bank(keys), blocked)
    kept = free["attention"].clone()
    kept[..., list(blocked)] = 0
    assert_close(steered, kept / kept.sum(-1, keepdim=True))


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("align", ALIGNS)
def test_with_every_word_blocked_there_is_nothing_to_see(align, heads):
    attention = loud(build_attention("additive", 4, 4, align=align, heads=heads)).eval()
    tape = Tape(steering=Steering(SITES, blocked=range(5)))
    seen = attention(torch.randn(2, 3, 4), attention.bank(torch.randn(2, 5, 4)), tape=tape)
    assert (tape["attention"] == 0).all()
    nothing = torch.zeros(4) if heads is None else attention.output.bias
    assert (seen.context == nothing).all()


@pytest.mark.parametrize("align", ["sparsemax", "hard"])
def test_hiding_the_only_word_that_is_looked_at_leaves_the_next_best(align):
    attention = build_attention("dot", 1, 1, align=align).eval()
    bank = attention.bank(torch.tensor([[[9.0], [5.0], [1.0]]]))
    assert_close(weights_of(attention, torch.ones(1, 1, 1), bank, {0}), torch.tensor([[[[0.0, 1.0, 0.0]]]]))


def test_what_hard_attention_draws_from_and_the_scores_leave_out_the_hidden_word():
    attention = build_attention("dot", 2, 2, align="hard").train()
    tape = Tape(detailed=True, steering=Steering(SITES, blocked=[1]))
    attention(torch.randn(2, 3, 2), attention.bank(torch.randn(2, 4, 2)), tape=tape)
    distribution, scores = tape["attention.distribution"], tape.notes["attention.scores"]
    assert (distribution[..., 1] == 0).all()
    assert_close(distribution.sum(-1), torch.ones(2, 1, 3))
    assert scores[..., 1].isneginf().all()
    assert scores[..., [0, 2, 3]].isfinite().all()


@pytest.mark.parametrize("window", ["local-m", "local-p"])
def test_a_window_stays_where_it_is_when_a_word_is_hidden(window):
    attention = loud(build_attention("dot", 2, 2, window=window, window_options={"radius": 1})).eval()
    query, bank = torch.randn(1, 4, 2), attention.bank(torch.randn(1, 6, 2))
    free = weights_of(attention, query, bank, ())
    steered = weights_of(attention, query, bank, {2})
    others = [0, 1, 3, 4, 5]
    assert (free[..., 2] > 0).any()
    assert ((steered > 0) == (free > 0))[..., others].all()


@pytest.mark.parametrize("beams", [2, 3])
@pytest.mark.parametrize("score", ["additive", "location-aware"])
def test_hypotheses_of_a_sentence_are_steered_like_sentences_of_their_own(score, beams):
    attention = loud(build_attention(score, 3, 3)).double().eval()
    query, bank = torch.randn(2 * beams, 4, 3).double(), attention.bank(torch.randn(2, 5, 3).double())
    steering = Steering(SITES, blocked=[2], pulled={(1, 0): 0.25, (3, 4): 0.5})
    shared, copied = Tape(steering=steering), Tape(steering=steering)
    of_shared = attention(query, bank, tape=shared)
    of_copied = attention(query, pytree.repeat_rows(bank, beams), tape=copied)
    assert_close(shared["attention"], copied["attention"])
    assert_close(of_shared.context, of_copied.context)
    assert_close(shared["attention"][:, 0, 3, 4], torch.full((2 * beams,), 0.5).double())


def test_a_step_already_taken_keeps_its_weights_when_a_word_is_hidden_later():
    attention = loud(build_attention("location-aware", 3, 3)).double().eval()
    query, bank = torch.randn(1, 2, 3).double(), attention.bank(torch.randn(1, 4, 3).double())
    first = attention(query[:, :1], bank, past=attention.start(bank))
    kept = torch.tensor([[[True, False, True, True]]])
    wanted = attention(query[:, 1:], replace(bank, mask=kept), past=first.past)
    steered = attention(query[:, 1:], bank, past=first.past, tape=Tape(steering=Steering(SITES, blocked=[1])))
    assert_close(steered.context, wanted.context)


@pytest.mark.parametrize("options", [{"blocked": [5]}, {"blocked": [-1]}, {"pulled": {(0, 5): 0.5}}], ids=str)
def test_places_that_are_not_there_are_refused(options):
    attention, tape = build_attention("dot", 2, 2), Tape(steering=Steering(SITES, **options))
    query, bank = torch.randn(1, 1, 2), attention.bank(torch.randn(1, 5, 2))
    with pytest.raises(ShapeError, match="'attention' attends to 5 keys: 0 to 4"):
        attention(query, bank, tape=tape)


def test_a_pulled_word_gets_its_weight_and_the_others_keep_their_proportions():
    steered = Steering(SITES, pulled={(0, 1): 0.4}).pull("attention", 0, rows(0.5, 0.25, 0.25))
    assert_close(steered, rows(0.4, 0.4, 0.2))


def test_pulling_to_one_and_to_nothing():
    assert_close(Steering(SITES, pulled={(0, 0): 1.0}).pull("attention", 0, rows(0.2, 0.8)), rows(1.0, 0.0))
    assert_close(Steering(SITES, pulled={(0, 0): 0.0}).pull("attention", 0, rows(0.2, 0.8)), rows(0.0, 1.0))
    assert_close(Steering(SITES, pulled={(0, 0): 0.3}).pull("attention", 0, rows(1.0, 0.0)), rows(0.3, 0.0))


def test_a_row_keeps_its_sum_when_a_word_is_pulled():
    """With some aligns and windows, weights sum to less than 1."""
    steered = Steering(SITES, pulled={(0, 0): 0.2}).pull("attention", 0, rows(0.1, 0.3, 0.2))
    assert_close(steered, rows(0.2, 0.24, 0.16))
    beyond = Steering(SITES, pulled={(0, 0): 0.9}).pull("attention", 0, rows(0.1, 0.3, 0.2))
    assert_close(beyond, rows(0.9, 0.0, 0.0))


def test_several_pulls_of_a_step_all_get_what_was_asked():
    steered = Steering(SITES, pulled={(0, 0): 0.5, (0, 2): 0.25}).pull("attention", 0, rows(0.1, 0.3, 0.4, 0.2))
    assert_close(steered, rows(0.5, 0.15, 0.25, 0.1))


def test_only_its_step_and_its_sites_are_touched():
    weights = torch.full((2, 3, 4), 0.25)
    steering = Steering(SITES, pulled={(6, 0): 1.0})
    steered = steering.pull("attention", 5, weights)
    assert_close(steered[:, 1, 0], torch.ones(2))
    assert_close(steered[:, [0, 2]], weights[:, [0, 2]])
    assert steering.pull("elsewhere", 5, weights) is weights
    assert_close(steering.pull("attention", 7, weights), weights)


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
    found = beam(model, batch, width, max_length=4, min_length=3, steering=steering)
    for row, (best, *_) in enumerate(found):
        for site in model.source_sites:
            weights = best.attention[site]
            if weights.shape[-1] < 3:
                continue
            assert (weights[..., 0] == 0).all(), row
            assert_close(weights[:, 1, 1], torch.full_like(weights[:, 1, 1], 0.7))
    free = beam(model, batch, width, max_length=4, min_length=3)
    assert any(one[0].score != other[0].score for one, other in zip(found, free, strict=True))


def test_steering_reaches_the_members_of_an_ensemble():
    members = [loud(tiny("bahdanau")), loud(tiny("transformer-base"))]
    ensemble, batch = Ensemble(members), MIXED.batch()
    steering = Steering(ensemble.source_sites, blocked=[1], pulled={(0, 0): 0.6})
    (best, *_), *_ = beam(ensemble, batch, 2, max_length=3, min_length=2, steering=steering)
    for site in ensemble.source_sites:
        assert (best.attention[site][..., 1] == 0).all()
        assert_close(best.attention[site][:, 0, 0], torch.full_like(best.attention[site][:, 0, 0], 0.6))

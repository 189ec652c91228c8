"""Attention in one kernel: the same as score → align → context, for every caller, recorded or not."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from helpers import additive_by_torch as by_torch
from saccade.attention import Bank, Steering, Tape, build_attention
from saccade.kernels.additive import choose

SCORES = {"additive": {}, "concat": {}, "coverage": {}, "location-aware": {"kernel": 3, "filters": 2}}


@pytest.fixture
def calls(monkeypatch):
    """Kernels for any device, small inputs included; how often they were asked."""
    made = []
    real = by_torch.attend
    monkeypatch.setattr(by_torch, "attend", lambda parts: made.append(parts) or real(parts))
    monkeypatch.setattr(choose, "_fits", lambda keys, values: True)
    monkeypatch.setattr(choose, "SMALL", 0)
    monkeypatch.setattr(choose, "_few", lambda: by_torch)
    return made


def build(score, heads=None, **options):
    torch.manual_seed(0)
    return build_attention(score, 6, 6, heads=heads, score_options=SCORES[score], **options).double()


def loop(attention, steps=4, rows=2, *, tape=None, collect=True):
    """Steps of a decoder, each query made from the context before; contexts, the last past, gradients."""
    chance = torch.Generator().manual_seed(0)
    keys = torch.randn(2, 5, 6, generator=chance, dtype=torch.float64).requires_grad_()
    query = torch.randn(rows, 6, generator=chance, dtype=torch.float64).requires_grad_()
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    bank = attention.bank(keys, mask=mask)
    if not collect:  # a bank whose caller replaced its keys
        bank = Bank(1 * bank.keys, 1 * bank.values, bank.mask)
    state, past, contexts = query, attention.start(bank, rows), []
    for _ in range(steps):
        attended = attention(state[:, None], bank, past=past, tape=tape)
        past = attended.past
        contexts.append(attended.context[:, 0])
        state = torch.tanh(state + contexts[-1])
    found = torch.stack(contexts)
    leaves = [keys, query, *attention.parameters()]
    return found, *torch.autograd.grad(found.square().sum(), leaves)


def by_definition(monkeypatch, *given, **options):
    with monkeypatch.context() as patch:
        patch.setattr(choose, "_fits", lambda keys, values: False)
        return loop(*given, **options)


@pytest.mark.parametrize("collect", [True, False])
@pytest.mark.parametrize("rows", [2, 6], ids=["one hypothesis", "three"])
@pytest.mark.parametrize("heads", [None, 2, 3])
@pytest.mark.parametrize("score", SCORES)
def test_a_loop_is_the_same_by_either_way(calls, monkeypatch, score, heads, rows, collect):
    attention = build(score, heads)
    found = loop(attention, rows=rows, collect=collect)
    assert len(calls) == 4
    for one, other in zip(found, by_definition(monkeypatch, attention, rows=rows), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("score", SCORES)
def test_a_tape_gets_the_same_weights(calls, monkeypatch, score):
    attention, ours, theirs = build(score), Tape(), Tape()
    loop(attention, tape=ours)
    assert len(calls) == 4
    by_definition(monkeypatch, attention, tape=theirs)
    assert_close(ours[attention.site], theirs[attention.site])


@pytest.mark.parametrize("score", ["coverage", "location-aware"])
def test_many_queries_of_a_sequential_score_go_one_by_one(calls, score):
    attention = build(score)
    attention(torch.randn(2, 20, 6).double(), attention.bank(torch.randn(2, 5, 6).double()))
    assert len(calls) == 20


def test_eight_queries_are_few_and_nine_are_not(calls):
    attention = build("additive")
    bank = attention.bank(torch.randn(2, 5, 6).double())
    attention(torch.randn(2, 9, 6).double(), bank)
    assert not calls
    attention(torch.randn(2, 8, 6).double(), bank)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "options",
    [{"align": "sparsemax"}, {"align_options": {"temperature": 2.0}}, {"window": "local-p"}, {"dropout": 0.5}],
    ids=str,
)
def test_other_parts_take_the_definition(calls, options):
    attention = build("additive", **options).train()
    attention(torch.randn(2, 1, 6).double(), attention.bank(torch.randn(2, 5, 6).double()))
    assert not calls


def test_notes_of_scores_and_pulled_weights_take_the_definition(calls):
    attention = build("additive")
    bank = attention.bank(torch.randn(2, 5, 6).double())
    attention(torch.randn(2, 1, 6).double(), bank, tape=Tape(detailed=True))
    attention(torch.randn(2, 1, 6).double(), bank, tape=Tape(steering=Steering(["attention"], pulled={(0, 1): 0.5})))
    assert not calls


def test_hidden_words_are_a_mask_to_the_kernel(calls, monkeypatch):
    attention = build("additive")
    query, bank = torch.randn(2, 1, 6).double(), attention.bank(torch.randn(2, 5, 6).double())
    tape = Tape(steering=Steering(["attention"], blocked=[1, 3]))
    fused = attention(query, bank, tape=tape)
    assert len(calls) == 1
    kept = torch.tensor([True, False, True, False, True])
    with monkeypatch.context() as patch:
        patch.setattr(choose, "_fits", lambda keys, values: False)
        wanted = attention(query, replace(bank, mask=kept.view(1, 1, 5)), tape=Tape())
    assert_close(fused.context, wanted.context)
    assert_close(fused.weights, wanted.weights)


def test_small_ones_that_are_learned_from_can_be_differentiated_twice(calls, monkeypatch):
    monkeypatch.setattr(choose, "SMALL", 1 << 17)
    attention = build("additive")
    keys = torch.randn(2, 5, 6).double().requires_grad_()
    context = attention(torch.randn(2, 1, 6).double(), attention.bank(keys)).context
    (slope,) = torch.autograd.grad(context.square().sum(), keys, create_graph=True)
    slope.square().sum().backward()
    assert keys.grad.abs().sum() > 0
    assert not calls
    with torch.no_grad():
        attention(torch.randn(2, 1, 6).double(), attention.bank(keys))
    assert len(calls) == 1


@pytest.mark.parametrize("score", ["coverage", "location-aware"])
def test_a_bias_leaves_keys_in_the_precision_of_autocast(score):
    attention = build(score).float()
    with torch.autocast("cpu", torch.bfloat16):
        assert attention.score.prepare(torch.randn(2, 3, 6)).dtype == torch.bfloat16

"""Many queries a block at a time: the same context and gradients as with all weights in memory."""

import pytest
import torch
from torch.testing import assert_close

from saccade.attention import build_attention
from saccade.kernels.additive import choose, flash
from saccade.kernels.additive.flash import flash_attend
from saccade.kernels.additive.naive import naive_attend


def inputs(heads, length=37, size=11, width=5, depth=6, dtype=torch.float64):
    lead = (2,) if heads is None else (2, heads)
    shapes = ((*lead, length, width), (*lead, size, width), (*lead, size, depth), (*lead[1:], width))
    return [torch.randn(*shape, dtype=dtype).requires_grad_() for shape in shapes]


@pytest.mark.parametrize("heads", [None, 1, 3, 8])
@pytest.mark.parametrize("kind", ["no mask", "lengths", "by query"])
def test_context_and_gradients_are_those_of_the_definition(monkeypatch, heads, kind):
    monkeypatch.setattr(flash, "BLOCK", 1)  # then a block is as small as blocks get: 16 of the 37 queries
    parts = inputs(heads)
    mask = {"no mask": None, "lengths": torch.arange(11) < torch.tensor([4, 0])[:, None, None]}.get(
        kind, torch.rand(2, 37, 11) < 0.3
    )
    if mask is not None and heads is not None:
        mask = mask[:, None]
    ours, (theirs, _) = flash_attend(*parts, mask), naive_attend(*parts, mask)
    assert_close(ours, theirs)
    slope = torch.randn_like(ours)
    for one, other in zip(*(torch.autograd.grad(x, parts, slope) for x in (ours, theirs)), strict=True):
        assert_close(one, other)


def test_a_query_that_sees_nothing_gets_zeros_and_gives_none():
    query, keys, values, v = inputs(None, length=3)
    mask = torch.tensor([True, False])[:, None, None].expand(2, 1, 11)
    context = flash_attend(query, keys, values, v, mask)
    context.square().sum().backward()
    assert context[1].count_nonzero() == 0
    assert keys.grad[1].count_nonzero() == 0


def test_no_block_has_more_scores_than_allowed(monkeypatch):
    sizes = []
    real = flash.additive_scores
    monkeypatch.setattr(flash, "additive_scores", lambda *given: sizes.append(real(*given).shape) or real(*given))
    monkeypatch.setattr(flash, "BLOCK", 40 * 2 * 11)
    flash_attend(*inputs(None, length=70)).sum().backward()
    assert [shape[-2] for shape in sizes] == [32, 32, 6] * 2


def test_bfloat16_stays_bfloat16():
    parts = inputs(None, dtype=torch.bfloat16)
    ours, (theirs, _) = flash_attend(*parts), naive_attend(*parts)
    assert ours.dtype == torch.bfloat16
    assert_close(ours, theirs)


@pytest.mark.parametrize("recorded", [False, True])
def test_attention_takes_it_where_weights_are_many_and_nobody_looks(monkeypatch, recorded):
    from saccade.attention import Tape

    calls = []
    real = flash.flash_attend
    monkeypatch.setattr(flash, "flash_attend", lambda *given: calls.append(1) or real(*given))
    attention = build_attention("additive", 6, 6, heads=2)
    query, keys = torch.randn(2, 20, 6), torch.randn(2, 9, 6)
    tape = Tape() if recorded else None
    expected = attention(query, attention.bank(keys), tape=tape).context
    assert not calls
    monkeypatch.setattr(choose, "LARGE", 100)
    assert_close(attention(query, attention.bank(keys), tape=Tape() if recorded else None).context, expected)
    assert len(calls) == (0 if recorded else 1)

"""Additive scores: every implementation agrees with the definition, forward and backward, for any input."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck
from torch.testing import assert_close

from saccade.attention import build_attention
from saccade.kernels.additive import additive_scores, blocked, choose
from saccade.kernels.additive.blocked import blocked_scores
from saccade.kernels.additive.naive import naive_scores


def inputs(rows=2, length=5, size=7, width=6, heads=1, scale=1.0, dtype=torch.float64, seed=0):
    chance = torch.Generator().manual_seed(seed)
    query, keys = (scale * torch.randn(rows, n, width, generator=chance, dtype=dtype) for n in (length, size))
    return query, keys, torch.randn(heads, width, generator=chance, dtype=dtype)


def by_definition(query, keys, v):
    """The definition, for rows that are (sentence, head) one after the other."""
    heads = len(v)
    return naive_scores(query.unflatten(0, (-1, heads)), keys.unflatten(0, (-1, heads)), v).flatten(0, 1)


def with_gradients(way, parts, slopes):
    parts = [part.clone().requires_grad_() for part in parts]
    scores = way(*parts)
    scores.backward(slopes.to(scores.dtype))
    return scores.detach(), *(part.grad for part in parts)


few = st.integers(1, 9)


@given(st.integers(1, 3), few, few, few, st.integers(1, 3), st.sampled_from([40, 10**6]))
def test_blocks_of_any_size_agree_with_the_definition(sentences, length, size, width, heads, block):
    parts = inputs(sentences * heads, length, size, width, heads)
    slopes = torch.randn(sentences * heads, length, size, dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocked, "BLOCK", block)
        found = with_gradients(blocked_scores, parts, slopes)
    for one, other in zip(found, with_gradients(by_definition, parts, slopes), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 0.1, 0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 60.0, 1e4])
def test_no_input_is_too_small_or_too_large(scale):
    parts = inputs(scale=scale, dtype=torch.float32)
    slopes = torch.randn(2, 5, 7)
    exact = with_gradients(by_definition, [part.double() for part in parts], slopes.double())
    eager = with_gradients(by_definition, parts, slopes)
    for ours, plain, truth in zip(with_gradients(blocked_scores, parts, slopes), eager, exact, strict=True):
        assert ours.isfinite().all()
        error, usual = ((x.double() - truth).norm() / truth.norm().clamp_min(1e-30) for x in (ours, plain))
        assert error <= max(2 * usual, 5e-7)


@pytest.mark.parametrize("size", [0.4, 0.6, 3.0, 7.0, 9.0, 19.0])
def test_opposites_cancel(size):
    """Where q is far below and k far above 0, their sum is small and none of its digits may be lost on the way."""
    _, _, v = inputs(dtype=torch.float32)
    query, keys = torch.full((1, 5, 6), -size), torch.full((1, 7, 6), size) + 0.1 * torch.randn(1, 7, 6)
    truth = by_definition(query.double(), keys.double(), v.double())
    assert (blocked_scores(query, keys, v) - truth).abs().max() < 1e-5


def test_gradients_by_small_differences():
    assert gradcheck(blocked_scores, tuple(part.requires_grad_() for part in inputs(2, 3, 4, 2, heads=2)))


def test_what_cannot_be_seen_is_not_hidden():
    query, keys, v = inputs()
    query[0, 0, 0] = torch.nan
    scores = blocked_scores(query, keys, v)
    assert scores[0, 0].isnan().all()
    assert scores[1].isfinite().all()


class Ways:
    """Record which implementation ran."""

    def __init__(self, monkeypatch):
        self.taken = []
        for name in ("blocked_scores", "naive_scores"):
            monkeypatch.setattr(choose, name, self._spy(name, getattr(choose, name)))

    def _spy(self, name, real):
        def way(*parts):
            self.taken.append(name)
            return real(*parts)

        return way


@pytest.mark.parametrize(
    ("length", "dtype", "way"),
    [
        (64, torch.float32, "blocked_scores"),
        (64, torch.float64, "blocked_scores"),
        (64, torch.bfloat16, "naive_scores"),
        (1, torch.float32, "naive_scores"),
    ],
)
def test_large_ones_go_by_blocks_and_others_by_definition(monkeypatch, length, dtype, way):
    ways = Ways(monkeypatch)
    query, keys, v = inputs(4, length, 64, 32, dtype=dtype)
    assert_close(additive_scores(query, keys, v[0]), naive_scores(query, keys, v[0]))
    assert ways.taken == [way]


def test_small_ones_can_be_differentiated_twice():
    query, keys, v = (part.requires_grad_() for part in inputs())
    (slope,) = torch.autograd.grad(additive_scores(query, keys, v[0]).sum(), query, create_graph=True)
    slope.square().sum().backward()
    assert keys.grad.abs().sum() > 0


@pytest.mark.parametrize("heads", [None, 3])
def test_an_attention_with_heads_and_many_words_is_the_same_by_either_way(monkeypatch, heads):
    attention = build_attention("additive", 24, 24, heads=heads)
    query, keys = torch.randn(2, 40, 24), torch.randn(2, 50, 24)
    context = attention(query, attention.bank(keys)).context
    monkeypatch.setattr(choose, "SMALL", 10**12)
    assert_close(attention(query, attention.bank(keys)).context, context)

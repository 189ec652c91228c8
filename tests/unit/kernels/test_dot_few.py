"""Few wide queries by one launch each: Triton kernels, on a GPU or in the interpreter, and their reference."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from helpers.naive_kernels import naive_attention
from saccade.attention import build_attention
from saccade.kernels import dispatch
from saccade.kernels.dot import few, few_collect, fused_attention

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture
def by_our_kernels(monkeypatch):
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)
    monkeypatch.setattr(few, "WIDE", 0)


def steps(way, collect, dtype, heads, mask):
    """Three steps over the same keys; contexts and all gradients."""
    chance = torch.Generator().manual_seed(0)
    lead = (2,) if heads is None else (2, heads)
    some = lambda *shape: torch.randn(*lead, *shape, generator=chance).to(DEVICE, torch.bfloat16).to(dtype)  # noqa: E731
    leaves = [some(5, 9), some(5, 6), some(2, 9)]
    keys, values, query = (leaf.requires_grad_() for leaf in leaves)
    slopes = [some(2, 6) for _ in range(3)]
    keys, values = collect(keys, values)
    contexts = []
    asked = query
    for _ in range(3):
        contexts.append(way(asked, keys, values, mask, 0.5))
        asked = asked + torch.nn.functional.pad(contexts[-1], (0, 3))
    torch.autograd.backward(contexts, slopes)
    return [torch.stack(contexts).detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("heads", [None, 3])
@pytest.mark.parametrize("collected", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_as_exact_as_by_definition(by_our_kernels, dtype, heads, collected, masked):
    mask = None
    if masked:
        mask = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0]], dtype=torch.bool, device=DEVICE)[:, None]
        mask = mask if heads is None else mask[:, None]
    as_they_are = lambda keys, values: (keys, values)  # noqa: E731
    truth, usual = (steps(naive_attention, as_they_are, kind, heads, mask) for kind in (torch.float64, dtype))
    ours = steps(fused_attention, few_collect if collected else as_they_are, dtype, heads, mask)
    for one, other, exact in zip(ours, usual, truth, strict=True):
        assert one.dtype == dtype
        error, allowed = ((x.double() - exact).norm() / exact.norm() for x in (one, other))
        assert error <= max(2 * allowed, 4 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("score", ["dot", "general", "scaled-dot", "projected-dot", "cosine"])
def test_scores_that_are_inner_products_take_it(by_our_kernels, monkeypatch, score):
    calls = []
    real = few._Way.attend
    monkeypatch.setattr(few._Way, "attend", lambda self, parts: calls.append(parts) or real(self, parts))
    attention = build_attention(score, 8, 8).to(DEVICE)
    keys, query = torch.randn(2, 5, 8, device=DEVICE), torch.randn(2, 1, 8, device=DEVICE)
    found = attention(query, attention.bank(keys)).context
    assert len(calls) == 1
    with dispatch.disable_fused():
        torch.testing.assert_close(found, attention(query, attention.bank(keys)).context, atol=1e-5, rtol=1e-5)
    assert len(calls) == 1

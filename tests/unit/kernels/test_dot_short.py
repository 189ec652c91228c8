"""Attention in one program for each head: Triton's kernels, on a GPU or through the interpreter, and their twin."""

import pytest
import torch

pytest.importorskip("triton", reason="needs Triton")

from saccade.kernels import ways
from saccade.kernels.dot import fused_attention, sdpa
from saccade.kernels.dot.naive import naive_attention
from saccade.kernels.dot.short import short_attention

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
each_shape = pytest.mark.parametrize(
    ("rows", "heads", "length", "size", "width", "value_width"),
    [(1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 8, 6), (2, 2, 17, 17, 16, 16), (1, 2, 1, 33, 24, 40), (1, 1, 70, 65, 64, 64)],
)


def randn(*shape):
    return torch.randn(*shape, device=DEVICE)


def inputs(rows, heads, length, size, width, value_width, dtype):
    shapes = (rows, length, heads, width), (rows, size, heads, width), (rows, size, heads, value_width)
    parts = [randn(*shape).to(dtype).transpose(1, 2) for shape in shapes]
    return parts, randn(rows, heads, length, value_width).to(dtype)


def with_gradients(way, parts, slope):
    parts = [part.detach().clone().requires_grad_() for part in parts]
    out = way(*parts)
    out.backward(slope.to(out.dtype))
    return out.detach(), *(part.grad for part in parts)


def compare(parts, slope, mask, causal, dtype):
    length, size = parts[0].shape[2], parts[1].shape[2]
    whole = torch.ones(1, 1, length, size, dtype=torch.bool, device=DEVICE)
    whole = whole if mask is None else whole & mask[:, None, None]
    whole = whole.tril() if causal else whole
    usual = lambda *parts: naive_attention(*parts, whole, 0.3)  # noqa: E731
    exact = with_gradients(usual, [part.double() for part in parts], slope.double())
    plain = with_gradients(usual, parts, slope)
    ours = with_gradients(lambda *parts: short_attention(*parts, mask, 0.3, causal), parts, slope)
    for one, other, truth in zip(ours, plain, exact, strict=True):
        error, allowed = ((x.double() - truth).norm() / truth.norm().clamp_min(1e-6) for x in (one, other))
        assert error <= max(2 * allowed, 4 * torch.finfo(dtype).eps)


@each_shape
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_as_exact_as_by_definition(rows, heads, length, size, width, value_width, dtype, causal):
    parts, slope = inputs(rows, heads, length, size, width, value_width, dtype)
    compare(parts, slope, None, causal, dtype)


@pytest.mark.parametrize("causal", [False, True])
def test_padding_and_sentences_that_are_nothing_else(causal):
    parts, slope = inputs(3, 2, 5, 5, 8, 8, torch.bfloat16)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=torch.bool, device=DEVICE)
    compare(parts, slope, mask, causal, torch.bfloat16)
    out = short_attention(*parts, mask, 0.3, causal)
    assert not out[2].any()


def test_numbers_may_lie_anywhere():
    parts, slope = inputs(2, 2, 4, 6, 8, 8, torch.bfloat16)
    parts = [part.transpose(-1, -2).contiguous().transpose(-1, -2) for part in parts]
    parts[1] = parts[1][:1].expand(2, -1, -1, -1)
    compare(parts, slope.mT.contiguous().mT, None, False, torch.bfloat16)


def test_chosen_for_short_sequences_in_half_precision_whose_mask_is_simple(monkeypatch):
    monkeypatch.setattr(ways, "_on_gpu", lambda tensor: True)
    calls = []
    monkeypatch.setattr(sdpa, "_short", lambda *parts: calls.append(parts) or parts[0])
    short = torch.randn(2, 2, 8, 16, dtype=torch.bfloat16)
    long = torch.randn(2, 2, 129, 16, dtype=torch.bfloat16)
    padding, full = torch.ones(2, 1, 1, 8, dtype=torch.bool), torch.ones(2, 1, 8, 8, dtype=torch.bool)
    fused_attention(short, short, short)
    fused_attention(short, short, short, padding)
    fused_attention(short, short, short, full, sight="causal")
    assert len(calls) == 3
    fused_attention(short, short, short, full)
    fused_attention(long, long, long)
    fused_attention(short.float(), short.float(), short.float())
    fused_attention(short, short, short, dropout=0.5)
    assert len(calls) == 3

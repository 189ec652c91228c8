"""The fused kernel against its slow reference."""

import pytest
import torch
from torch.testing import assert_close

from helpers.naive_kernels import naive_attention
from saccade.kernels.dot import fused_attention

SHAPES = [(1, 1, 1), (2, 7, 5), (2, 3, 63)]


def both(query, keys, values, mask=None, scale=1.0):
    """Output and gradients of the two kernels."""
    results = []
    for kernel in (fused_attention, naive_attention):
        leaves = [tensor.clone().requires_grad_() for tensor in (query, keys, values)]
        out = kernel(*leaves, mask, scale)
        mix = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        results.append((out.detach(), *torch.autograd.grad((out * mix).sum(), leaves)))
    return results


def inputs(*lead, queries, keys, dtype=torch.float64):
    shapes = (*lead, queries, 4), (*lead, keys, 4), (*lead, keys, 6)
    return [torch.randn(shape, dtype=dtype) for shape in shapes]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("lead", [(2,), (2, 3)], ids=["no heads", "heads"])
@pytest.mark.parametrize(("batch", "queries", "keys"), SHAPES)
def test_fused_is_naive(batch, queries, keys, lead, masked):
    lead = (batch, *lead[1:])
    mask = torch.rand(batch, *([1] * (len(lead) - 1)), queries, keys) < 0.6 if masked else None
    assert_close(*both(*inputs(*lead, queries=queries, keys=keys), mask, scale=0.3))


def test_a_padding_mask_is_shared_by_all_queries():
    mask = torch.tensor([[[True, True, False]], [[True, False, False]]])
    assert_close(*both(*inputs(2, queries=4, keys=3), mask))


def test_keys_shared_along_an_axis_are_spelled_out():
    query, keys, values = torch.randn(2, 3, 4, 5), torch.randn(2, 1, 6, 5), torch.randn(2, 1, 6, 7)
    assert_close(fused_attention(query, keys, values), naive_attention(query, keys, values))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("lead", [(1,), (1, 2)], ids=["no heads", "heads"])
def test_a_query_that_sees_nothing_gets_zeros_from_both(lead, dtype):
    mask = torch.tensor([[False, False], [True, False]])
    for result in both(*inputs(*lead, queries=2, keys=2, dtype=dtype), mask):
        out, query_gradient, *_ = result
        assert (out[..., 0, :] == 0).all()
        assert (query_gradient[..., 0, :] == 0).all()
        assert all(tensor.isfinite().all() for tensor in result)


def test_dropout_is_the_kernels_own():
    values = torch.ones(1, 1000, 1)
    out = fused_attention(torch.zeros(1, 1, 2), torch.zeros(1, 1000, 2), values, dropout=0.5)
    assert out != 1
    assert_close(out, torch.ones(1, 1, 1), atol=0.2, rtol=0)


def test_one_head_reaches_the_fast_kernels_too(monkeypatch):
    ranks = []
    real = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional,
        "scaled_dot_product_attention",
        lambda query, *more, **options: ranks.append(query.dim()) or real(query, *more, **options),
    )
    for mask in (None, torch.ones(2, 3, 5, dtype=torch.bool)):
        assert fused_attention(torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6), mask).shape == (
            2,
            3,
            6,
        )
    assert ranks == [4, 4]


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Treat every device as a GPU, where `sight` skips work."""
    pytest.importorskip("triton", reason="needs Triton")
    monkeypatch.setattr("saccade.kernels.dispatch._on_gpu", lambda tensor: True)


@pytest.mark.parametrize("lead", [(2,), (2, 3)], ids=["no heads", "heads"])
def test_a_causal_mask_is_left_to_the_kernel(as_on_a_gpu, monkeypatch, lead):
    parts = inputs(*lead, queries=5, keys=5, dtype=torch.float32)
    mask = torch.ones(5, 5, dtype=torch.bool).tril().expand(*([1] * len(lead)), 5, 5)
    asked = []
    real = torch.nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        torch.nn.functional,
        "scaled_dot_product_attention",
        lambda *parts, **options: asked.append((parts[3], options["is_causal"])) or real(*parts, **options),
    )
    out = fused_attention(*parts, mask, 0.3, sight="causal")
    assert asked == [(None, True)]
    assert_close(out, naive_attention(*parts, mask, 0.3))


@pytest.mark.parametrize("mask_shape", [(2, 1, 1, 6), (2, 3, 5, 6)], ids=["shared", "spelled out"])
def test_where_every_query_sees_something_nothing_is_cleared(as_on_a_gpu, monkeypatch, mask_shape):
    parts = inputs(2, 3, queries=5, keys=6, dtype=torch.float32)
    mask = torch.rand(mask_shape) < 0.5
    mask[..., 2] = True
    monkeypatch.setattr(torch.Tensor, "masked_fill", None)
    out = fused_attention(*parts, mask, 0.3, sight="some")
    monkeypatch.undo()
    assert_close(out, naive_attention(*parts, mask, 0.3))

"""The feed-forward sub-layer as one operation: bias and ReLU are fused into the matmul or into one pass."""

# mypy: disable-error-code="no-untyped-call,no-any-return"

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.columns.fused import column_sums, gate_
from saccade.kernels.linear.fused import rows_of
from saccade.kernels.products import product

__all__ = ["fused_feed_forward"]


def fused_feed_forward(
    x: Tensor, weight_1: Tensor, bias_1: Tensor, weight_2: Tensor, bias_2: Tensor, dtype: torch.dtype
) -> Tensor:
    """Compute max(0, x W_1ᵀ + b_1) W_2ᵀ + b_2, with matmuls in `dtype`."""
    return _FeedForward.apply(x, weight_1, bias_1, weight_2, bias_2, dtype)


class _FeedForward(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight_1: Tensor, bias_1: Tensor, weight_2: Tensor, bias_2: Tensor, dtype: torch.dtype
    ) -> Tensor:
        rows, narrow_1, narrow_2 = rows_of(x, dtype), weight_1.to(dtype), weight_2.to(dtype)
        inner = torch._addmm_activation(bias_1.to(dtype), rows, narrow_1.mT)  # bias and ReLU fused into the matmul
        out = torch.addmm(bias_2.to(dtype), inner, narrow_2.mT)
        ctx.save_for_backward(rows, inner, narrow_1, narrow_2)
        ctx.x, ctx.dtypes = (x.shape, x.dtype), [part.dtype for part in (weight_1, bias_1, weight_2, bias_2)]
        return out.view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, inner, narrow_1, narrow_2 = ctx.saved_tensors
        (shape, dtype), dtypes = ctx.x, ctx.dtypes
        grad = rows_of(grads[0], rows.dtype)
        to_weight_2, to_bias_2 = product(grad.mT, inner, dtypes[2]), column_sums(grad).to(dtypes[3])
        to_inner = torch.mm(grad, narrow_2)
        to_bias_1 = gate_(to_inner, inner).to(dtypes[1])
        to_weight_1 = product(to_inner.mT, rows, dtypes[0])
        to_x = torch.mm(to_inner, narrow_1).view(shape).to(dtype) if ctx.needs_input_grad[0] else None
        return to_x, to_weight_1, to_bias_1, to_weight_2, to_bias_2, None

"""A linear layer with its own backward pass.

One kernel computes the bias gradient. Where the device allows it, the weight gradient is rounded only once, to the
dtype of the weight.
"""

# mypy: disable-error-code="no-untyped-call,no-any-return"

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.columns.fused import column_sums
from saccade.kernels.products import product

__all__ = ["fused_linear", "rows_of", "side_by_side"]


def fused_linear(x: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Compute x Wᵀ + b with matmuls in `dtype`."""
    return _Linear.apply(x, weight, bias, dtype)


def side_by_side(joint: Tensor, widths: list[int]) -> tuple[Tensor, ...]:
    """Compute `joint.split(widths, -1)`, with a backward pass that avoids a copy.

    If the gradients of the parts are adjacent in memory, the backward pass returns that memory as one tensor.
    """
    return _Split.apply(joint, widths)


def rows_of(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Flatten (..., D) -> (N, D) in `dtype`, contiguous."""
    return x.reshape(-1, x.shape[-1]).to(dtype).contiguous()


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
        rows, narrow = rows_of(x, dtype), weight.to(dtype)
        out = torch.mm(rows, narrow.mT) if bias is None else torch.addmm(bias.to(dtype), rows, narrow.mT)
        ctx.save_for_backward(rows, narrow)
        ctx.x, ctx.weight_dtype, ctx.bias_dtype = (x.shape, x.dtype), weight.dtype, None if bias is None else bias.dtype
        return out.view(*x.shape[:-1], -1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        rows, narrow = ctx.saved_tensors
        shape, dtype = ctx.x
        grad = rows_of(grads[0], rows.dtype)
        wanted = ctx.needs_input_grad
        return (
            torch.mm(grad, narrow).view(shape).to(dtype) if wanted[0] else None,
            product(grad.mT, rows, ctx.weight_dtype) if wanted[1] else None,
            column_sums(grad).to(ctx.bias_dtype) if wanted[2] else None,
            None,
        )


class _Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, joint: Tensor, widths: list[int]) -> tuple[Tensor, ...]:
        ctx.shape, ctx.dtype, ctx.device = joint.shape, joint.dtype, joint.device
        ctx.widths = widths
        ctx.set_materialize_grads(False)
        return tuple(part.view_as(part) for part in joint.split(widths, -1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor, None]:
        parts = [
            torch.zeros(*ctx.shape[:-1], width, dtype=ctx.dtype, device=ctx.device) if grad is None else grad
            for grad, width in zip(grads, ctx.widths, strict=True)
        ]
        joint = _joined(parts, ctx.shape)
        return torch.cat(parts, -1) if joint is None else joint, None


def _joined(parts: list[Tensor], shape: torch.Size) -> Tensor | None:
    """Return one tensor over the memory of all parts if they are its slices along the last axis, else None."""
    first = parts[0]
    strides = torch.empty(shape, device="meta").stride()
    place = first.data_ptr()
    for part in parts:
        if part.stride() != strides or part.data_ptr() != place or part.dtype != first.dtype:
            return None
        if part.untyped_storage().data_ptr() != first.untyped_storage().data_ptr():
            return None
        place += part.shape[-1] * part.element_size()
    return first.as_strided(shape, strides)

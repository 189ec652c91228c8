"""Which way the sum around a sub-layer and its norm are computed."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.residual.naive import naive_layer_norm, naive_residual, naive_residual_norm
from saccade.kernels.ways import fusable

__all__ = ["layer_norm", "residual", "residual_and_norm", "residual_norm", "residual_norm_twice"]

WIDEST = 8192
"""Beyond, a row no longer fits into a program's registers."""


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """LayerNorm(x) over the last axis; x (..., D), weight and bias (D,)."""
    if not _fits(x, x, weight, bias):
        return naive_layer_norm(x, weight, bias, eps)
    from saccade.kernels.residual.fused import fused_layer_norm

    return fused_layer_norm(x, weight, bias, eps, stream_dtype(x, x))


def residual(x: Tensor, out: Tensor, p: float, training: bool) -> Tensor:
    """x + Dropout(out), both (..., D); under autocast to bfloat16 on a GPU the sum is in bfloat16."""
    if not _fits(x, out):
        return naive_residual(x, out, p, training)
    from saccade.kernels.residual.fused import fused_residual

    return fused_residual(x, out, p if training else 0.0, stream_dtype(x, out))


def residual_norm(x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, training: bool) -> Tensor:
    """LayerNorm(x + Dropout(out)); x and out (..., D), weight and bias (D,)."""
    if not _fits(x, out, weight, bias):
        return naive_residual_norm(x, out, weight, bias, eps, p, training)[1]
    from saccade.kernels.residual.fused import fused_residual_norm

    return fused_residual_norm(x, out, weight, bias, eps, p if training else 0.0, stream_dtype(x, out))


def residual_norm_twice(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, training: bool
) -> tuple[Tensor, Tensor]:
    """`residual_norm` for two uses, the next sub-layer and the sum around it: the same numbers twice."""
    if not _fits(x, out, weight, bias):
        y = naive_residual_norm(x, out, weight, bias, eps, p, training)[1]
        return y, y
    from saccade.kernels.residual.fused import fused_residual_norm_twice

    return fused_residual_norm_twice(x, out, weight, bias, eps, p if training else 0.0, stream_dtype(x, out))


def residual_and_norm(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, training: bool
) -> tuple[Tensor, Tensor]:
    """x + Dropout(out), and LayerNorm of that."""
    if not _fits(x, out, weight, bias):
        return naive_residual_norm(x, out, weight, bias, eps, p, training)
    from saccade.kernels.residual.fused import fused_residual_and_norm

    return fused_residual_and_norm(x, out, weight, bias, eps, p if training else 0.0, stream_dtype(x, out))


def stream_dtype(x: Tensor, out: Tensor) -> torch.dtype:
    """What a sum is kept in: bfloat16 under autocast to it; float16 would overflow, and is left to its inputs."""
    kind = x.device.type
    if torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) == torch.bfloat16:
        return torch.bfloat16
    return torch.promote_types(x.dtype, out.dtype)


def _fits(x: Tensor, out: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> bool:
    return fusable(x, out, weight, bias) and x.shape == out.shape and x.shape[-1] <= WIDEST

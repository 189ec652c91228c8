"""Choose between the fused kernels and plain torch for residual connections and LayerNorm."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.dispatch import fusable
from saccade.kernels.residual.naive import naive_layer_norm, naive_residual, naive_residual_norm

__all__ = ["layer_norm", "residual", "residual_and_norm", "residual_norm", "residual_norm_twice"]

WIDEST = 8192
"""The largest last axis that the fused kernels take.

A Triton program holds whole rows in registers, and a wider row does not fit.
"""


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Compute LayerNorm(x) over the last axis; x (..., D), weight and bias (D,)."""
    if not _fits(x, x, weight, bias):
        return naive_layer_norm(x, weight, bias, eps)
    from saccade.kernels.residual.fused import fused_layer_norm

    return fused_layer_norm(x, weight, bias, eps, stream_dtype(x, x))


def residual(x: Tensor, out: Tensor, p: float, training: bool) -> Tensor:
    """Compute x + Dropout(out), both (..., D).

    If the fused kernel runs under autocast to bfloat16, the sum is bfloat16.
    """
    if not _fits(x, out):
        return naive_residual(x, out, p, training)
    from saccade.kernels.residual.fused import fused_residual

    return fused_residual(x, out, p if training else 0.0, stream_dtype(x, out))


def residual_norm(x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, training: bool) -> Tensor:
    """Compute LayerNorm(x + Dropout(out)); x and out (..., D), weight and bias (D,)."""
    if not _fits(x, out, weight, bias):
        return naive_residual_norm(x, out, weight, bias, eps, p, training)[1]
    from saccade.kernels.residual.fused import fused_residual_norm

    return fused_residual_norm(x, out, weight, bias, eps, p if training else 0.0, stream_dtype(x, out))


def residual_norm_twice(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, training: bool
) -> tuple[Tensor, Tensor]:
    """Return the result of `residual_norm` twice, once for each of its two uses.

    The residual connection around the next sub-layer takes the first. That sub-layer takes the second as its input.
    The fused backward kernel adds up the two gradients.
    """
    if not _fits(x, out, weight, bias):
        y = naive_residual_norm(x, out, weight, bias, eps, p, training)[1]
        return y, y
    from saccade.kernels.residual.fused import fused_residual_norm_twice

    return fused_residual_norm_twice(x, out, weight, bias, eps, p if training else 0.0, stream_dtype(x, out))


def residual_and_norm(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, training: bool
) -> tuple[Tensor, Tensor]:
    """Compute x + Dropout(out), and its LayerNorm."""
    if not _fits(x, out, weight, bias):
        return naive_residual_norm(x, out, weight, bias, eps, p, training)
    from saccade.kernels.residual.fused import fused_residual_and_norm

    return fused_residual_and_norm(x, out, weight, bias, eps, p if training else 0.0, stream_dtype(x, out))


def stream_dtype(x: Tensor, out: Tensor) -> torch.dtype:
    """Return the dtype in which a fused kernel stores its result.

    Under autocast to bfloat16 it is bfloat16. Otherwise it is the promoted dtype of the inputs. Autocast to float16
    does not change it, because a float16 sum could overflow.
    """
    kind = x.device.type
    if torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) == torch.bfloat16:
        return torch.bfloat16
    return torch.promote_types(x.dtype, out.dtype)


def _fits(x: Tensor, out: Tensor, weight: Tensor | None = None, bias: Tensor | None = None) -> bool:
    return fusable(x, out, weight, bias) and x.shape == out.shape and x.shape[-1] <= WIDEST

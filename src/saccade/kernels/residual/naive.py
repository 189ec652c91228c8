"""The residual connection around a sub-layer and its norm by definition: the reference for `fused.py`."""

import torch.nn.functional as F
from torch import Tensor

from saccade.kernels.dropout import dropout

__all__ = ["naive_layer_norm", "naive_residual", "naive_residual_norm"]


def naive_layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """Compute (x - mean) / √(variance + eps) · weight + bias, over the last axis."""
    return F.layer_norm(x, weight.shape, weight, bias, eps)


def naive_residual(x: Tensor, out: Tensor, p: float, training: bool) -> Tensor:
    """Compute x + Dropout(out), both (..., D)."""
    return x + dropout(out, p, training)


def naive_residual_norm(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, training: bool
) -> tuple[Tensor, Tensor]:
    """Compute x + Dropout(out), and its LayerNorm."""
    total = naive_residual(x, out, p, training)
    return total, naive_layer_norm(total, weight, bias, eps)

"""Softmax attention over inner products, one line an operation: what `sdpa.py` must agree with."""

import torch
from torch import Tensor

__all__ = ["naive_attention"]


def naive_attention(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None, scale: float = 1.0
) -> Tensor:
    """softmax(scale · q kᵀ) v, and zero for a query that sees nothing.

    query (..., T, D), keys (..., S, D), values (..., S, Dv), mask (..., T, S) -> (..., T, Dv)
    """
    scores = scale * (query @ keys.mT)
    if mask is None:
        return torch.softmax(scores, -1) @ values
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), -1)
    return (weights * mask) @ values

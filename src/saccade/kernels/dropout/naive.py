"""Dropout by one draw a number: what `bytewise.py` must agree with, in distribution."""

import torch
from torch import Tensor

__all__ = ["naive_dropout"]


def naive_dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Each number is zero with probability p, else x / (1 - p), so that the expected value is x."""
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    return x * torch.bernoulli(torch.full_like(x, 1 - p)) / (1 - p)

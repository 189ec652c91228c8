"""Sums of columns by definition: what `fused.py` must agree with."""

import torch
from torch import Tensor

__all__ = ["naive_column_sums", "naive_gate"]


def naive_column_sums(x: Tensor) -> Tensor:
    """(N, D) -> (D,): the sum of each column."""
    return x.sum(0)


def naive_gate(slope: Tensor, inner: Tensor) -> tuple[Tensor, Tensor]:
    """The slope behind a ReLU that gave `inner`, both (N, D), and its column sums (D,)."""
    gated = torch.where(inner <= 0, 0.0, slope)
    return gated, gated.sum(0)

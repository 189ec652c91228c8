"""Linear layers by definition: what `fused.py` must agree with."""

from torch import Tensor

__all__ = ["naive_linear"]


def naive_linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x weightᵀ + bias: x (..., D), weight (E, D), bias (E,) -> (..., E)."""
    out = x @ weight.mT
    return out if bias is None else out + bias

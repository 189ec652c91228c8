"""The feed-forward sub-layer by definition: what `fused.py` must agree with."""

from torch import Tensor

from saccade.kernels.linear.naive import naive_linear

__all__ = ["naive_feed_forward"]


def naive_feed_forward(x: Tensor, weight_1: Tensor, bias_1: Tensor, weight_2: Tensor, bias_2: Tensor) -> Tensor:
    """max(0, x W_1ᵀ + b_1) W_2ᵀ + b_2: x (..., D), W_1 (E, D), W_2 (D, E) -> (..., D)."""
    return naive_linear(naive_linear(x, weight_1, bias_1).relu(), weight_2, bias_2)

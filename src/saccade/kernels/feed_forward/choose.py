"""Choose the implementation of the feed-forward sub-layer."""

from __future__ import annotations

from torch import Tensor, nn

from saccade.kernels.linear import learns
from saccade.kernels.products import product_dtype

__all__ = ["feed_forward"]


def feed_forward(first: nn.Linear, between: nn.ReLU, second: nn.Linear, x: Tensor) -> Tensor:
    """Compute second(ReLU(first(x))): x (..., D) -> (..., D)."""
    if first.bias is None or not learns(x, first, second) or between._forward_hooks or between._forward_pre_hooks:
        out: Tensor = second(between(first(x)))
        return out
    from saccade.kernels.feed_forward.fused import fused_feed_forward

    dtype = product_dtype(x, first.weight)
    return fused_feed_forward(x, first.weight, first.bias, second.weight, second.bias, dtype)

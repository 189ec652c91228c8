"""Align: from scores to attention weights."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from saccade.attention.scores.base import AttentionState

__all__ = ["Align"]


class Align(nn.Module):
    """align(scores, mask) -> weights: how attention is distributed over the keys.

    scores (..., T, S), mask broadcastable to them, True = keep -> weights (..., T, S).

    A subclass implements `share`. It gets scores in float32 or wider, with the lowest finite number where the mask
    hides a key. `forward` then sets the weights of hidden keys to zero, so a query without visible keys gets zero
    weights and zero gradient.
    """

    fusable: ClassVar[bool] = False
    """Whether this is the softmax that fused kernels compute; an instance may override it."""
    sequential: ClassVar[bool] = False
    """Whether the weights of one query depend on those of the query before it (`past`)."""
    samples: ClassVar[bool] = False
    """Whether `choose` samples from the distribution."""
    positional: ClassVar[bool] = False
    """Whether the order of the keys matters."""
    sums_to_one: ClassVar[bool] = True
    """Whether the weights of a query with a visible key always sum to one."""

    def __init__(self, *, heads: int | None = None) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, scores: Tensor, mask: Tensor | None = None, past: AttentionState | None = None) -> Tensor:
        """Return the distribution over keys."""
        wide = scores.float() if scores.dtype.itemsize < 4 else scores
        if mask is None:
            return self.share(wide, past).to(scores.dtype)
        wide = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
        return self.share(wide, past).masked_fill(~mask, 0.0).to(scores.dtype)

    def share(self, scores: Tensor, past: AttentionState | None) -> Tensor:
        """Compute the distribution from scores, with hidden keys at the lowest number."""
        raise TypeError(f"{type(self).__name__} must implement share()")

    def choose(self, distribution: Tensor) -> Tensor:
        """Return the weights to use: the distribution itself, unless the align is hard."""
        return distribution

"""Align: from scores to weights."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from saccade.attention.scores.base import Past

__all__ = ["Align"]


class Align(nn.Module):
    """align(scores, mask) -> weights: how attention is shared out.

    scores (..., T, S), mask broadcastable to them, True = keep -> weights (..., T, S).

    A subclass writes `share`, which sees scores in float32 or wider with the smallest number where the mask
    hides a key. Whatever it answers there is cleared afterwards, so a query that sees nothing gets zeros, and
    zero gradient, whatever the rule.
    """

    fusable: ClassVar[bool] = False
    """Whether this is the softmax that fused kernels compute; an instance may say no."""
    sequential: ClassVar[bool] = False
    """Whether the weights of one query depend on those of the query before it (`past`)."""
    samples: ClassVar[bool] = False
    """Whether `choose` draws from the distribution."""
    positional: ClassVar[bool] = False
    """Whether the order of the keys matters."""
    sums_to_one: ClassVar[bool] = True
    """Whether a query that sees something always spends all its attention."""

    def __init__(self, *, heads: int | None = None) -> None:
        super().__init__()
        self.heads = heads

    def forward(self, scores: Tensor, mask: Tensor | None = None, past: Past | None = None) -> Tensor:
        """The distribution over keys."""
        wide = scores.float() if scores.dtype.itemsize < 4 else scores
        if mask is None:
            return self.share(wide, past).to(scores.dtype)
        wide = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
        return self.share(wide, past).masked_fill(~mask, 0.0).to(scores.dtype)

    def share(self, scores: Tensor, past: Past | None) -> Tensor:
        """The rule itself."""
        raise TypeError(f"{type(self).__name__} does not say how it shares attention: write share()")

    def choose(self, distribution: Tensor) -> Tensor:
        """The weights to use, given the distribution: all of it, unless the align is hard."""
        return distribution

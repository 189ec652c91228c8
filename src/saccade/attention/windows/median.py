"""A window around the median of the last attention."""

import torch
from torch import Tensor

from saccade.attention.scores.base import AttentionState
from saccade.attention.windows.base import KeyMask, Window, joined
from saccade.errors import ConfigError

__all__ = ["AroundMedian"]


class AroundMedian(Window):
    """Keys near the median of the weights of the step before.

        query t sees keys s with |s - m| ≤ D,   m the smallest s with Σ_{s' ≤ s} a[t-1, s'] ≥ ½ Σ a[t-1]

    The first query sees all keys.
    Paper: Chorowski et al. 2015, arXiv:1506.07503, section 2.3, for decoding; D = 50 frames in their code for WSJ.
    """

    sequential = True

    def __init__(self, query_width: int, *, radius: int = 50, heads: int | None = None) -> None:
        super().__init__(query_width, heads=heads)
        if radius < 1:
            raise ConfigError(f"radius is {radius}, but a window needs at least 1 key on each side.")
        self.radius = radius

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: AttentionState | None = None
    ) -> KeyMask:
        if past is None:
            return KeyMask(mask, None)
        shares = past.previous.cumsum(-1)
        median = (shares < shares[..., -1:] / 2).sum(-1, keepdim=True)  # (..., T, 1)
        near = (torch.arange(size, device=query.device) - median).abs() <= self.radius
        return KeyMask(joined(mask, near | (positions == 0)), None)

"""A window that only moves forward."""

import torch
from torch import Tensor

from saccade.attention.scores.base import AttentionState
from saccade.attention.windows.base import KeyMask, Window, joined

__all__ = ["ForwardOnly"]


class ForwardOnly(Window):
    """Hard monotonic window: keys before the peak of the last step are hidden.

        query t sees keys s ≥ argmax_s' a[t-1, s']

    Works with every score and align; the align 'monotonic' is the probabilistic form.
    """

    sequential = True

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: AttentionState | None = None
    ) -> KeyMask:
        if past is None:
            return KeyMask(mask, None)
        peak = past.previous.argmax(-1, keepdim=True)  # (..., T, 1); 0 before the first step, whose weights are uniform
        return KeyMask(joined(mask, torch.arange(size, device=query.device) >= peak), None)

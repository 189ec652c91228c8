"""A window that never looks back."""

import torch
from torch import Tensor

from saccade.attention.scores.base import Past
from saccade.attention.windows.base import View, Window, joined

__all__ = ["ForwardOnly"]


class ForwardOnly(Window):
    """Monotonic by force: no key before the peak of the last step can be seen again.

        query t sees keys s ≥ argmax_s' a[t-1, s']

    Works with every score and align; 'monotonic' among the aligns is the probabilistic form.
    """

    sequential = True

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: Past | None = None
    ) -> View:
        if past is None:
            return View(mask, None)
        peak = past.previous.argmax(-1, keepdim=True)  # (..., T, 1); 0 of the even spread before the first step
        return View(joined(mask, torch.arange(size, device=query.device) >= peak), None)

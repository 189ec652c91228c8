"""The definition of the mixture, in torch operations."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["naive_mixture"]


def naive_mixture(logits: Tensor, weights: Tensor, copies: Tensor) -> Tensor:
    """Return the log-probabilities (N, T, V + S) of words and copies.

        log(σ(g) · softmax(z)[y] + σ(-g) · Σ_s a[s] / Σ a over the source positions s with copies[s] = y)

    logits (N, T, V + 1): z, and g as the last one. weights (N, T, S): a. copies (B, S): the word of each source
    position, below V + S; N / B adjacent rows share them.
    """
    size = copies.shape[1]
    words, gate = logits.float().split([logits.shape[-1] - 1, 1], -1)
    weights = weights.float()
    weights = weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)
    places = copies.repeat_interleave(len(logits) // len(copies), 0)[:, None].expand_as(weights)
    written = torch.sigmoid(gate) * torch.softmax(words, -1)
    both = F.pad(written, (0, size)).scatter_add(-1, places, torch.sigmoid(-gate) * weights)
    return both.clamp_min(torch.finfo(both.dtype).tiny).log()

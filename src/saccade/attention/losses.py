"""Losses that read where a model looked."""

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["coverage_loss"]


def coverage_loss(weights: Tensor, mask: Tensor | None = None) -> Tensor:
    """The price of looking twice at the same place, per sentence.

        Σ_t Σ_s min(a[t, s], cov[t, s]),   cov[t] = Σ_{t' < t} a[t']

    weights (B, H, T, S) from a Tape, mask (B, T) of the real output steps -> (B,), the mean over heads.
    Paper: See et al. 2017, arXiv:1704.04368, equation 12. Works for any attention, with or without the
    coverage score.
    """
    if weights.dim() != 4:
        raise ShapeError(f"weights are {tuple(weights.shape)}, but must be (B, H, T, S), as a Tape has them.")
    coverage = weights.cumsum(2) - weights
    paid = torch.minimum(weights, coverage).sum(-1).mean(1)  # (B, T)
    return (paid if mask is None else paid * mask).sum(-1)

"""Choose the implementation of the mixture."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.dispatch import fusable
from saccade.kernels.mixture.naive import naive_mixture

__all__ = ["mixture"]


def mixture(logits: Tensor, weights: Tensor, copies: Tensor) -> Tensor:
    """Compute `naive_mixture`; on a GPU, for one step of a search, in one kernel."""
    learns = torch.is_grad_enabled() and (logits.requires_grad or weights.requires_grad)
    if learns or logits.shape[1] != 1 or not fusable(logits, weights):
        return naive_mixture(logits, weights, copies)
    from saccade.kernels.mixture.fused import mixed

    return mixed(logits[:, 0], weights[:, 0], copies)[:, None]

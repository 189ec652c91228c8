"""Cross-entropy of an output layer with all logits and the target distribution spelled out."""

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.kernels.cross_entropy.losses import Losses

__all__ = ["naive_cross_entropy", "naive_from_logits"]


def naive_from_logits(logits: Tensor, expected: Tensor, smoothing: float = 0.0, padding: int = 0) -> Losses:
    """-Σ_c target[c] · log softmax(logits)[c], summed over the rows that are not padding.

    logits (N, V), expected (N,) -> three scalars
    """
    classes = logits.shape[1]
    log_shares = torch.log_softmax(logits.float() if logits.dtype.itemsize < 4 else logits, -1)  # (N, V)
    uniform = torch.full_like(log_shares[0:1], 1 / max(classes - 1, 1))  # a lone class is padding: no row is left
    uniform[:, padding] = 0.0
    right = F.one_hot(expected, classes).to(log_shares.dtype)
    target = (1 - smoothing) * right + smoothing * uniform  # (N, V), rows sum to 1
    real = expected != padding
    smoothed = -torch.where(target > 0, target * log_shares, 0.0).sum(-1)  # 0 · log 0 is 0
    plain = -log_shares.gather(1, expected[:, None]).squeeze(1).detach()
    correct = -plain == log_shares.amax(-1)
    return Losses((smoothed * real).sum(), (plain * real).sum(), (correct & real).sum())


def naive_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    expected: Tensor,
    *,
    smoothing: float = 0.0,
    padding: int = 0,
) -> Losses:
    """The same on the logits `hidden weightᵀ + bias`: hidden (N, D), weight (V, D), bias (V,)."""
    return naive_from_logits(F.linear(hidden, weight, bias), expected, smoothing, padding)

"""Losses on attention weights."""

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["coverage_loss", "doubly_stochastic_loss", "guided_loss", "hop_loss"]


def coverage_loss(weights: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute the penalty for attending to the same position repeatedly, per sentence.

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


def guided_loss(weights: Tensor, gold: Tensor) -> Tensor:
    """Compute the cross-entropy of attention with a gold alignment, summed over the words that have one.

        - Σ_t Σ_s gold[t, s] log a[t, s]

    weights (B, T, S); gold (B, T, S), whose rows sum to 1, or to 0 for a word without a link -> a scalar.
    Paper: Chen et al. 2016, arXiv:1607.01628, equation 7. Differs: a sum over words, like the word loss.
    """
    if weights.shape != gold.shape:
        raise ShapeError(f"weights are {tuple(weights.shape)}, but the gold alignment is {tuple(gold.shape)}.")
    return -(gold * weights.clamp_min(1e-9).log()).sum()


def hop_loss(weights: Tensor, spans: Tensor) -> Tensor:
    """Compute how little attention each hop pays to its sentence, summed over hops and examples.

        - Σ_k log Σ_{s in span k} a[k, s]        the last span for hops beyond it

    weights (B, K, S); spans (B, E, 2), the first and last position of each sentence, -1 for padding -> a scalar. An
    example without spans counts 0.
    """
    last = (spans[..., 0] >= 0).sum(1, keepdim=True) - 1  # (B, 1)
    places = torch.arange(weights.shape[1], device=spans.device).minimum(last).clamp_min(0)  # (B, K)
    own = spans.gather(1, places[..., None].expand(-1, -1, 2))
    positions = torch.arange(weights.shape[2], device=spans.device)
    inside = (positions >= own[..., :1]) & (positions <= own[..., 1:])
    return -((weights * inside).sum(-1).clamp_min(1e-9).log() * (last >= 0)).sum()


def doubly_stochastic_loss(weights: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute how unevenly the source positions are attended to, per sentence.

        Σ_s (1 - Σ_t a[t, s])²

    weights (B, T, S); mask (B, T) of the real output steps -> (B,). A sum over positions, as in the paper; a
    mean would be weaker by the factor S.
    Paper: Xu et al. 2015, arXiv:1502.03044, equation 14.
    """
    if weights.dim() != 3:
        raise ShapeError(f"weights are {tuple(weights.shape)}, but must be (B, T, S): take the mean over heads first.")
    if mask is not None:
        weights = weights * mask[..., None]
    return (1 - weights.sum(1)).square().sum(-1)

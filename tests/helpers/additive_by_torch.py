"""Additive attention of few queries and its gradients, in torch's own functions: for any device and precision."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.additive.naive import naive_scores
from saccade.kernels.additive.parts import Gathered, Parts, Slopes

__all__ = ["attend", "gather", "slopes"]


def attend(parts: Parts) -> tuple[Tensor, Tensor, Tensor]:
    """Context, weights, and the weights in float32 or wider."""
    scores = _wide(naive_scores(parts.query, parts.keys, parts.v, parts.features, parts.matrix))
    if parts.mask is not None:
        scores = scores.masked_fill(~parts.mask, torch.finfo(scores.dtype).min)
    kept = scores.softmax(-1)
    if parts.mask is not None:
        kept = kept.masked_fill(~parts.mask, 0.0)
    weights = kept.to(parts.query.dtype)
    return weights @ parts.values.to(weights.dtype), weights, kept


def slopes(parts: Parts, kept: Tensor, to_context: Tensor, to_weights: Tensor | None) -> Slopes:
    """The gradients of the scores, the query and the features, from those of context and weights."""
    raw = _wide(to_context) @ _wide(parts.values).mT
    if to_weights is not None:
        raw = raw + to_weights
    raw = raw.masked_fill(kept == 0, 0.0)  # masked values may be anything
    to_scores = kept * (raw - (kept * raw).sum(-1, keepdim=True))
    inside = (1 - _inner(parts).square()) * to_scores.unsqueeze(-1) * _wide(parts.v)[..., None, None, :]
    to_features = None
    if parts.features is not None and parts.matrix is not None:
        to_features = (inside @ _wide(parts.matrix).unsqueeze(-3)).to(parts.features.dtype)
    return Slopes(to_scores, inside.sum(-2).to(parts.query.dtype), to_features)


def gather(parts: Parts, to_scores: Tensor) -> Gathered:
    """The gradients of the keys, v and the matrix from those of all scores, one query at a time."""
    v = _wide(parts.v)
    to_keys, to_v = torch.zeros_like(parts.keys, dtype=v.dtype), torch.zeros_like(v)
    to_matrix = None if parts.matrix is None else torch.zeros_like(parts.matrix, dtype=v.dtype)
    for t in range(parts.query.shape[-2]):
        features = None if parts.features is None else parts.features[..., t : t + 1, :, :]
        inner = _inner(parts._replace(query=parts.query[..., t : t + 1, :], features=features)).squeeze(-3)
        slope = to_scores[..., t, :, None]  # (B, [H,] S, 1)
        to_v += (slope * inner).sum((0, -2))
        inside = (1 - inner.square()) * slope * v.unsqueeze(-2)  # (B, [H,] S, A)
        to_keys += inside
        if features is not None and to_matrix is not None:
            to_matrix += (inside.mT @ _wide(features.squeeze(-3))).sum(0)
    return Gathered(to_keys.to(parts.keys.dtype), to_v, to_matrix)


def _inner(parts: Parts) -> Tensor:
    """The tanh itself, (B, [H,] T, S, A)."""
    inner = _wide(parts.query).unsqueeze(-2) + _wide(parts.keys).unsqueeze(-3)
    if parts.features is not None and parts.matrix is not None:
        inner = inner + _wide(parts.features) @ _wide(parts.matrix).mT.unsqueeze(-3)
    return inner.tanh()


def _wide(x: Tensor) -> Tensor:
    return x.float() if x.dtype.itemsize < 4 else x

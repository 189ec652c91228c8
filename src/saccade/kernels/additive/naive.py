"""Additive scores by their definition: what the other files must agree with."""

import torch
from torch import Tensor, tanh

__all__ = ["naive_attend", "naive_scores"]


def naive_scores(
    query: Tensor, keys: Tensor, v: Tensor, features: Tensor | None = None, matrix: Tensor | None = None
) -> Tensor:
    """scores[t, s] = v · tanh(query[t] + keys[s] + matrix features[t, s]).

    query (..., T, A) and keys (..., S, A), both projected; v (A,) or (H, A) for leading axes (B, H);
    features (..., T, S, C) with matrix (A, C) or (H, A, C), or neither
    -> (..., T, S), by way of (..., T, S, A).
    """
    inner = query.unsqueeze(-2) + keys.unsqueeze(-3)
    if features is not None and matrix is not None:
        turned = matrix.mT if matrix.dim() == 2 else matrix.mT.unsqueeze(-3)  # ([H, 1,] C, A)
        inner = inner + (features * turned if features.shape[-1] == 1 else features @ turned)
    column = v[:, None] if v.dim() == 1 else v[:, None, :, None]
    return (tanh(inner) @ column).squeeze(-1)


def naive_attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    features: Tensor | None = None,
    matrix: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Context (..., T, D) and weights (..., T, S): the softmax of the scores, and the values (..., S, D) summed by it.

    mask broadcasts to (..., T, S), True = keep; a query that sees nothing gets zeros.
    """
    scores = naive_scores(query, keys, v, features, matrix)
    wide = scores.float() if scores.dtype.itemsize < 4 else scores
    if mask is not None:
        wide = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
    weights = wide.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    weights = weights.to(scores.dtype)
    return weights @ values, weights

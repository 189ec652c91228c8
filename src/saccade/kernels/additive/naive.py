"""Additive scores by their definition: what the other files must agree with."""

from torch import Tensor, tanh

__all__ = ["naive_scores"]


def naive_scores(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """scores[t, s] = v · tanh(query[t] + keys[s]).

    query (..., T, A) and keys (..., S, A), both projected; v (A,) or (H, A) for leading axes (B, H)
    -> (..., T, S), by way of (..., T, S, A).
    """
    inner = tanh(query.unsqueeze(-2) + keys.unsqueeze(-3))
    column = v[:, None] if v.dim() == 1 else v[:, None, :, None]
    return (inner @ column).squeeze(-1)

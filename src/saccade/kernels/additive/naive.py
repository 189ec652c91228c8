"""Additive scores by definition: the reference for the other files."""

from torch import Tensor, tanh

__all__ = ["naive_scores"]


def naive_scores(
    query: Tensor, keys: Tensor, v: Tensor, features: Tensor | None = None, matrix: Tensor | None = None
) -> Tensor:
    """Compute scores[t, s] = v · tanh(query[t] + keys[s] + matrix features[t, s]).

    query (..., T, A) and keys (..., S, A), both projected; v (A,) or (H, A) for leading axes (B, H);
    features (..., T, S, C) with matrix (A, C) or (H, A, C), or neither
    -> (..., T, S), with an intermediate tensor (..., T, S, A).
    """
    inner = query.unsqueeze(-2) + keys.unsqueeze(-3)
    if features is not None and matrix is not None:
        turned = matrix.mT if matrix.dim() == 2 else matrix.mT.unsqueeze(-3)  # ([H, 1,] C, A)
        inner = inner + (features * turned if features.shape[-1] == 1 else features @ turned)
    column = v[:, None] if v.dim() == 1 else v[:, None, :, None]
    return (tanh(inner) @ column).squeeze(-1)

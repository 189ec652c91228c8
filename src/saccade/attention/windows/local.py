"""Luong's local attention: a few keys around one position."""

import torch
from torch import Tensor

from saccade.attention.scores.base import AttentionState, matrix
from saccade.attention.windows.base import KeyMask, Window, joined
from saccade.errors import ConfigError

__all__ = ["LocalMonotonic", "LocalPredictive"]


class LocalMonotonic(Window):
    """local-m: assumes that source and target are aligned position by position.

        query t sees keys t - D .. t + D

    A query more than D beyond the last key sees no key.
    Paper: Luong et al. 2015, arXiv:1508.04025, section 3.2; D = 10 there.
    """

    def __init__(self, query_width: int, *, radius: int = 10, heads: int | None = None) -> None:
        super().__init__(query_width, heads=heads)
        self.radius = _checked(radius)

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: AttentionState | None = None
    ) -> KeyMask:
        places = torch.arange(size, device=query.device)
        return KeyMask(joined(mask, (places - positions).abs() <= self.radius), None)


class LocalPredictive(Window):
    """local-p: the query predicts a center, and keys count less with their distance from it.

        p[t] = S · σ(v · tanh(W q[t])),   query t sees keys within D of p[t]
        a[t, s] = align(e)[t, s] · exp(-(s - p[t])² / 2σ²),   σ = D / 2

    W (Dq, Dq), v (Dq,); S is the number of keys of the query's sentence. The weights are not renormalized.
    Paper: Luong et al. 2015, arXiv:1508.04025, section 3.2; D = 10 there.
    """

    keeps_sum = False

    def __init__(self, query_width: int, *, radius: int = 10, heads: int | None = None) -> None:
        super().__init__(query_width, heads=heads)
        self.radius = _checked(radius)
        self.weight = matrix(heads, query_width, query_width)
        self.v = matrix(heads, 1, query_width)

    def centre(self, query: Tensor, size: int, mask: Tensor | None) -> Tensor:
        """Return p (..., T, 1), the center that each query predicts."""
        count = size if mask is None else mask.sum(-1, keepdim=True)
        logit = torch.tanh(query @ self.weight.mT) @ self.v.mT
        wide = logit.float() if logit.dtype.itemsize < 4 else logit  # half precision rounds large integers
        return count * torch.sigmoid(wide)

    def forward(
        self, query: Tensor, size: int, mask: Tensor | None, positions: Tensor, past: AttentionState | None = None
    ) -> KeyMask:
        distance = torch.arange(size, device=query.device) - self.centre(query, size, mask)  # (..., T, S)
        gain = torch.exp(-2 * (distance / self.radius) ** 2)  # 2σ² = D²/2
        return KeyMask(joined(mask, distance.abs() <= self.radius), gain.to(query.dtype))


def _checked(radius: int) -> int:
    if radius < 1:
        raise ConfigError(f"radius is {radius}, but a window needs at least 1 key on each side.")
    return radius

"""Scores that compare query and key by a small network."""

import torch
from torch import Tensor, nn

from saccade.attention.scores.base import Past, Score, matrix
from saccade.kernels.additive import additive_scores

__all__ = ["Additive", "Concat", "Coverage"]


class Additive(Score):
    """Additive score: a one-layer network compares query and key.

        e[t, s] = v · tanh(W q[t] + U k[s] + b)

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   W (A, Dq), U (A, Dk), v (A,), b (A,)
    Paper: Bahdanau et al. 2015, arXiv:1409.0473, appendix A.1.2; b is left out there (`bias=False`).
    Cost: B·T·S·A tanh, never all in memory (`kernels/additive`); U k is done once in `prepare`.
    """

    def __init__(
        self,
        query_width: int,
        key_width: int,
        *,
        width: int | None = None,
        bias: bool = False,
        heads: int | None = None,
    ) -> None:
        super().__init__(query_width, key_width, heads=heads)
        self.width = query_width if width is None else width
        self.query_weight = matrix(heads, self.width, query_width)
        self.key_weight = matrix(heads, self.width, key_width)
        self.v = matrix(heads, 1, self.width)
        lead = () if heads is None else (heads, 1)
        self.bias = nn.Parameter(torch.zeros(*lead, self.width)) if bias else None

    @property
    def prepared_width(self) -> int:
        return self.width

    def prepare(self, keys: Tensor) -> Tensor:
        prepared = keys @ self.key_weight.mT
        return prepared if self.bias is None else prepared + self.bias

    def forward(self, query: Tensor, keys: Tensor, past: Past | None = None) -> Tensor:
        asked = query @ self.query_weight.mT
        if past is None or not self.sequential:
            return additive_scores(asked, keys, self.v.squeeze(-2).to(asked.dtype))
        inner = asked.unsqueeze(-2) + keys.unsqueeze(-3) + self.recall(past)  # (..., T, S, A)
        v = self.v if self.heads is None else self.v.unsqueeze(-3)  # (H, 1, 1, A)
        return (torch.tanh(inner) @ v.mT).squeeze(-1)  # (..., T, S)

    def recall(self, past: Past) -> Tensor | float:
        """A further term inside the tanh, (..., T, S, A), from what was attended to before."""
        return 0.0


class Concat(Additive):
    """Luong's concat score: one matrix over query and key side by side.

        e[t, s] = v · tanh(W [q[t] ; k[s]])

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   W (A, Dq + Dk), v (A,)
    Paper: Luong et al. 2015, arXiv:1508.04025, "concat". W [q; k] = W_q q + W_k k, so this is the additive
    score by another name, kept as the two column blocks of W. Differs: the authors' own program fixed
    W_k to the identity, which is why their concat did badly; `identity_keys=True` does as they did.
    """

    def __init__(
        self,
        query_width: int,
        key_width: int,
        *,
        width: int | None = None,
        identity_keys: bool = False,
        heads: int | None = None,
    ) -> None:
        width = key_width if identity_keys else width
        super().__init__(query_width, key_width, width=width, heads=heads)
        if identity_keys:
            eye = torch.eye(key_width).expand(self.key_weight.shape).clone()
            self.key_weight = nn.Parameter(eye, requires_grad=False)


class Coverage(Additive):
    """Additive score that knows how much attention each key has had.

        e[t, s] = v · tanh(W q[t] + U k[s] + w cov[t, s] + b),   cov[t] = Σ_{t' < t} weights[t']

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   w (A,), the rest as in Additive
    Paper: See et al. 2017, arXiv:1704.04368, equations 10 and 11. Its loss is `coverage_loss`.
    """

    sequential = True

    def __init__(
        self,
        query_width: int,
        key_width: int,
        *,
        width: int | None = None,
        bias: bool = True,
        heads: int | None = None,
    ) -> None:
        super().__init__(query_width, key_width, width=width, bias=bias, heads=heads)
        self.coverage_weight = matrix(heads, 1, self.width)

    def recall(self, past: Past) -> Tensor:
        weight = self.coverage_weight if self.heads is None else self.coverage_weight.unsqueeze(-3)
        return past.total.unsqueeze(-1) * weight  # (..., T, S, A)

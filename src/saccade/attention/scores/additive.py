"""Scores that compare query and key with a small network."""

import torch
from torch import Tensor, nn

from saccade.attention.scores.base import AttentionState, Score, matrix
from saccade.kernels.additive import (
    additive_attend,
    additive_collect,
    additive_scores,
    attends_at_once,
    collected_matrix,
)
from saccade.kernels.additive.naive import naive_scores

__all__ = ["Additive", "Concat", "Coverage"]


class Additive(Score):
    """Additive score: a one-layer network compares query and key.

        e[t, s] = v · tanh(W q[t] + U k[s] + b)

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   W (A, Dq), U (A, Dk), v (A,), b (A,)
    Paper: Bahdanau et al. 2015, arXiv:1409.0473, appendix A.1.2; b is left out there (`bias=False`).
    Cost: B·T·S·A tanh, never all in memory (`kernels/additive`); U k is computed once in `prepare`.
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
        return prepared if self.bias is None else prepared + self.bias.to(prepared.dtype)  # differs under autocast

    def forward(self, query: Tensor, keys: Tensor, past: AttentionState | None = None) -> Tensor:
        projected, features = self._project_query(query, past)
        v = self.v.squeeze(-2).to(projected.dtype)
        if features is None:
            return additive_scores(projected, keys, v)
        return naive_scores(projected, keys, v, features, self.feature_weight())

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, past: AttentionState | None
    ) -> tuple[Tensor, Tensor] | None:
        if not attends_at_once(query.shape[-2], keys, values):
            return None
        (projected, features), v = self._project_query(query, past), self.v.squeeze(-2)
        matrix = None if features is None else collected_matrix(keys, values, v)
        if features is not None and matrix is None:
            matrix = self.feature_weight()
        return additive_attend(projected, keys, values, v, mask, features, matrix)

    def collect(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return additive_collect(keys, values, self.v.squeeze(-2), self.feature_weight())

    def features(self, past: AttentionState) -> Tensor | None:
        """Return further features of the keys, (..., T, S, C), computed from earlier attention, or None."""
        return None

    def feature_weight(self) -> Tensor | None:
        """Return the weight ([H,] A, C) that projects the features to the width of the tanh, or None."""
        return None

    def _project_query(self, query: Tensor, past: AttentionState | None) -> tuple[Tensor, Tensor | None]:
        """Return what is added to the keys inside the tanh: the projected query and the features."""
        return query @ self.query_weight.mT, None if past is None else self.features(past)


class Concat(Additive):
    """Luong's concat score: one matrix over query and key side by side.

        e[t, s] = v · tanh(W [q[t] ; k[s]])

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   W (A, Dq + Dk), v (A,)
    Paper: Luong et al. 2015, arXiv:1508.04025, "concat". W [q; k] = W_q q + W_k k, so this is the additive
    score with W stored as two column blocks. Differs: the authors' own code fixed W_k to the identity, which is why
    their concat did badly; `identity_keys=True` does the same.
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
    """Additive score that also reads how much attention each key has received.

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

    def features(self, past: AttentionState) -> Tensor:
        return past.total.unsqueeze(-1)

    def feature_weight(self) -> Tensor:
        return self.coverage_weight.mT

"""Scores that compare query and key by a small network."""

import torch
from torch import Tensor, nn

from saccade.attention.scores.base import Past, Score, matrix
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
        return prepared if self.bias is None else prepared + self.bias.to(prepared.dtype)  # as autocast has it

    def forward(self, query: Tensor, keys: Tensor, past: Past | None = None) -> Tensor:
        asked, features = self._ask(query, past)
        v = self.v.squeeze(-2).to(asked.dtype)
        if features is None:
            return additive_scores(asked, keys, v)
        return naive_scores(asked, keys, v, features, self.feature_weight())

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, past: Past | None
    ) -> tuple[Tensor, Tensor] | None:
        if not attends_at_once(query.shape[-2], keys, values):
            return None
        (asked, features), v = self._ask(query, past), self.v.squeeze(-2)
        matrix = None if features is None else collected_matrix(keys, values, v)
        if features is not None and matrix is None:
            matrix = self.feature_weight()
        return additive_attend(asked, keys, values, v, mask, features, matrix)

    def collect(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        return additive_collect(keys, values, self.v.squeeze(-2), self.feature_weight())

    def features(self, past: Past) -> Tensor | None:
        """What a key is seen by beside itself, (..., T, S, C), from what was attended to before."""
        return None

    def feature_weight(self) -> Tensor | None:
        """What brings the features to the width of the tanh, ([H,] A, C)."""
        return None

    def _ask(self, query: Tensor, past: Past | None) -> tuple[Tensor, Tensor | None]:
        """What stands inside the tanh beside the keys: the projected query and features."""
        return query @ self.query_weight.mT, None if past is None else self.features(past)


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

    def features(self, past: Past) -> Tensor:
        return past.total.unsqueeze(-1)

    def feature_weight(self) -> Tensor:
        return self.coverage_weight.mT

"""Inner-product scores without parameters."""

import math

from torch import Tensor

from saccade.attention.scores.base import Dot, Score

__all__ = ["DotScore", "ScaledDot"]


class DotScore(Score):
    """Inner product: a score without parameters.

        e[t, s] = q[t] · k[s]

    q (B, T, D), k (B, S, D) -> e (B, T, S).
    Paper: Luong et al. 2015, arXiv:1508.04025, "dot".
    """

    def __init__(self, query_width: int, key_width: int, *, heads: int | None = None) -> None:
        super().__init__(query_width, key_width, heads=heads)
        self._same_width()

    def as_dot(self, query: Tensor, keys: Tensor) -> Dot:
        return Dot(query, keys, 1.0)


class ScaledDot(DotScore):
    """Inner product divided by the square root of the width, so that wide vectors do not saturate the softmax.

        e[t, s] = q[t] · k[s] / √D

    q (B, T, D), k (B, S, D) -> e (B, T, S).
    Paper: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
    """

    def as_dot(self, query: Tensor, keys: Tensor) -> Dot:
        return Dot(query, keys, 1 / math.sqrt(self.query_width))

"""The inner product of projected query and key."""

import math

from torch import Tensor

from saccade.attention.scores.base import Dot, Score, matrix

__all__ = ["ProjectedDot"]


class ProjectedDot(Score):
    """Inner product of a projected query and a projected key.

        e[t, s] = (W_Q q[t]) · (W_K k[s])            divided by √A if scaled

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   W_Q (A, Dq), W_K (A, Dk)
    The second of three steps from self-attention without projections to query, key and value projections.
    """

    def __init__(
        self,
        query_width: int,
        key_width: int,
        *,
        width: int | None = None,
        scaled: bool = False,
        heads: int | None = None,
    ) -> None:
        super().__init__(query_width, key_width, heads=heads)
        self.width = query_width if width is None else width
        self.scale = 1 / math.sqrt(self.width) if scaled else 1.0
        self.query_weight = matrix(heads, self.width, query_width)
        self.key_weight = matrix(heads, self.width, key_width)

    @property
    def prepared_width(self) -> int:
        return self.width

    def prepare(self, keys: Tensor) -> Tensor:
        return keys @ self.key_weight.mT

    def as_dot(self, query: Tensor, keys: Tensor) -> Dot:
        return Dot(query @ self.query_weight.mT, keys, self.scale)

"""The bilinear score."""

from torch import Tensor

from saccade.attention.scores.base import Dot, Score, matrix

__all__ = ["General"]


class General(Score):
    """Bilinear score: a learned matrix between query and key.

        e[t, s] = q[t] · W k[s]

    q (B, T, Dq), k (B, S, Dk) -> e (B, T, S).   W (Dq, Dk)
    Paper: Luong et al. 2015, arXiv:1508.04025, "general".
    Cost: W is applied to the keys once in `prepare`.
    """

    def __init__(self, query_width: int, key_width: int, *, heads: int | None = None) -> None:
        super().__init__(query_width, key_width, heads=heads)
        self.weight = matrix(heads, query_width, key_width)

    @property
    def prepared_width(self) -> int:
        return self.query_width

    def prepare(self, keys: Tensor) -> Tensor:
        return keys @ self.weight.mT

    def as_dot(self, query: Tensor, keys: Tensor) -> Dot:
        return Dot(query, keys, 1.0)

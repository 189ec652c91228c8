"""Score: how well a key answers a query."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from saccade import tree
from saccade.errors import ConfigError, ShapeError
from saccade.kernels.dot import few_collect

__all__ = ["Dot", "Past", "Score", "matrix"]


@tree.node
class Past:
    """What one attention did in the steps before: all that a sequential part may look at.

    previous (N, [H,] 1, S): the weights of the last one that saw anything, before it an even spread over what
    the first query can see. total (N, [H,] 1, S): the sum of the weights of all of them.
    """

    previous: Tensor
    total: Tensor


class Dot(NamedTuple):
    """A score written as `scale · query @ keysᵀ`."""

    query: Tensor
    keys: Tensor
    scale: float


class Score(nn.Module):
    """score(query, keys) -> scores: how well each key answers each query.

    query (..., T, Dq), keys (..., S, Dk) -> scores (..., T, S). Leading axes broadcast, so heads are just
    one more: built with `heads`, a score keeps parameters for each and takes (B, H, T, Dq), (B, H, S, Dk).

    A score that is an inner product writes `as_dot` and gets its forward and the fused path from it; others
    write `forward`. `prepare` does the half that needs no query, once per source; it works position by
    position, so that a growing tape of keys can be prepared piece by piece.
    """

    sequential: ClassVar[bool] = False
    """Whether the scores of one query depend on the weights of the query before it (`past`)."""
    positional: ClassVar[bool] = False
    """Whether the order of the keys matters."""

    def __init__(self, query_width: int, key_width: int, *, heads: int | None = None) -> None:
        super().__init__()
        self.query_width, self.key_width, self.heads = query_width, key_width, heads

    @property
    def prepared_width(self) -> int:
        """The width of a prepared key."""
        return self.key_width

    def prepare(self, keys: Tensor) -> Tensor:
        """The half of the work that needs no query: (..., S, Dk) -> (..., S, prepared_width)."""
        return keys

    def as_dot(self, query: Tensor, keys: Tensor) -> Dot | None:
        """The score as an inner product, or None where it is not one. `keys` are prepared."""
        return None

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, past: Past | None
    ) -> tuple[Tensor, Tensor] | None:
        """Context and weights by plain softmax where a kernel does it all at once, else None.

        values (..., S, Dv), mask broadcastable to (..., T, S) -> (..., T, Dv), (..., T, S).
        """
        return None

    def collect(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """The same prepared keys and values, made ready to be attended to many times."""
        return (keys, values) if type(self).as_dot is Score.as_dot else few_collect(keys, values)

    def forward(self, query: Tensor, keys: Tensor, past: Past | None = None) -> Tensor:
        """Scores (..., T, S) of prepared keys."""
        dot = self.as_dot(query, keys)
        if dot is None:
            raise TypeError(f"{type(self).__name__} does not say how it scores: write as_dot() or forward()")
        return dot.scale * (dot.query @ dot.keys.mT)

    def extra_repr(self) -> str:
        heads = "" if self.heads is None else f", heads={self.heads}"
        return f"query={self.query_width}, keys={self.key_width}{heads}"

    def _same_width(self) -> None:
        if self.query_width != self.key_width:
            raise ShapeError(
                f"{type(self).__name__} compares entry by entry, but queries are {self.query_width} wide and "
                f"keys {self.key_width}. Make them equal, or use 'general', 'projected-dot' or 'additive'."
            )


def matrix(heads: int | None, rows: int, columns: int) -> nn.Parameter:
    """A weight matrix (rows, columns), one per head where there are heads, with torch's usual spread."""
    if rows < 1 or columns < 1:
        raise ConfigError(f"a weight matrix of {rows} by {columns} cannot be: widths and sizes are at least 1.")
    bound = 1 / math.sqrt(columns)
    shape = (rows, columns) if heads is None else (heads, rows, columns)
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

"""Score: how well a key matches a query."""

from __future__ import annotations

import math
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.errors import ConfigError, ShapeError
from saccade.kernels.dot import few_collect

__all__ = ["AttentionState", "Dot", "Score", "matrix"]


@pytree.node
class AttentionState:
    """Weights of an attention's earlier steps: all that a sequential part may depend on.

    previous (N, [H,] 1, S): the weights of the last step with a visible key; before the first such step, uniform
    over the keys visible to the first query. total (N, [H,] 1, S): the sum of the weights of all steps.
    """

    previous: Tensor
    total: Tensor


class Dot(NamedTuple):
    """A score written as `scale · query @ keysᵀ`."""

    query: Tensor
    keys: Tensor
    scale: float


class Score(nn.Module):
    """score(query, keys) -> scores: how well each key matches each query.

    query (..., T, Dq), keys (..., S, Dk) -> scores (..., T, S). Leading axes broadcast, so heads are just
    one more: a score built with `heads` has parameters for each head and takes (B, H, T, Dq), (B, H, S, Dk).

    A score that is an inner product implements `as_dot`, which gives it `forward` and the fused path; others
    implement `forward`. `prepare` does the work that needs no query, once per source. It treats each position alone,
    so that a growing cache of keys can be prepared step by step.
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
        """Do the work that needs no query: keys (..., S, Dk) -> (..., S, prepared_width)."""
        return keys

    def as_dot(self, query: Tensor, keys: Tensor) -> Dot | None:
        """Return the score as an inner product with prepared keys, or None if it is not one."""
        return None

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, past: AttentionState | None
    ) -> tuple[Tensor, Tensor] | None:
        """Return context and softmax weights if one kernel computes both, else None.

        values (..., S, Dv), mask broadcastable to (..., T, S) -> (..., T, Dv), (..., T, S).
        """
        return None

    def collect(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same keys and values; kernels for loops sum the gradients of all steps at the end."""
        return (keys, values) if type(self).as_dot is Score.as_dot else few_collect(keys, values)

    def forward(self, query: Tensor, keys: Tensor, past: AttentionState | None = None) -> Tensor:
        """Return scores (..., T, S) of prepared keys."""
        dot = self.as_dot(query, keys)
        if dot is None:
            raise TypeError(f"{type(self).__name__} must implement as_dot() or forward()")
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
    """Create a weight matrix (rows, columns), one per head if there are heads, initialized like nn.Linear."""
    if rows < 1 or columns < 1:
        raise ConfigError(f"a weight matrix cannot be {rows} by {columns}: widths and sizes are at least 1.")
    bound = 1 / math.sqrt(columns)
    shape = (rows, columns) if heads is None else (heads, rows, columns)
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

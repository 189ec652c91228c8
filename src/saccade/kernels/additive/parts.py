"""What additive attention is made of, and what it gives back in pieces."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor

__all__ = ["Gathered", "Parts", "Slopes", "Way"]


class Parts(NamedTuple):
    """query (B, [H,] T, A), keys (B, [H,] S, A), values (B, [H,] S, D), v ([H,] A), a mask that broadcasts to
    (B, [H,] T, S) or None, features (B, [H,] T, S, C) and their matrix ([H,] A, C), or neither: tanh(q + k + U f).
    """

    query: Tensor
    keys: Tensor
    values: Tensor
    v: Tensor
    mask: Tensor | None = None
    features: Tensor | None = None
    matrix: Tensor | None = None


class Slopes(NamedTuple):
    """The gradients that belong to one call: scores (B, [H,] T, S) in float32 or wider, query, features."""

    scores: Tensor
    query: Tensor
    features: Tensor | None


class Gathered(NamedTuple):
    """The gradients that are sums over all calls: keys, v, matrix; these two in float32 or wider."""

    keys: Tensor
    v: Tensor | None
    matrix: Tensor | None


class Way(Protocol):
    """How the work is done: a module with these three functions."""

    def attend(self, parts: Parts) -> tuple[Tensor, Tensor, Tensor]:
        """Context (B, [H,] T, D), weights (B, [H,] T, S) in the query's precision, and in float32 or wider."""

    def slopes(self, parts: Parts, kept: Tensor, to_context: Tensor, to_weights: Tensor | None) -> Slopes:
        """The gradients of one call, from its weights and from those of its context and weights."""

    def gather(self, parts: Parts, to_scores: Tensor) -> Gathered:
        """The gradients of what all calls share, from those of all their scores."""

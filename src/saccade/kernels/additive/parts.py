"""The inputs and gradients of additive attention, and the interface of its implementations."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from torch import Tensor

__all__ = ["Gathered", "Parts", "Slopes", "Way"]


class Parts(NamedTuple):
    """The inputs of one call: scores are v · tanh(q + k + U f), with features f and their matrix U, or neither.

    query (B, [H,] T, A), keys (B, [H,] S, A), values (B, [H,] S, D), v ([H,] A), a mask that broadcasts to
    (B, [H,] T, S) or None, features (B, [H,] T, S, C) and their matrix ([H,] A, C).
    """

    query: Tensor
    keys: Tensor
    values: Tensor
    v: Tensor
    mask: Tensor | None = None
    features: Tensor | None = None
    matrix: Tensor | None = None


class Slopes(NamedTuple):
    """The gradients of one call: scores (B, [H,] T, S) in float32 or wider, query, features."""

    scores: Tensor
    query: Tensor
    features: Tensor | None


class Gathered(NamedTuple):
    """The gradients summed over all calls: keys; v and matrix in float32 or wider."""

    keys: Tensor
    v: Tensor | None
    matrix: Tensor | None


class Way(Protocol):
    """An implementation: a module or object with these three functions."""

    def attend(self, parts: Parts) -> tuple[Tensor, Tensor, Tensor]:
        """Return context (B, [H,] T, D), weights (B, [H,] T, S) in the query's dtype, and in float32 or wider."""

    def slopes(self, parts: Parts, kept: Tensor, to_context: Tensor, to_weights: Tensor | None) -> Slopes:
        """Return the gradients of one call from its weights `kept` and the gradients of its context and weights."""

    def gather(self, parts: Parts, to_scores: Tensor) -> Gathered:
        """Return the gradients of the inputs that all calls share, from the gradients of all scores."""

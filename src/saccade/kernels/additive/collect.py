"""Additive attention that a loop asks again and again, with the gradients of what it reads summed up once.

A decoder asks the same keys and values at every step. Autograd would make a gradient as large as all of them for each
step and add it up. But those sums have a better form, in which the keys are read once while the queries of all steps
go by, and the values' is a product of two matrices:

    ∂keys[s] = Σ_t slope[t, s] · v · (1 - tanh²(q[t] + k[s]))        ∂values[s] = Σ_t weight[t, s] · ∂context[t]

So `collect` puts a node between the keys and whoever asks them. A step gives its query the gradient at once and leaves
a line in the node's ledger; autograd comes to the node after the last of the steps, and there the sums are made. Keys
that also go another way get that gradient as well, so that nothing has to know who asks how.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.additive.parts import Parts, Way

__all__ = ["attend", "collect", "collected_matrix"]


class Line(NamedTuple):
    """What a step leaves for the sums: query, features, weights, the gradients of scores and context."""

    query: Tensor
    features: Tensor | None
    kept: Tensor
    to_scores: Tensor
    to_context: Tensor | None


class Ledger:
    """The lines of one backward pass; what a pass that never came to the sums left behind is forgotten."""

    def __init__(self, v: Tensor, matrix: Tensor | None) -> None:
        self.place = v.data_ptr()  # whose parameters get the sums
        self.matrix = matrix
        self._lines: list[tuple[int, Line]] = []

    def write(self, line: Line) -> None:
        self._lines.append((_this_pass(), line))

    def take(self) -> list[Line]:
        lines = [line for when, line in self._lines if when == _this_pass()]
        self._lines.clear()
        return lines


def _this_pass() -> int:
    return torch._C._current_graph_task_id()


def collect(way: Way, keys: Tensor, values: Tensor, v: Tensor, matrix: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The same keys and values, for a loop that asks them with this v and this matrix; shapes as for `attend`."""
    parts = (keys, values, v, matrix)
    if not torch.is_grad_enabled() or not any(part is not None and part.requires_grad for part in parts):
        return keys, values
    collected: tuple[Tensor, Tensor] = _Collect.apply(way, Ledger(v, matrix), *parts)  # type: ignore[no-untyped-call]
    return collected


def attend(way: Way, parts: Parts) -> tuple[Tensor, Tensor]:
    """Context (B, [H,] T, D) and weights (B, [H,] T, S); keys and values as they are, or as `collect` gave them."""
    query, keys, values, v, mask, features, matrix = parts
    found: tuple[Tensor, Tensor] = _Attend.apply(  # type: ignore[no-untyped-call]
        way, _ledger(keys, values, v), mask, query, keys, values, v, features, matrix
    )
    return found


def collected_matrix(keys: Tensor, values: Tensor, v: Tensor) -> Tensor | None:
    """The matrix that `collect` was given with these, so that no step has to make it again."""
    ledger = _ledger(keys, values, v)
    return None if ledger is None else ledger.matrix


def _ledger(keys: Tensor, values: Tensor, v: Tensor) -> Ledger | None:
    ledger: Ledger | None = getattr(keys.grad_fn, "ledger", None)
    whole = ledger is not None and values.grad_fn is keys.grad_fn and ledger.place == v.data_ptr()
    return ledger if whole else None


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, way: Way, ledger: Ledger, keys: Tensor, values: Tensor, v: Tensor, matrix: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        ctx.way, ctx.ledger = way, ledger
        ctx.save_for_backward(keys, values, v, matrix)
        ctx.set_materialize_grads(False)
        return keys.view_as(keys), values.view_as(values)

    @staticmethod
    def backward(ctx: Any, to_keys: Tensor | None, to_values: Tensor | None) -> tuple[Tensor | None, ...]:
        lines = ctx.ledger.take()
        if not lines:  # everybody went another way, which may well have a second derivative
            return None, None, to_keys, to_values, None, None
        keys, values, v, matrix = _sums((ctx.way, lines), *ctx.saved_tensors)
        return None, None, _both(to_keys, keys), _both(to_values, values), v, matrix


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, way: Way, ledger: Ledger | None, mask: Tensor | None, *rest: Any) -> tuple[Tensor, Tensor]:
        query, keys, values, v, features, matrix = rest
        context, weights, kept = way.attend(Parts(query, keys, values, v, mask, features, matrix))
        ctx.way, ctx.ledger = way, ledger
        ctx.save_for_backward(*rest, kept)
        ctx.set_materialize_grads(False)
        return context, weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_context: Tensor | None, to_weights: Tensor | None) -> tuple[Tensor | None, ...]:
        query, keys, values, v, features, matrix, kept = ctx.saved_tensors
        if to_context is None and to_weights is None:
            return (None,) * 9
        given = query.new_zeros(*query.shape[:-1], values.shape[-1]) if to_context is None else to_context
        slopes = ctx.way.slopes(Parts(query, keys, values, v, None, features, matrix), kept, given, to_weights)
        apart = None if features is None else features.detach()  # or the ledger would hold its own graph
        line = Line(query.detach(), apart, kept.detach(), slopes.scores, to_context)
        shared: tuple[Tensor | None, ...] = (None, None, None, None)
        if ctx.ledger is not None:
            ctx.ledger.write(line)  # v and the matrix get theirs from there as well
        elif any(ctx.needs_input_grad[i] for i in (4, 5, 6, 8)):
            shared = _sums((ctx.way, [line]), keys, values, v, matrix)
        to_keys, to_values, to_v, to_matrix = shared
        return None, None, None, slopes.query, to_keys, to_values, to_v, slopes.features, to_matrix


@once_differentiable
def _sums(
    found: tuple[Way, list[Line]], keys: Tensor, values: Tensor, v: Tensor, matrix: Tensor | None
) -> tuple[Tensor | None, ...]:
    """The gradients of keys, values, v and matrix, each in its precision."""
    way, lines = found
    sums: list[Tensor | None] = [None] * 4
    for group in ([x for x in lines if x.features is not None], [x for x in lines if x.features is None]):
        if group:
            more = _sum(way, group, Parts(group[0].query, keys, values, v, None, None, matrix))
            sums = [_both(one, other) for one, other in zip(sums, more, strict=True)]
    pairs = zip(sums, (keys, values, v, matrix), strict=True)
    return tuple(None if x is None or like is None else x.to(like.dtype) for x, like in pairs)


def _sum(way: Way, lines: list[Line], parts: Parts) -> tuple[Tensor | None, ...]:
    """The same for lines that all have features, or all have none."""
    features = [line.features for line in lines if line.features is not None]
    parts = parts._replace(
        query=torch.cat([line.query for line in lines], -2),
        features=torch.cat(features, -3) if features else None,
        matrix=parts.matrix if features else None,
    )
    gathered = way.gather(parts, torch.cat([line.to_scores for line in lines], -2))
    contexts = [(line.kept, line.to_context) for line in lines if line.to_context is not None]
    to_values = None
    if contexts:
        slope = torch.cat([to_context for _, to_context in contexts], -2)  # (B, [H,] T, D)
        kept = torch.cat([kept for kept, _ in contexts], -2)  # (B, [H,] T, S)
        to_values = kept.to(slope.dtype).mT @ slope
    return gathered.keys, to_values, gathered.v, gathered.matrix


def _both(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other

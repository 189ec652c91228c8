"""Additive attention in a decoder loop, with the gradients of keys and values summed once for all steps.

A decoder attends to the same keys and values at every step. Autograd would compute gradients as large as both for each
step and add them up. The sums over all steps are cheaper at once: one pass over the keys with the queries of all
steps, and one matmul for the values. With g[t, s] = ∂scores[t, s]:

    ∂keys[s] = Σ_t g[t, s] · v · (1 - tanh²(q[t] + k[s]))        ∂values[s] = Σ_t weight[t, s] · ∂context[t]

So `collect` puts an autograd node between the keys and the attention calls. The backward pass of a step returns the
gradient of its query and appends a line to the node's ledger. Autograd reaches the node after all steps, and the node
computes the sums. Gradients that reach the keys through other operations are added.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.additive.parts import Parts, Way

__all__ = ["attend", "collect", "collected_matrix"]


class Line(NamedTuple):
    """What one step contributes to the sums: query, features, weights, and the gradients of scores and context."""

    query: Tensor
    features: Tensor | None
    kept: Tensor
    to_scores: Tensor
    to_context: Tensor | None


class Ledger:
    """The lines of the current backward pass; lines of an earlier pass that never reached the sums are dropped."""

    def __init__(self, v: Tensor, matrix: Tensor | None) -> None:
        self.place = v.data_ptr()  # identifies the score whose parameters get the sums
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
    """Return the same keys and values, for a loop that attends to them with this v and matrix; shapes: `Parts`."""
    parts = (keys, values, v, matrix)
    if not torch.is_grad_enabled() or not any(part is not None and part.requires_grad for part in parts):
        return keys, values
    collected: tuple[Tensor, Tensor] = _Collect.apply(way, Ledger(v, matrix), *parts)  # type: ignore[no-untyped-call]
    return collected


def attend(way: Way, parts: Parts) -> tuple[Tensor, Tensor]:
    """Return context (B, [H,] T, D) and weights (B, [H,] T, S); keys and values may come from `collect`."""
    query, keys, values, v, mask, features, matrix = parts
    found: tuple[Tensor, Tensor] = _Attend.apply(  # type: ignore[no-untyped-call]
        way, _ledger(keys, values, v), mask, query, keys, values, v, features, matrix
    )
    return found


def collected_matrix(keys: Tensor, values: Tensor, v: Tensor) -> Tensor | None:
    """Return the matrix that `collect` got with these keys and values, so that steps need not recompute it."""
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
        if not lines:  # no step used `attend`; the operations used instead may have second derivatives
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
        detached = None if features is None else features.detach()  # else the ledger would keep its own graph alive
        line = Line(query.detach(), detached, kept.detach(), slopes.scores, to_context)
        shared: tuple[Tensor | None, ...] = (None, None, None, None)
        if ctx.ledger is not None:
            ctx.ledger.write(line)  # the gradients of v and the matrix are summed there too
        elif any(ctx.needs_input_grad[i] for i in (4, 5, 6, 8)):
            shared = _sums((ctx.way, [line]), keys, values, v, matrix)
        to_keys, to_values, to_v, to_matrix = shared
        return None, None, None, slopes.query, to_keys, to_values, to_v, slopes.features, to_matrix


@once_differentiable
def _sums(
    found: tuple[Way, list[Line]], keys: Tensor, values: Tensor, v: Tensor, matrix: Tensor | None
) -> tuple[Tensor | None, ...]:
    """Return the gradients of keys, values, v and matrix, each in its own dtype."""
    way, lines = found
    sums: list[Tensor | None] = [None] * 4
    for group in ([x for x in lines if x.features is not None], [x for x in lines if x.features is None]):
        if group:
            more = _sum(way, group, Parts(group[0].query, keys, values, v, None, None, matrix))
            sums = [_both(one, other) for one, other in zip(sums, more, strict=True)]
    pairs = zip(sums, (keys, values, v, matrix), strict=True)
    return tuple(None if x is None or like is None else x.to(like.dtype) for x, like in pairs)


def _sum(way: Way, lines: list[Line], parts: Parts) -> tuple[Tensor | None, ...]:
    """Return the gradients for lines that all have features, or all have none."""
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
        grad = torch.cat([to_context for _, to_context in contexts], -2)  # (B, [H,] T, D)
        kept = torch.cat([kept for kept, _ in contexts], -2)  # (B, [H,] T, S)
        to_values = kept.to(grad.dtype).mT @ grad
    return gathered.keys, to_values, gathered.v, gathered.matrix


def _both(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other

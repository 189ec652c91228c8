"""Which way additive scores, and attention by them, are computed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from saccade.kernels.additive import collect
from saccade.kernels.additive.blocked import blocked_scores
from saccade.kernels.additive.naive import naive_scores
from saccade.kernels.additive.parts import Parts, Way
from saccade.kernels.ways import fusable

__all__ = ["additive_attend", "additive_collect", "additive_scores", "attends_at_once"]

Scores = Callable[[Tensor, Tensor, Tensor], Tensor]
SMALL = 1 << 17
"""So many numbers fit into a core's own cache, and then the definition is as fast as anything."""
FEW = 4
"""Queries for which blocks do not pay: their exponentials cost as much as the tanh they save."""
ASKED = 8
"""Queries of a sentence up to which reading keys and values costs more than the tanh."""


def additive_scores(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """scores[t, s] = v · tanh(query[t] + keys[s]).

    query (..., T, A), keys (..., S, A), v (A,), or (H, A) for leading axes (B, H) -> (..., T, S)
    On a GPU with Triton the fused kernels do it, on the CPU blocks that fit into the cache. Small ones, those inside
    torch.compile and those of other precisions are done by definition, which can also be differentiated twice.
    """
    way = _scores_way(query, keys, v)
    if way is None:
        return naive_scores(query, keys, v)
    lead = torch.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
    left, right = (x.expand(*lead, *x.shape[-2:]).flatten(0, -3) for x in (query, keys))
    scores: Tensor = way(left, right, v.view(-1, v.shape[-1])).unflatten(0, lead)
    return scores.to(query.dtype)


def additive_attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    features: Tensor | None = None,
    matrix: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Softmax and weighted sum with the scores in one go: context (..., T, D) and weights (..., T, S).

    Shapes as in `naive_attend`; `query` is projected. For what `attends_at_once` says is worth it.
    """
    return collect.attend(_few(), Parts(query, keys, values, v, mask, features, matrix))


def additive_collect(keys: Tensor, values: Tensor, v: Tensor, matrix: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The same keys and values, with gradients that `additive_attend` leaves for the end where it does the work."""
    if torch.is_grad_enabled() and _fits(keys, values):
        return collect.collect(_few(), keys, values, v, matrix)
    return keys, values


def attends_at_once(length: int, keys: Tensor, values: Tensor) -> bool:
    """Whether `additive_attend` is worth it for so many queries; else the definition is as good."""
    if length > ASKED or not _fits(keys, values):
        return False
    # by definition it has a second derivative
    return not torch.is_grad_enabled() or keys.numel() * length > SMALL


def _fits(keys: Tensor, values: Tensor) -> bool:
    return fusable(keys, values)


def _scores_way(query: Tensor, keys: Tensor, v: Tensor) -> Scores | None:
    """What is worth it for these, None for the definition."""
    rows = torch.broadcast_shapes(query.shape[:-2], keys.shape[:-2]).numel()
    numbers = rows * query.shape[-2] * keys.shape[-2] * query.shape[-1]
    if numbers <= SMALL or len({query.dtype, keys.dtype, v.dtype}) > 1 or torch.compiler.is_compiling():
        return None
    if query.is_cuda:
        return _fused() if fusable(query, keys, v) else None
    if query.device.type == "cpu" and query.dtype in (torch.float32, torch.float64) and query.shape[-2] > FEW:
        return blocked_scores
    return None


def _fused() -> Scores:
    """The fused kernels; imported when first needed, since Triton takes seconds to load."""
    from saccade.kernels.additive.fused import fused_scores

    return fused_scores


def _few() -> Way:
    """The kernels for few queries."""
    from saccade.kernels.additive import one_query

    return one_query

"""Choose the implementation of additive scores and of attention with them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from saccade.kernels.additive import collect
from saccade.kernels.additive.blocked import blocked_scores
from saccade.kernels.additive.naive import naive_scores
from saccade.kernels.additive.parts import Parts, Way
from saccade.kernels.dispatch import fusable

__all__ = ["additive_attend", "additive_collect", "additive_scores", "attends_at_once"]

Scores = Callable[[Tensor, Tensor, Tensor], Tensor]
SMALL = 1 << 17
"""Up to this many numbers fit into a core's own cache, where the naive form is as fast as the others."""
FEW = 4
"""Up to this many queries, blocks do not pay: their exponentials cost as much as the tanh they save."""
ASKED = 8
"""Up to this many queries per sentence, reading keys and values costs more than the tanh."""


def additive_scores(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """Compute scores[t, s] = v · tanh(query[t] + keys[s]).

    query (..., T, A), keys (..., S, A), v (A,), or (H, A) for leading axes (B, H) -> (..., T, S)
    A GPU with Triton uses fused kernels; the CPU uses blocks that fit into the cache. Small inputs, unsupported dtypes
    and torch.compile use `naive_scores`, which also has second derivatives.
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
    """Compute scores, softmax and weighted sum in one kernel: context (..., T, D) and weights (..., T, S).

    `query` is already projected; shapes as in `Parts`. Call it only where `attends_at_once` is true.
    """
    return collect.attend(_few(), Parts(query, keys, values, v, mask, features, matrix))


def additive_collect(keys: Tensor, values: Tensor, v: Tensor, matrix: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the same keys and values; `additive_attend` then sums their gradients once, after the last step."""
    if torch.is_grad_enabled() and _fits(keys, values):
        return collect.collect(_few(), keys, values, v, matrix)
    return keys, values


def attends_at_once(length: int, keys: Tensor, values: Tensor) -> bool:
    """Return whether `additive_attend` is worth it for `length` queries; else the naive form is as good."""
    if length > ASKED or not _fits(keys, values):
        return False
    # small inputs keep the naive form, which has second derivatives
    return not torch.is_grad_enabled() or keys.numel() * length > SMALL


def _fits(keys: Tensor, values: Tensor) -> bool:
    return fusable(keys, values)


def _scores_way(query: Tensor, keys: Tensor, v: Tensor) -> Scores | None:
    """Return the fastest implementation for these inputs, or None for `naive_scores`."""
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
    """Return the fused kernels; imported on first use, since Triton takes seconds to load."""
    from saccade.kernels.additive.fused import fused_scores

    return fused_scores


def _few() -> Way:
    """Return the module with the kernels for few queries."""
    from saccade.kernels.additive import one_query

    return one_query

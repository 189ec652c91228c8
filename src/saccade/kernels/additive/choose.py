"""Which way additive scores are computed."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable

import torch
from torch import Tensor

from saccade.kernels.additive.blocked import blocked_scores
from saccade.kernels.additive.naive import naive_scores
from saccade.kernels.ways import fusable

__all__ = ["additive_scores"]

Way = Callable[[Tensor, Tensor, Tensor], Tensor]
SMALL = 1 << 17
"""So many numbers fit into a core's own cache, and then the definition is as fast as anything."""
FEW = 4
"""Queries for which blocks do not pay: their exponentials cost as much as the tanh they save."""


def additive_scores(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """scores[t, s] = v · tanh(query[t] + keys[s]).

    query (..., T, A), keys (..., S, A), v (A,), or (H, A) for leading axes (B, H) -> (..., T, S)
    On a GPU with Triton the fused kernels do it, on the CPU blocks that fit into the cache. Small ones, those inside
    torch.compile and those of other precisions are done by definition, which can also be differentiated twice.
    """
    way = _way(query, keys, v)
    if way is None:
        return naive_scores(query, keys, v)
    lead = torch.broadcast_shapes(query.shape[:-2], keys.shape[:-2])
    left, right = (x.expand(*lead, *x.shape[-2:]).flatten(0, -3) for x in (query, keys))
    scores: Tensor = way(left, right, v.view(-1, v.shape[-1])).unflatten(0, lead)
    return scores.to(query.dtype)


def _way(query: Tensor, keys: Tensor, v: Tensor) -> Way | None:
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


@functools.cache
def _fused() -> Way | None:
    """The fused kernels, if Triton is there; looked for when first needed, since it takes seconds to load."""
    try:
        from saccade.kernels.additive.fused import fused_scores
    except ImportError as error:
        logging.getLogger("saccade").info("additive scores are computed without Triton: %s", error)
        return None
    return fused_scores

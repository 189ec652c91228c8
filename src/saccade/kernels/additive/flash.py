"""Additive attention of many queries to many keys without ever holding all their weights.

A block of queries at a time: scores, softmax, weighted sum. The backward pass makes the scores of a block again. Beside
inputs and results a block is all there is in memory, however many pairs there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.additive.choose import additive_scores

__all__ = ["flash_attend"]

BLOCK = 1 << 24
"""Scores of a block, 64 MB in float32: so many that what is done anew for each block, for the keys, costs little."""
FEWEST = 16
"""Queries of a block, whatever their scores take: what the kernels do at a time."""


def flash_attend(query: Tensor, keys: Tensor, values: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """The context (..., T, D) that `naive_attend` computes.

    query (..., T, A), keys (..., S, A), values (..., S, D), v (A,) or (H, A) for leading axes (B, H); a mask that
    broadcasts to (..., T, S), or None.
    """
    context: Tensor = _Flash.apply(mask, query, keys, values, v)  # type: ignore[no-untyped-call]
    return context


class _Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mask: Tensor | None, query: Tensor, keys: Tensor, values: Tensor, v: Tensor) -> Tensor:
        ctx.save_for_backward(mask, query, keys, values, v)
        blocks = _blocks(query, keys, mask)
        return torch.cat([_attend(query[..., rows, :], (keys, values, v), here) for rows, here in blocks], -2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        mask, query, *shared = ctx.saved_tensors
        to_query = torch.empty_like(query)
        sums = [torch.zeros_like(part, dtype=torch.promote_types(part.dtype, torch.float32)) for part in shared]
        for rows, here in _blocks(query, shared[0], mask):
            parts = [part.detach().requires_grad_() for part in (query[..., rows, :], *shared)]
            with torch.enable_grad():
                context = _attend(parts[0], parts[1:], here)
            to_query[..., rows, :], *others = torch.autograd.grad(context, parts, grads[0][..., rows, :])
            for total, other in zip(sums, others, strict=True):
                total += other
        return None, to_query, *(total.to(part.dtype) for total, part in zip(sums, shared, strict=True))


def _attend(query: Tensor, shared: Sequence[Tensor], mask: Tensor | None) -> Tensor:
    keys, values, v = shared
    scores = additive_scores(query, keys, v)
    wide = scores.float() if scores.dtype.itemsize < 4 else scores
    if mask is not None:
        wide = wide.masked_fill(~mask, torch.finfo(wide.dtype).min)
    weights = wide.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights.to(query.dtype) @ values.to(query.dtype)  # as autocast has it, which is off in the backward pass


def _blocks(query: Tensor, keys: Tensor, mask: Tensor | None) -> list[tuple[slice, Tensor | None]]:
    """Queries of a block and what they may see."""
    length, pairs = query.shape[-2], max(1, keys.shape[:-1].numel())  # keys of all rows: one query's scores
    step = max(FEWEST, BLOCK // pairs // FEWEST * FEWEST)
    apart = mask is not None and mask.shape[-2] > 1
    spans = [slice(start, min(start + step, length)) for start in range(0, length, step)]
    return [(rows, mask[..., rows, :] if mask is not None and apart else mask) for rows in spans]

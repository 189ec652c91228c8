"""Dot-product attention of few wide queries on a GPU, as in a step of a recurrent decoder.

torch's kernels are made for many queries and narrow heads. Here one launch computes scores, softmax and weighted sum,
with the kernels of `kernels/additive`. `collect.py` there also defers the gradients of keys and values to the end of
the loop, where each is one matmul.
"""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.additive import collect
from saccade.kernels.additive.parts import Gathered, Parts, Slopes
from saccade.kernels.dispatch import fusable

__all__ = ["few_attention", "few_collect"]

FEW, WIDE = 8, 128
"""Used for at most FEW queries, and only if queries or values are wider than WIDE."""


def few_attention(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float) -> Tensor | None:
    """Compute the context (B, [H,] T, D) of dot-product attention, or return None where torch's kernels are as good."""
    if query.shape[-2] > FEW or not _fits(query, keys, values):
        return None
    query = (query if scale == 1 else query * scale).to(keys.dtype)
    return collect.attend(_Way(), Parts(query, keys, values, keys.detach(), mask))[0]


def few_collect(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the same keys and values; `few_attention` then sums their gradients once, after the last step."""
    if not torch.is_grad_enabled() or not _fits(keys, keys, values):
        return keys, values
    return collect.collect(_Way(), keys, values, keys.detach())


def _fits(query: Tensor, keys: Tensor, values: Tensor) -> bool:
    return max(query.shape[-1], values.shape[-1]) > WIDE and fusable(query, keys, values)


class _Way:
    """The functions that `collect` calls (`parts.Way`); here v only identifies the keys."""

    def attend(self, parts: Parts) -> tuple[Tensor, Tensor, Tensor]:
        from saccade.kernels.additive import one_query

        return one_query.attend(parts, dot=True)

    def slopes(self, parts: Parts, kept: Tensor, to_context: Tensor, to_weights: Tensor | None) -> Slopes:
        from saccade.kernels.additive import one_query

        return one_query.slopes(parts, kept, to_context, to_weights, dot=True)

    def gather(self, parts: Parts, to_scores: Tensor) -> Gathered:
        return Gathered(to_scores.to(parts.query.dtype).mT @ parts.query, None, None)

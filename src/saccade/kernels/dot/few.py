"""Attention by inner products of few wide queries on a GPU: what a recurrent decoder asks in each step.

torch's kernels are made for many queries of narrow heads. Here one launch does scores, softmax and weighted sum, as it
does for additive scores, and the steps of a loop leave the gradients of keys and values to be summed at its end:
launches and ledger are those of `kernels/additive`, and what is summed there is a product here.
"""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.additive import collect
from saccade.kernels.additive.parts import Gathered, Parts, Slopes
from saccade.kernels.ways import fusable

__all__ = ["few_attention", "few_collect"]

FEW, WIDE = 8, 128
"""Queries up to which these launches are worth it, and the width beyond which."""


def few_attention(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float) -> Tensor | None:
    """Context (B, [H,] T, D) as by `naive_attention`, or None where torch's kernels are as good."""
    if query.shape[-2] > FEW or not _fits(query, keys, values):
        return None
    query = (query if scale == 1 else query * scale).to(keys.dtype)
    return collect.attend(_Way(), Parts(query, keys, values, keys.detach(), mask))[0]


def few_collect(keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """The same keys and values, with gradients that `few_attention` leaves for the end where it does the work."""
    if not torch.is_grad_enabled() or not _fits(keys, keys, values):
        return keys, values
    return collect.collect(_Way(), keys, values, keys.detach())


def _fits(query: Tensor, keys: Tensor, values: Tensor) -> bool:
    return max(query.shape[-1], values.shape[-1]) > WIDE and fusable(query, keys, values)


class _Way:
    """As `collect` wants them; v stands for nothing but whose keys these are."""

    def attend(self, parts: Parts) -> tuple[Tensor, Tensor, Tensor]:
        from saccade.kernels.additive import one_query

        return one_query.attend(parts, dot=True)

    def slopes(self, parts: Parts, kept: Tensor, to_context: Tensor, to_weights: Tensor | None) -> Slopes:
        from saccade.kernels.additive import one_query

        return one_query.slopes(parts, kept, to_context, to_weights, dot=True)

    def gather(self, parts: Parts, to_scores: Tensor) -> Gathered:
        return Gathered(to_scores.to(parts.query.dtype).mT @ parts.query, None, None)

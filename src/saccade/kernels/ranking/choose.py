"""Which way the best words are found."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.ways import fusable

__all__ = ["best", "best_together"]

SIZE = 256
"""Words of a block: only the blocks with the greatest maxima are looked into."""


def best(logits: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """`naive_best` where a GPU does it in few passes, else None."""
    if not _pays(logits, count):
        return None
    maxima, totals = _summaries(logits, first)
    values, places = _look_into(logits, maxima, first, count)
    return values - totals[:, None], places


def best_together(logits: Tensor, before: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """`naive_best_together` where a GPU does it in few passes, else None."""
    if not _pays(logits, count):
        return None
    maxima, totals = _summaries(logits, first)
    offsets = before - totals.view(before.shape)  # (B, K)
    return _look_into(logits, maxima, first, count, offsets)


def _pays(logits: Tensor, count: int) -> bool:
    return fusable(logits) and logits.shape[1] >= 4 * SIZE * count and logits.is_contiguous()


def _summaries(logits: Tensor, first: int) -> tuple[Tensor, Tensor]:
    from saccade.kernels.ranking.fused import summaries

    return summaries(logits, first, SIZE)


def _look_into(
    logits: Tensor, maxima: Tensor, first: int, count: int, offsets: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The best of the blocks that hold the best: of each row, or with `offsets` (B, K) of K rows together."""
    vocabulary, blocks = logits.shape[1], maxima.shape[1]
    if offsets is not None:
        maxima = (maxima.view(*offsets.shape, blocks) + offsets[..., None]).flatten(1)
    chosen = maxima.topk(count, sorted=False).indices  # (R, count): k·blocks + block
    words = (chosen % blocks)[..., None] * SIZE + torch.arange(SIZE, device=logits.device)
    places = (chosen // blocks)[..., None] * vocabulary + words.clamp(max=vocabulary - 1)
    flat = logits if offsets is None else logits.view(len(offsets), -1)
    values = flat.gather(1, places.flatten(1)).float()
    values = values.masked_fill(((words < first) | (words >= vocabulary)).flatten(1), -torch.inf)
    if offsets is not None:
        values = values + offsets.gather(1, chosen // blocks).repeat_interleave(SIZE, 1)
    found = values.topk(count)
    return found.values, places.flatten(1).gather(1, found.indices)

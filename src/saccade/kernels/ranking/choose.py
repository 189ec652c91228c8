"""Which way the best words are found."""

from __future__ import annotations

from torch import Tensor

from saccade.kernels.ways import fusable

__all__ = ["best", "best_together"]

SIZE = 256
"""Words of a block: only the blocks with the greatest maxima are looked into."""
MOST = 1 << 15
"""Blocks of a sentence that fit into a program."""


def best(logits: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """`naive_best` where a GPU does it in few passes, else None."""
    return _found(logits, None, first, count)


def best_together(logits: Tensor, before: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """`naive_best_together` where a GPU does it in few passes, else None."""
    return _found(logits, before, first, count)


def _found(logits: Tensor, before: Tensor | None, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    blocks = logits.shape[1] // SIZE * (1 if before is None else before.shape[1])
    if not fusable(logits) or logits.shape[1] < 4 * SIZE * count or blocks > MOST or not logits.is_contiguous():
        return None
    from saccade.kernels.ranking.fused import select, summaries

    return select(logits, summaries(logits, first, SIZE), before, first, count)

"""Which way the best words are found."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.native import library
from saccade.kernels.native.ranking import best_words
from saccade.kernels.ways import fusable, is_plain

__all__ = ["best", "best_together"]

SIZE = 256
"""Words of a block: only the blocks with the greatest maxima are looked into."""
MOST = 1 << 15
"""Blocks of a sentence that fit into a program."""
FEW = 64
"""Words up to which the blocks that hold them fit into a program."""


def best(logits: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """`naive_best` where it can be done in few passes, else None."""
    return _found(logits, None, first, count)


def best_together(logits: Tensor, before: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """`naive_best_together` where it can be done in few passes, else None."""
    return _found(logits, before, first, count)


def _found(logits: Tensor, before: Tensor | None, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    if not logits.is_contiguous():
        return None
    if _suits_our_code(logits, before, count):
        return best_words(logits, before, first, count)
    blocks = logits.shape[1] // SIZE * (1 if before is None else before.shape[1])
    if not fusable(logits) or logits.shape[1] < 4 * SIZE * count or blocks > MOST or count > FEW:
        return None
    from saccade.kernels.ranking.fused import select, summaries

    return select(logits, summaries(logits, first, SIZE), before, first, count)


def _suits_our_code(logits: Tensor, before: Tensor | None, count: int) -> bool:
    """Whether the loop in C does it: on the CPU, in float32, and few of many, since it keeps them sorted by hand."""
    plain = logits.device.type == "cpu" and logits.dtype == torch.float32 and not torch.compiler.is_compiling()
    if not plain or is_plain() or logits.requires_grad or 64 * count > logits.shape[1]:
        return False
    return (before is None or before.dtype == torch.float32) and library() is not None

"""Choose the implementation of the search for the best words."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.kernels.dispatch import fusable, is_fused_disabled
from saccade.kernels.native import library
from saccade.kernels.native.ranking import best_words

__all__ = ["best", "best_together"]

SIZE = 256
"""Words per block: only the blocks with the largest maxima are searched."""
MOST = 1 << 15
"""The most blocks of a sentence that fit into a program."""
FEW = 64
"""The most words to find: the blocks that hold them must fit into a program."""


def best(logits: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """Return the log-probabilities and indices of each row's `count` best words from `first` on, or None.

    None means that no fast implementation takes these inputs.
    """
    return _found(logits, None, first, count)


def best_together(logits: Tensor, before: Tensor, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    """Return the same for the K rows of each sentence together, ranked with `before` (B, K) added, or None."""
    return _found(logits, before, first, count)


def _found(logits: Tensor, before: Tensor | None, first: int, count: int) -> tuple[Tensor, Tensor] | None:
    if not logits.is_contiguous():
        return None
    if _suits_native(logits, before, count):
        return best_words(logits, before, first, count)
    blocks = logits.shape[1] // SIZE * (1 if before is None else before.shape[1])
    if not fusable(logits) or logits.shape[1] < 4 * SIZE * count or blocks > MOST or count > FEW:
        return None
    from saccade.kernels.ranking.fused import select, summaries

    return select(logits, summaries(logits, first, SIZE), before, first, count)


def _suits_native(logits: Tensor, before: Tensor | None, count: int) -> bool:
    """Return whether the C code takes this: on the CPU, float32, and few of many words (it uses insertion sort)."""
    plain = logits.device.type == "cpu" and logits.dtype == torch.float32 and not torch.compiler.is_compiling()
    if not plain or is_fused_disabled() or logits.requires_grad or 64 * count > logits.shape[1]:
        return False
    return (before is None or before.dtype == torch.float32) and library() is not None

"""Rows of logits on a GPU, read once: the greatest of each block, and the logarithm of the sum of all exponentials."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["summaries"]

BLOCKS, WARPS = 16, 8
"""Blocks at a time, and warps of a program."""


def summaries(logits: Tensor, first: int, size: int) -> tuple[Tensor, Tensor]:
    """(N, V) -> maxima (N, ⌈V / size⌉) of the words from `first` on, log Σ exp (N,) of all; both in float32.

    A row with a NaN has a sum that is none.
    """
    rows, vocabulary = logits.shape
    blocks = triton.cdiv(vocabulary, size)
    maxima = torch.empty(rows, blocks, device=logits.device, dtype=torch.float32)
    totals = torch.empty(rows, device=logits.device, dtype=torch.float32)
    _summary_kernel[(rows,)](
        logits, maxima, totals, vocabulary, blocks, first, logits.stride(0), BLOCKS=BLOCKS, SIZE=size, num_warps=WARPS
    )
    return maxima, totals


@triton.jit
def _summary_kernel(logits, maxima, totals, vocabulary, blocks, first, apart, BLOCKS: tl.constexpr, SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    largest, total = -float("inf"), 0.0
    for start in range(0, blocks, BLOCKS):
        block = start + tl.arange(0, BLOCKS)
        word = block[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
        z = tl.load(logits + row * apart + word, word < vocabulary, -float("inf")).to(tl.float32)
        tl.store(maxima + row * blocks + block, tl.max(tl.where(word < first, -float("inf"), z), 1), block < blocks)
        top = tl.maximum(largest, tl.max(tl.max(z, 1), 0))
        base = tl.where(top == -float("inf"), 0.0, top)
        total = total * tl.exp(largest - base) + tl.sum(tl.sum(tl.exp(z - base), 1), 0)
        largest = top
    tl.store(totals + row, largest + tl.log(tl.where(total == 0, 1.0, total)))

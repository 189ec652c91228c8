"""Rows of logits on a GPU, read once: the greatest of each block, sums of exponentials, and then the best words."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["Summaries", "select", "summaries"]

BLOCKS, WARPS = 16, 8
"""Blocks at a time, and warps of a program."""
PROGRAMS = 512
"""A device is busy with so many; of fewer rows each is the work of several."""


class Summaries(NamedTuple):
    """Of rows (N, V) in blocks of `size` words: the greatest of each block, and log Σ exp of each of C parts of a row.

    A part with a NaN has a sum that is none.
    """

    maxima: Tensor
    sums: Tensor
    size: int


def summaries(logits: Tensor, first: int, size: int) -> Summaries:
    """maxima (N, ⌈V / size⌉) of the words from `first` on, sums (N, C) of all; both in float32."""
    rows, vocabulary = logits.shape
    blocks = triton.cdiv(vocabulary, size)
    passes = triton.cdiv(blocks, BLOCKS)
    parts = max(1, min(passes, PROGRAMS // rows))
    share = triton.cdiv(passes, parts) * BLOCKS  # blocks of a program
    parts = triton.cdiv(blocks, share)
    maxima = torch.empty(rows, blocks, device=logits.device, dtype=torch.float32)
    sums = torch.empty(rows, parts, device=logits.device, dtype=torch.float32)
    _summary_kernel[(rows, parts)](
        logits, maxima, sums, vocabulary, blocks, share, first, logits.stride(0),
        BLOCKS=BLOCKS, SIZE=size, num_warps=WARPS,
    )  # fmt: skip
    return Summaries(maxima, sums, size)


def select(logits: Tensor, seen: Summaries, before: Tensor | None, first: int, count: int) -> tuple[Tensor, Tensor]:
    """The best of each row, or with `before` (B, K) of the K rows of each sentence: (·, count) float32 and places."""
    (rows, vocabulary), together = logits.shape, 1 if before is None else before.shape[1]
    values = torch.empty(rows // together, count, device=logits.device, dtype=torch.float32)
    places = torch.empty_like(values, dtype=torch.int64)
    maxima, sums, size = seen
    wide, tall = triton.next_power_of_2(maxima.shape[1]), triton.next_power_of_2(together)
    _select_kernel[(len(values),)](
        logits, maxima, sums, sums if before is None else before, values, places, vocabulary, maxima.shape[1],
        sums.shape[1], together, first, count, logits.stride(0),
        BEFORE=before is not None, SIZE=size, TALL=tall, WIDE=wide, PARTS=triton.next_power_of_2(sums.shape[1]),
        num_warps=min(8, max(1, wide * tall // 1024)),
    )  # fmt: skip
    return values, places


@triton.jit
def _summary_kernel(
    logits, maxima, sums, vocabulary, blocks, share, first, apart, BLOCKS: tl.constexpr, SIZE: tl.constexpr
):
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    largest, total = -float("inf"), 0.0
    for start in range(part * share, tl.minimum((part + 1) * share, blocks), BLOCKS):
        block = start + tl.arange(0, BLOCKS)
        word = block[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
        z = tl.load(logits + row * apart + word, word < vocabulary, -float("inf")).to(tl.float32)
        tl.store(maxima + row * blocks + block, tl.max(tl.where(word < first, -float("inf"), z), 1), block < blocks)
        top = tl.maximum(largest, tl.max(tl.max(z, 1), 0))
        base = tl.where(top == -float("inf"), 0.0, top)
        total = total * tl.exp(largest - base) + tl.sum(tl.sum(tl.exp(z - base), 1), 0)
        largest = top
    tl.store(sums + row * tl.num_programs(1) + part, largest + tl.log(tl.where(total == 0, 1.0, total)))


@triton.jit
def _select_kernel(
    logits, maxima, sums, before, values, places, vocabulary, blocks, parts, together, first, count, apart,
    BEFORE: tl.constexpr, SIZE: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """The best `count` of the rows of a sentence, one after the other.

    The next one is in the block whose greatest is greatest. What is left of that block after it is taken has a new
    greatest; of several that are equal, the first is taken, and `last` says which was.
    """
    group = tl.program_id(0).to(tl.int64)
    k, block, part = tl.arange(0, TALL), tl.arange(0, WIDE), tl.arange(0, PARTS)
    row = group * together + k
    own = (k < together)[:, None] & (part < parts)[None, :]
    sum_of = tl.load(sums + row[:, None] * parts + part[None, :], own, -float("inf"))
    top = tl.max(sum_of, 1)
    base = tl.where(top == -float("inf"), 0.0, top)
    total = tl.sum(tl.exp(sum_of - base[:, None]), 1)
    shift = -(base + tl.log(tl.where(total == 0, 1.0, total)))  # (TALL,)
    if BEFORE:
        shift += tl.load(before + row, k < together, -float("inf"))
    broken = tl.max(tl.where((k < together) & (shift != shift), 1, 0), 0)
    here = (k < together)[:, None] & (block < blocks)[None, :]
    best = tl.load(maxima + row[:, None] * blocks + block[None, :], here, -float("inf")) + shift[:, None]
    best = tl.where(here, best, -float("inf"))
    number = k[:, None] * WIDE + block[None, :]
    last = tl.full((TALL, WIDE), -1, tl.int32)
    within = tl.arange(0, SIZE)
    for c in range(count):
        value = tl.max(tl.max(best, 1), 0)
        found = tl.min(tl.min(tl.where(best == value, number, TALL * WIDE), 1), 0)
        found = tl.where(found == TALL * WIDE, 0, found)  # where nothing is a number
        slot, at = found // WIDE, found % WIDE
        taken = tl.max(tl.max(tl.where(number == found, last, -1), 1), 0)
        word = at * SIZE + within
        x = tl.load(logits + (group * together + slot) * apart + word, word < vocabulary, -float("inf")).to(tl.float32)
        x = tl.where((word < first) | (word >= vocabulary), -float("inf"), x)
        x += tl.max(tl.where(k == slot, shift, -float("inf")), 0)
        one = tl.min(tl.where((x == value) & (within > taken), within, SIZE), 0)
        one = tl.where(one == SIZE, 0, one)
        rest = tl.max(tl.where((x < value) | ((x == value) & (within > one)), x, -float("inf")), 0)
        best = tl.where(number == found, rest, best)
        last = tl.where(number == found, tl.where(rest == value, one, -1), last)
        tl.store(values + group * count + c, tl.where(broken > 0, float("nan"), value))
        tl.store(places + group * count + c, slot.to(tl.int64) * vocabulary + at * SIZE + one)

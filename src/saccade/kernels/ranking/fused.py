"""Best words on a GPU: one pass over the logits for block maxima and sums of exponentials, then a selection."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["Summaries", "select", "summaries"]

LEAST = tl.constexpr(-(1 << 63))
"""The key of an entry that was already selected."""
BLOCKS, WARPS = 16, 8
"""Blocks per pass of a program, and its warps."""
PROGRAMS = 512
"""Programs that fill a device; with fewer rows, several programs share a row."""


class Summaries(NamedTuple):
    """Summaries of rows (N, V): the maximum of each block of `size` words, and log Σ exp of each of C parts of a row.

    A part that contains NaN has a NaN sum.
    """

    maxima: Tensor
    sums: Tensor
    size: int


def summaries(logits: Tensor, first: int, size: int) -> Summaries:
    """Compute maxima (N, ⌈V / size⌉) of the words from `first` on, and sums (N, C) over all words; both float32."""
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
    """Return the best words of each row.

    With `before` (B, K), the log-probabilities of each sentence's K hypotheses so far, return the best words of a
    sentence's K rows together, by the sum.

    -> (N or B, count): log-probabilities in float32, and places: word, or k · V + word.
    """
    (rows, vocabulary), together = logits.shape, 1 if before is None else before.shape[1]
    values = torch.empty(rows // together, count, device=logits.device, dtype=torch.float32)
    places = torch.empty_like(values, dtype=torch.int64)
    maxima, sums, size = seen
    wide, tall, most = (triton.next_power_of_2(n) for n in (maxima.shape[1], together, count))
    _select_kernel[(len(values),)](
        logits, maxima, sums, sums if before is None else before, values, places, vocabulary, maxima.shape[1],
        sums.shape[1], together, first, count, logits.stride(0),
        BEFORE=before is not None, SIZE=size, TALL=tall, WIDE=wide, PARTS=triton.next_power_of_2(sums.shape[1]),
        COUNT=most, num_warps=min(16, max(1, wide * tall // 1024, most * size // 1024)),
    )  # fmt: skip
    return values, places


@triton.jit
def _summary_kernel(
    logits, maxima, sums, vocabulary, blocks, share, first, apart, BLOCKS: tl.constexpr, SIZE: tl.constexpr
):
    """Summarize a part of a row; the BLOCKS running sums stay separate until the last pass, which adds them up."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    largest, total = tl.full((BLOCKS,), -float("inf"), tl.float32), tl.zeros((BLOCKS,), tl.float32)
    for start in range(part * share, tl.minimum((part + 1) * share, blocks), BLOCKS):
        block = start + tl.arange(0, BLOCKS)
        word = block[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
        z = tl.load(logits + row * apart + word, word < vocabulary, -float("inf")).to(tl.float32)
        highest = tl.max(z, 1)
        shown = highest
        if start * SIZE < first:  # exclude words below `first` from the maxima
            shown = tl.max(tl.where(word < first, -float("inf"), z), 1)
        tl.store(maxima + row * blocks + block, shown, block < blocks)
        top = tl.maximum(largest, highest)
        base = tl.where(top == -float("inf"), 0.0, top)
        total = total * tl.exp(largest - base) + tl.sum(tl.exp(z - base[:, None]), 1)
        largest = top
    top = tl.max(largest, 0)
    all_of = tl.sum(total * tl.exp(largest - tl.where(top == -float("inf"), 0.0, top)), 0)
    tl.store(sums + row * tl.num_programs(1) + part, top + tl.log(tl.where(all_of == 0, 1.0, all_of)))


@triton.jit
def _select_kernel(
    logits, maxima, sums, before, values, places, vocabulary, blocks, parts, together, first, count, apart,
    BEFORE: tl.constexpr, SIZE: tl.constexpr, TALL: tl.constexpr, WIDE: tl.constexpr, PARTS: tl.constexpr,
    COUNT: tl.constexpr,
):  # fmt: skip
    """Select the `count` best words of the rows of a sentence.

    They lie in the `count` blocks with the largest maxima. The kernel finds these blocks one by one and then searches
    all of them at once. Among equal values, the first wins.
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
    c, chosen = tl.arange(0, COUNT), tl.zeros((COUNT,), tl.int32)
    key = _key(best, k[:, None] * WIDE + block[None, :])
    for one in range(count):
        greatest = tl.max(tl.max(key, 1), 0)
        chosen = tl.where(c == one, _number(greatest), chosen)
        key = tl.where(key == greatest, LEAST, key)
    slot, word = tl.minimum(chosen // WIDE, together - 1), (chosen % WIDE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    real = (c < count)[:, None] & (word >= first) & (word < vocabulary)
    x = tl.load(logits + (group * together + slot)[:, None] * apart + word, real, -float("inf")).to(tl.float32)
    x += tl.max(tl.where(slot[:, None] == k[None, :], shift[None, :], -float("inf")), 1)[:, None]
    key = _key(x, slot[:, None] * vocabulary + tl.minimum(word, vocabulary - 1))
    for one in range(count):
        greatest = tl.max(tl.max(key, 1), 0)
        key = tl.where(key == greatest, LEAST, key)
        tl.store(values + group * count + one, tl.where(broken > 0, float("nan"), _value(greatest)))
        tl.store(places + group * count + one, _number(greatest).to(tl.int64))


@triton.jit
def _key(x, number):
    """Pack x and its number into an int64 that sorts by x, and among equal x by the smaller number first."""
    bits = x.to(tl.int32, bitcast=True)
    return ((bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.int64) << 32) | (0x7FFFFFFF - number).to(tl.int64)


@triton.jit
def _value(key):
    bits = (key >> 32).to(tl.int32)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).to(tl.float32, bitcast=True)


@triton.jit
def _number(key):
    return 0x7FFFFFFF - (key & 0x7FFFFFFF).to(tl.int32)

"""One word's attention on a GPU, in one launch: over what was written so far, and over a source.

A program has one head of one hypothesis. Its keys and values are few, so that starting kernels is what takes time, and
moving caches around when a beam goes on from other hypotheses: `origins` says instead which row of the cache holds a
hypothesis' past at each time.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from saccade.kernels.dot.short import PLAYED, product

__all__ = ["attend_source", "attend_written"]

BLOCK, WARPS = 16, 1
"""Keys at a time, and warps of a program: there are many small programs, so few threads each keep a device busy."""


def attend_written(joined: Tensor, keys: Tensor, values: Tensor, origins: Tensor | None, t: int, heads: int) -> Tensor:
    """joined (N, 3·W): queries, keys and values of the words at time t, which are put into the caches (T, N, W) there.

    -> context (N, W). origins (T, N) int64: the row of each time before t, None where it is everybody's own. The scale
    is in the queries already.
    """
    rows, width = keys.shape[1:]
    context = joined.new_empty(rows, width)
    size = width // heads
    _written_kernel[(rows * heads,)](
        joined, keys, values, context if origins is None else origins, context, t, rows, width, heads,
        size, joined.stride(0), ORIGINS=origins is not None, BLOCK=BLOCK, SIZE=triton.next_power_of_2(size),
        num_warps=WARPS,
    )  # fmt: skip
    return context


def attend_source(query: Tensor, keys: Tensor, values: Tensor, hidden: Tensor | None, heads: int) -> Tensor:
    """query (N, W) of K hypotheses of B sentences; keys (B·H, D, S), values (B·H, S, D) -> context (N, W).

    hidden (B·H, 1, S) is added to scores. The scale is in the queries already.
    """
    rows, width = query.shape
    size = width // heads
    context = torch.empty_like(query)
    added = query if hidden is None else hidden
    beams = rows * heads // keys.shape[0]
    given = (
        query, keys, values, added, context, keys.shape[2], heads, beams, size, query.stride(0),
        keys.stride(0), keys.stride(1), values.stride(0), values.stride(1), added.stride(0),
    )  # fmt: skip
    options = {"HIDDEN": hidden is not None, "BLOCK": 2 * BLOCK, "num_warps": WARPS}
    if beams == 1:
        _source_kernel[(rows * heads,)](*given, SIZE=triton.next_power_of_2(size), **options)
    else:
        taken = max(16, triton.next_power_of_2(beams)), max(16, triton.next_power_of_2(size))  # a product's least
        _beams_kernel[(len(keys),)](*given, BEAMS=taken[0], SIZE=taken[1], PLAY=PLAYED, **options)
    return context


@triton.jit(do_not_specialize=["t"])
def _written_kernel(
    joined, keys, values, origins, context, t, rows, width, heads, size, apart,
    ORIGINS: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    n, h = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    d = tl.arange(0, SIZE)
    inside = d < size
    column = h * size + d
    own = joined + n * apart + column
    q = tl.load(own, inside, 0.0).to(tl.float32)
    k, v = tl.load(own + width, inside, 0.0), tl.load(own + 2 * width, inside, 0.0)
    here = (t * rows + n) * width + column
    tl.store(keys + here, k, inside)
    tl.store(values + here, v, inside)
    # the word itself first; those before it are added in blocks
    largest, total = tl.sum(q * k.to(tl.float32), 0), 1.0
    summed = v.to(tl.float32)
    for first in range(0, t, BLOCK):
        time = first + tl.arange(0, BLOCK)
        past = time < t
        row = tl.load(origins + time * rows + n, past, 0) if ORIGINS else tl.zeros((BLOCK,), tl.int64) + n
        place = ((time * rows + row) * width)[:, None] + column[None, :]
        there = past[:, None] & inside[None, :]
        old_k, old_v = tl.load(keys + place, there, 0.0), tl.load(values + place, there, 0.0)  # one wait for both
        scores = tl.where(past, tl.sum(old_k.to(tl.float32) * q[None, :], 1), -float("inf"))
        top = tl.maximum(largest, tl.max(scores, 0))
        weights, shrunk = tl.exp(scores - top), tl.exp(largest - top)
        total = total * shrunk + tl.sum(weights, 0)
        summed = summed * shrunk + tl.sum(weights[:, None] * old_v.to(tl.float32), 0)
        largest = top
    tl.store(context + n * width + column, summed / total, inside)


@triton.jit(do_not_specialize=["length"])
def _source_kernel(
    query, keys, values, hidden, context, length, heads, beams, size, apart, k_row, k_size, v_row, v_place, hidden_row,
    HIDDEN: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    n, h = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    bank = n // beams * heads + h
    d = tl.arange(0, SIZE)
    inside = d < size
    column = h * size + d
    q = tl.load(query + n * apart + column, inside, 0.0).to(tl.float32)
    largest, total = -float("inf"), 0.0
    summed = tl.zeros((SIZE,), tl.float32)
    for first in range(0, length, BLOCK):
        s = first + tl.arange(0, BLOCK)
        there = (s < length)[:, None] & inside[None, :]
        k = tl.load(keys + bank * k_row + d[None, :] * k_size + s[:, None], there, 0.0)
        v = tl.load(values + bank * v_row + s[:, None] * v_place + d[None, :], there, 0.0)
        scores = tl.sum(k.to(tl.float32) * q[None, :], 1)
        if HIDDEN:
            scores += tl.load(hidden + bank * hidden_row + s, s < length, 0.0).to(tl.float32)
        scores = tl.where(s < length, scores, -float("inf"))
        top = tl.maximum(largest, tl.max(scores, 0))
        base = tl.where(top == -float("inf"), 0.0, top)  # nothing seen yet
        weights, shrunk = tl.exp(scores - base), tl.exp(largest - base)
        total = total * shrunk + tl.sum(weights, 0)
        summed = summed * shrunk + tl.sum(weights[:, None] * v.to(tl.float32), 0)
        largest = top
    tl.store(context + n * heads * size + column, summed / tl.where(total == 0, 1.0, total), inside)


@triton.jit(do_not_specialize=["length"])
def _beams_kernel(
    query, keys, values, hidden, context, length, heads, beams, size, apart, k_row, k_size, v_row, v_place, hidden_row,
    HIDDEN: tl.constexpr, BEAMS: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr, PLAY: tl.constexpr,
):  # fmt: skip
    """The same for all hypotheses of a sentence at once: what they look at is read once, and products are products."""
    bank = tl.program_id(0).to(tl.int64)
    n, h = bank // heads * beams + tl.arange(0, BEAMS), bank % heads
    d = tl.arange(0, SIZE)
    inside = d < size
    column = h * size + d
    own = (tl.arange(0, BEAMS) < beams)[:, None] & inside[None, :]
    q = tl.load(query + n[:, None] * apart + column[None, :], own, 0.0)
    largest = tl.full((BEAMS,), -float("inf"), tl.float32)
    total = tl.zeros((BEAMS,), tl.float32)
    summed = tl.zeros((BEAMS, SIZE), tl.float32)
    for first in range(0, length, BLOCK):
        s = first + tl.arange(0, BLOCK)
        seen = s < length
        k = tl.load(keys + bank * k_row + d[:, None] * k_size + s[None, :], inside[:, None] & seen[None, :], 0.0)
        v = tl.load(values + bank * v_row + s[:, None] * v_place + d[None, :], seen[:, None] & inside[None, :], 0.0)
        scores = product(q, k, PLAY)
        if HIDDEN:
            scores += tl.load(hidden + bank * hidden_row + s, seen, 0.0).to(tl.float32)[None, :]
        scores = tl.where(seen[None, :], scores, -float("inf"))
        top = tl.maximum(largest, tl.max(scores, 1))
        base = tl.where(top == -float("inf"), 0.0, top)
        weights, shrunk = tl.exp(scores - base[:, None]), tl.exp(largest - base)
        total = total * shrunk + tl.sum(weights, 1)
        summed = summed * shrunk[:, None] + product(weights.to(v.dtype), v, PLAY)
        largest = top
    made = summed / tl.where(total == 0, 1.0, total)[:, None]
    tl.store(context + n[:, None] * heads * size + column[None, :], made, own)

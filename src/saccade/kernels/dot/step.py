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
    _source_kernel[(rows * heads,)](
        query, keys, values, added, context, keys.shape[2], heads, rows * heads // keys.shape[0], size, query.stride(0),
        keys.stride(0), keys.stride(1), values.stride(0), values.stride(1), added.stride(0),
        HIDDEN=hidden is not None, BLOCK=2 * BLOCK, SIZE=triton.next_power_of_2(size), num_warps=WARPS,
    )  # fmt: skip
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
        scores = tl.sum(tl.load(keys + place, there, 0.0).to(tl.float32) * q[None, :], 1)
        scores = tl.where(past, scores, -float("inf"))
        top = tl.maximum(largest, tl.max(scores, 0))
        weights, shrunk = tl.exp(scores - top), tl.exp(largest - top)
        total = total * shrunk + tl.sum(weights, 0)
        summed = summed * shrunk + tl.sum(weights[:, None] * tl.load(values + place, there, 0.0).to(tl.float32), 0)
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
        k = tl.load(keys + bank * k_row + d[None, :] * k_size + s[:, None], there, 0.0).to(tl.float32)
        scores = tl.sum(k * q[None, :], 1)
        if HIDDEN:
            scores += tl.load(hidden + bank * hidden_row + s, s < length, 0.0).to(tl.float32)
        scores = tl.where(s < length, scores, -float("inf"))
        top = tl.maximum(largest, tl.max(scores, 0))
        base = tl.where(top == -float("inf"), 0.0, top)  # nothing seen yet
        weights, shrunk = tl.exp(scores - base), tl.exp(largest - base)
        total = total * shrunk + tl.sum(weights, 0)
        v = tl.load(values + bank * v_row + s[:, None] * v_place + d[None, :], there, 0.0).to(tl.float32)
        summed = summed * shrunk + tl.sum(weights[:, None] * v, 0)
        largest = top
    tl.store(context + n * heads * size + column, summed / tl.where(total == 0, 1.0, total), inside)

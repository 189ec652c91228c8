"""Attention of one decoding step on a GPU, one launch each: over the KV cache of earlier tokens, and over a source.

Each program handles one head of one hypothesis. Keys and values are few, so launching kernels and reordering the cache
after a beam step would take most of the time. So the cache is not reordered: `origins` gives the row of the cache that
holds a hypothesis's token at each time.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from saccade.kernels.dot.short import INTERPRETED, product

__all__ = ["attend_source", "attend_written"]

BLOCK, WARPS = 16, 1
"""Keys per block and warps per program: with many small programs, few threads each keep the device busy."""


def attend_written(joined: Tensor, keys: Tensor, values: Tensor, origins: Tensor | None, t: int, heads: int) -> Tensor:
    """Write the keys and values of time t into the caches, and attend to times 0..t.

    joined (N, 3·W): queries, keys and values at time t; caches `keys`, `values` (T, N, W) -> context (N, W).
    origins (T, N) int64: the cache row of each hypothesis at each time before t; None: its own row. The queries are
    already scaled.
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


def attend_source(
    query: Tensor, keys: Tensor, values: Tensor, hidden: Tensor | None, heads: int, weights: Tensor | None = None
) -> Tensor:
    """Attend from one query per hypothesis to the source of its sentence.

    query (N, W) of K hypotheses of B sentences; keys (B·H, D, S), values (B·H, S, D) -> context (N, W).
    hidden (B·H, 1, S) is added to the scores, as a mask. The queries are already scaled. The attention is written to
    `weights` (N, H, S), if given; contiguous and float32.
    """
    rows, width = query.shape
    size = width // heads
    context = torch.empty_like(query)
    added = query if hidden is None else hidden
    beams = rows * heads // keys.shape[0]
    given = (
        query, keys, values, added, context, context if weights is None else weights, keys.shape[2], heads, beams, size,
        query.stride(0), keys.stride(0), keys.stride(1), values.stride(0), values.stride(1), added.stride(0),
    )  # fmt: skip
    kept = weights is not None
    options = {"HIDDEN": hidden is not None, "KEPT": kept, "BLOCK": 2 * BLOCK, "num_warps": WARPS}
    if beams == 1:
        _source_kernel[(rows * heads,)](*given, SIZE=triton.next_power_of_2(size), **options)
    else:
        tile = max(16, triton.next_power_of_2(beams)), max(16, triton.next_power_of_2(size))  # tl.dot needs 16
        _beams_kernel[(len(keys),)](*given, BEAMS=tile[0], SIZE=tile[1], INTERPRET=INTERPRETED, **options)
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
    # start with the token itself, then add the earlier ones in blocks
    largest, total = tl.sum(q * k.to(tl.float32), 0), 1.0
    summed = v.to(tl.float32)
    for first in range(0, t, BLOCK):
        time = first + tl.arange(0, BLOCK)
        past = time < t
        row = tl.load(origins + time * rows + n, past, 0) if ORIGINS else tl.zeros((BLOCK,), tl.int64) + n
        place = ((time * rows + row) * width)[:, None] + column[None, :]
        there = past[:, None] & inside[None, :]
        old_k, old_v = tl.load(keys + place, there, 0.0), tl.load(values + place, there, 0.0)  # overlapping loads
        scores = tl.where(past, tl.sum(old_k.to(tl.float32) * q[None, :], 1), -float("inf"))
        top = tl.maximum(largest, tl.max(scores, 0))
        weights, shrunk = tl.exp(scores - top), tl.exp(largest - top)
        total = total * shrunk + tl.sum(weights, 0)
        summed = summed * shrunk + tl.sum(weights[:, None] * old_v.to(tl.float32), 0)
        largest = top
    tl.store(context + n * width + column, summed / total, inside)


@triton.jit(do_not_specialize=["length"])
def _source_kernel(
    query, keys, values, hidden, context, kept, length, heads, beams, size, apart, k_row, k_size, v_row, v_place,
    hidden_row, HIDDEN: tl.constexpr, KEPT: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
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
        if KEPT:
            tl.store(kept + (n * heads + h) * length + s, scores, s < length)
        top = tl.maximum(largest, tl.max(scores, 0))
        base = tl.where(top == -float("inf"), 0.0, top)  # every key masked so far
        weights, shrunk = tl.exp(scores - base), tl.exp(largest - base)
        total = total * shrunk + tl.sum(weights, 0)
        summed = summed * shrunk + tl.sum(weights[:, None] * v.to(tl.float32), 0)
        largest = top
    total = tl.where(total == 0, 1.0, total)
    tl.store(context + n * heads * size + column, summed / total, inside)
    if KEPT:  # from scores to weights
        base = tl.where(largest == -float("inf"), 0.0, largest)
        tl.debug_barrier()
        for first in range(0, length, BLOCK):
            s = first + tl.arange(0, BLOCK)
            place = kept + (n * heads + h) * length + s
            tl.store(place, tl.exp(tl.load(place, s < length, 0.0) - base) / total, s < length)


@triton.jit(do_not_specialize=["length"])
def _beams_kernel(
    query, keys, values, hidden, context, kept, length, heads, beams, size, apart, k_row, k_size, v_row, v_place,
    hidden_row, HIDDEN: tl.constexpr, KEPT: tl.constexpr, BEAMS: tl.constexpr, BLOCK: tl.constexpr, SIZE: tl.constexpr,
    INTERPRET: tl.constexpr,
):  # fmt: skip
    """Attend from all hypotheses of a sentence at once: keys and values are read once, and `tl.dot` multiplies."""
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
        scores = product(q, k, INTERPRET)
        if HIDDEN:
            scores += tl.load(hidden + bank * hidden_row + s, seen, 0.0).to(tl.float32)[None, :]
        scores = tl.where(seen[None, :], scores, -float("inf"))
        if KEPT:
            place = kept + ((n * heads + h) * length)[:, None] + s[None, :]
            tl.store(place, scores, (tl.arange(0, BEAMS) < beams)[:, None] & seen[None, :])
        top = tl.maximum(largest, tl.max(scores, 1))
        base = tl.where(top == -float("inf"), 0.0, top)
        weights, shrunk = tl.exp(scores - base[:, None]), tl.exp(largest - base)
        total = total * shrunk + tl.sum(weights, 1)
        summed = summed * shrunk[:, None] + product(weights.to(v.dtype), v, INTERPRET)
        largest = top
    total = tl.where(total == 0, 1.0, total)
    tl.store(context + n[:, None] * heads * size + column[None, :], summed / total[:, None], own)
    if KEPT:  # from scores to weights
        base = tl.where(largest == -float("inf"), 0.0, largest)
        tl.debug_barrier()
        for first in range(0, length, BLOCK):
            s = first + tl.arange(0, BLOCK)
            place = kept + ((n * heads + h) * length)[:, None] + s[None, :]
            there = (tl.arange(0, BEAMS) < beams)[:, None] & (s < length)[None, :]
            tl.store(place, tl.exp(tl.load(place, there, 0.0) - base[:, None]) / total[:, None], there)

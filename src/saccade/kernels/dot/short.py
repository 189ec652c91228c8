"""Softmax attention over inner products of short sequences on a GPU: a head of a sentence is one program.

Sentences are short. Kernels made for long sequences go over keys in blocks, keep what they need to put the blocks
together, and make the gradients in three passes. When all queries and keys of a head fit into one program, its softmax
is just a softmax, and a single pass backward makes all three gradients from queries, keys and values alone.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["short_attention"]

FORWARD_WARPS, BACKWARD_WARPS = 4, 8
"""At least; the backward pass holds more at a time."""


def short_attention(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float, causal: bool
) -> Tensor:
    """What `naive_attention` computes: query (B, H, T, D), keys (B, H, S, D), values (B, H, S, E) -> (B, H, T, E).

    mask (B, S): the keys that are there, for all queries alike; `causal`: query t sees keys 0..t. For half precision,
    and lengths and widths up to about 128: a program holds them all.
    """
    out: Tensor = _Attention.apply(query, keys, values, mask, scale, causal)
    return out


def _sizes(query: Tensor, keys: Tensor, values: Tensor) -> dict[str, int]:
    """What a program holds: powers of two, and at least what the matrix units take."""
    lengths = {
        "BLOCK_T": query.shape[2],
        "BLOCK_S": keys.shape[2],
        "BLOCK_D": query.shape[3],
        "BLOCK_E": values.shape[3],
    }
    return {name: max(16, triton.next_power_of_2(length)) for name, length in lengths.items()}


def _warps(sizes: dict[str, int], least: int) -> int:
    return max(least, min(8, sizes["BLOCK_T"] * sizes["BLOCK_S"] // 1024))


def _laid(x: Tensor) -> Tensor:
    """With the numbers of a row side by side."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _by_position(like: Tensor, shape: tuple[int, ...] | torch.Size) -> Tensor:
    """(B, H, T, D) that lies in memory as (B, T, H, D), so that joining the heads is free."""
    rows, heads, length, width = shape
    return like.new_empty(rows, length, heads, width).transpose(1, 2)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float, causal: bool
    ) -> Tensor:
        query, keys, values = _laid(query), _laid(keys), _laid(values)
        rows, heads, length, width = query.shape
        out = _by_position(query, (rows, heads, length, values.shape[3]))
        sizes = _sizes(query, keys, values)
        seen = query if mask is None else mask
        _forward_kernel[(rows * heads,)](
            query, keys, values, seen, out, heads, length, keys.shape[2], width, values.shape[3], scale,
            *query.stride()[:3], *keys.stride()[:3], *values.stride()[:3], *out.stride()[:3],
            0 if mask is None else mask.stride(0), 0 if mask is None else mask.stride(1),
            MASKED=mask is not None, CAUSAL=causal, FAST=_FAST, **sizes, num_warps=_warps(sizes, FORWARD_WARPS),
        )  # fmt: skip
        ctx.save_for_backward(query, keys, values, mask)
        ctx.scale, ctx.causal = scale, causal
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, values, mask = ctx.saved_tensors
        slope = _laid(grads[0])
        rows, heads, length, width = query.shape
        to_query, to_keys, to_values = (_by_position(part, part.shape) for part in (query, keys, values))
        sizes = _sizes(query, keys, values)
        seen = query if mask is None else mask
        _backward_kernel[(rows * heads,)](
            query, keys, values, seen, slope, to_query, to_keys, to_values,
            heads, length, keys.shape[2], width, values.shape[3], ctx.scale,
            *query.stride()[:3], *keys.stride()[:3], *values.stride()[:3], *slope.stride()[:3],
            *to_query.stride()[:3], *to_keys.stride()[:3], *to_values.stride()[:3],
            0 if mask is None else mask.stride(0), 0 if mask is None else mask.stride(1),
            MASKED=mask is not None, CAUSAL=ctx.causal, FAST=_FAST, **sizes, num_warps=_warps(sizes, BACKWARD_WARPS),
        )  # fmt: skip
        return to_query, to_keys, to_values, None, None, None


_FAST = not triton.knobs.runtime.interpret
"""Whether there are matrix units; the interpreter's products know no bfloat16."""


@triton.jit
def _dot(a, b, FAST: tl.constexpr):
    return tl.dot(a, b) if FAST else tl.dot(a.to(tl.float32), b.to(tl.float32))


@triton.jit
def _tile(
    start, row, head, row_stride, head_stride, place_stride, length, width, LENGTH: tl.constexpr, WIDTH: tl.constexpr
):
    """Where (length, width) numbers of a head stand, and which of them are there."""
    place, column = tl.arange(0, LENGTH), tl.arange(0, WIDTH)
    where = start + row * row_stride + head * head_stride + place[:, None].to(tl.int64) * place_stride + column[None, :]
    return where, (place < length)[:, None] & (column < width)[None, :]


@triton.jit
def _weights(
    q, k, mask, row, length, size, scale, mask_row, mask_key,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, FAST: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr,
):  # fmt: skip
    """softmax(scale · q kᵀ) in float32; a query that sees nothing has zeros."""
    key, time = tl.arange(0, BLOCK_S), tl.arange(0, BLOCK_T)
    sees = (key < size)[None, :] & (time < length)[:, None]
    if MASKED:
        sees = sees & (tl.load(mask + row * mask_row + key * mask_key, key < size, 0) != 0)[None, :]
    if CAUSAL:
        sees = sees & (key[None, :] <= time[:, None])
    scores = tl.where(sees, _dot(q, tl.trans(k), FAST) * scale, -float("inf"))
    largest = tl.max(scores, 1)
    largest = tl.where(largest == -float("inf"), 0.0, largest)
    powers = tl.exp(scores - largest[:, None])
    total = tl.sum(powers, 1)
    return powers / tl.where(total == 0, 1.0, total)[:, None]


@triton.jit
def _forward_kernel(
    query, keys, values, mask, out, heads, length, size, width, value_width, scale,
    q_row, q_head, q_place, k_row, k_head, k_place, v_row, v_head, v_place, o_row, o_head, o_place, mask_row, mask_key,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, FAST: tl.constexpr,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_E: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    row, head = (program // heads).to(tl.int64), (program % heads).to(tl.int64)
    where, there = _tile(query, row, head, q_row, q_head, q_place, length, width, BLOCK_T, BLOCK_D)
    q = tl.load(where, there, 0.0)
    where, there = _tile(keys, row, head, k_row, k_head, k_place, size, width, BLOCK_S, BLOCK_D)
    k = tl.load(where, there, 0.0)
    where, there = _tile(values, row, head, v_row, v_head, v_place, size, value_width, BLOCK_S, BLOCK_E)
    v = tl.load(where, there, 0.0)
    p = _weights(q, k, mask, row, length, size, scale, mask_row, mask_key, MASKED, CAUSAL, FAST, BLOCK_T, BLOCK_S)
    where, there = _tile(out, row, head, o_row, o_head, o_place, length, value_width, BLOCK_T, BLOCK_E)
    tl.store(where, _dot(p.to(v.dtype), v, FAST), there)


@triton.jit
def _backward_kernel(
    query, keys, values, mask, slope, to_query, to_keys, to_values, heads, length, size, width, value_width, scale,
    q_row, q_head, q_place, k_row, k_head, k_place, v_row, v_head, v_place, s_row, s_head, s_place,
    dq_row, dq_head, dq_place, dk_row, dk_head, dk_place, dv_row, dv_head, dv_place, mask_row, mask_key,
    MASKED: tl.constexpr, CAUSAL: tl.constexpr, FAST: tl.constexpr,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_E: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    row, head = (program // heads).to(tl.int64), (program % heads).to(tl.int64)
    where, there = _tile(query, row, head, q_row, q_head, q_place, length, width, BLOCK_T, BLOCK_D)
    q = tl.load(where, there, 0.0)
    where, there = _tile(keys, row, head, k_row, k_head, k_place, size, width, BLOCK_S, BLOCK_D)
    k = tl.load(where, there, 0.0)
    where, there = _tile(values, row, head, v_row, v_head, v_place, size, value_width, BLOCK_S, BLOCK_E)
    v = tl.load(where, there, 0.0)
    where, there = _tile(slope, row, head, s_row, s_head, s_place, length, value_width, BLOCK_T, BLOCK_E)
    do = tl.load(where, there, 0.0)
    p = _weights(q, k, mask, row, length, size, scale, mask_row, mask_key, MASKED, CAUSAL, FAST, BLOCK_T, BLOCK_S)
    dv = _dot(tl.trans(p.to(do.dtype)), do, FAST)
    where, there = _tile(to_values, row, head, dv_row, dv_head, dv_place, size, value_width, BLOCK_S, BLOCK_E)
    tl.store(where, dv, there)
    dp = _dot(do, tl.trans(v), FAST)
    ds = (p * (dp - tl.sum(p * dp, 1)[:, None]) * scale).to(q.dtype)
    where, there = _tile(to_query, row, head, dq_row, dq_head, dq_place, length, width, BLOCK_T, BLOCK_D)
    tl.store(where, _dot(ds, k, FAST), there)
    where, there = _tile(to_keys, row, head, dk_row, dk_head, dk_place, size, width, BLOCK_S, BLOCK_D)
    tl.store(where, _dot(tl.trans(ds), q, FAST), there)

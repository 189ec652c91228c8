"""Attention over short sequences on a GPU: one program holds all queries and keys of a head.

For sentences, time is spent on memory access. Here each pass reads or writes query, keys, values and context once. The
backward pass needs only the inputs, and writes gradients in the memory layout of a joint projection.
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


def short_attention(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float, causal: bool
) -> Tensor:
    """Compute attention: query (B, H, T, D), keys and values (B, H, S, D) -> (B, H, T, D).

    All have the same half-precision dtype; T and S at most 128, D at most 64. mask (B or 1, 1, 1, S). With `causal`,
    query t sees keys 0..t.
    """
    return _Short.apply(query, keys, values, mask, scale, causal)


class _Short(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, scale: float, causal: bool
    ) -> Tensor:
        query, keys, values = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, keys, values))
        context = _by_position(query)
        _run(_forward_kernel, [query, keys, values, context], mask, scale, causal)
        ctx.save_for_backward(query, keys, values, mask)
        ctx.scale, ctx.causal = scale, causal
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, keys, values, mask = ctx.saved_tensors
        grad = grads[0] if grads[0].stride(-1) == 1 else grads[0].contiguous()
        made = _gradients(query, keys, values)
        _run(_backward_kernel, [query, keys, values, grad, *made], mask, ctx.scale, ctx.causal)
        return *made, None, None, None


def _by_position(like: Tensor) -> Tensor:
    """Return an empty (B, H, T, D) stored as (B, T, H, D), so that joining the heads needs no copy."""
    rows, heads, length, width = like.shape
    return like.new_empty(rows, length, heads, width).transpose(1, 2)


def _gradients(query: Tensor, keys: Tensor, values: Tensor) -> list[Tensor]:
    """Return empty gradients; inputs that are slices of one joint projection get gradients in the same layout."""
    if _beside(keys, values):
        together = [query, keys, values] if _beside(query, keys) else [keys, values]
        rows, heads, size, width = keys.shape
        joint = keys.new_empty(rows, size, len(together), heads, width)
        parts = [part.transpose(1, 2) for part in joint.unbind(2)]
        return parts if len(together) == 3 else [_by_position(query), *parts]
    return [_by_position(x) for x in (query, keys, values)]


def _beside(left: Tensor, right: Tensor) -> bool:
    """Return whether at each position the heads of `right` follow those of `left` in memory."""
    same = left.shape == right.shape and left.stride() == right.stride()
    return same and right.data_ptr() - left.data_ptr() == left.shape[1] * left.shape[3] * left.element_size()


def _run(kernel: Any, parts: list[Tensor], mask: Tensor | None, scale: float, causal: bool) -> None:
    """Launch one program per head and row; each tensor is passed with its strides of row, head and position."""
    query, keys = parts[:2]
    rows, heads, length, width = query.shape
    size = keys.shape[2]
    tiles = [max(16, triton.next_power_of_2(n)) for n in (length, size, width)]
    strides = [stride for part in parts for stride in part.stride()[:3]]
    shown = query if mask is None else mask.view(torch.uint8)
    apart = (0, 0) if mask is None else (mask.stride(0) if len(mask) > 1 else 0, mask.stride(3))
    kernel[(rows * heads,)](
        *parts, shown, heads, length, size, width, scale, *strides, *apart,
        MASK=mask is not None, CAUSAL=causal, TILE_T=tiles[0], TILE_S=tiles[1], TILE_D=tiles[2],
        INTERPRET=INTERPRETED, num_warps=4 if max(tiles) <= 64 else 8, num_stages=1,
    )  # fmt: skip


INTERPRETED = bool(triton.knobs.runtime.interpret)
"""Whether Triton's interpreter runs the kernels: its matmul treats bfloat16 as integers, so inputs become float32."""


@triton.jit
def product(left, right, INTERPRET: tl.constexpr):
    """Multiply two matrices with float32 sums."""
    if INTERPRET:
        left, right = left.to(tl.float32), right.to(tl.float32)
    return tl.dot(left, right, input_precision="ieee")


@triton.jit
def _tile(x, n, h, by_row, by_head, by_position, position, column, inside):
    """Load the vectors of a head, one per position."""
    return tl.load(x + n * by_row + h * by_head + position[:, None] * by_position + column[None, :], inside, 0.0)


@triton.jit
def _exponentials(
    q, k, t, s, shown, n, size, scale, m_n, m_s, MASK: tl.constexpr, CAUSAL: tl.constexpr, INTERPRET: tl.constexpr
):
    """Compute exp(score - row maximum), 0 for masked keys, and the row sums, 1 for rows with every key masked."""
    sees = (s < size)[None, :]
    if MASK:
        sees = sees & (tl.load(shown + n * m_n + s * m_s, s < size, 0) != 0)[None, :]
    if CAUSAL:
        sees = sees & (s[None, :] <= t[:, None])
    scores = tl.where(sees, product(q, tl.trans(k), INTERPRET) * scale, -float("inf"))
    top = tl.max(scores, 1)
    e = tl.exp(scores - tl.where(top == -float("inf"), 0.0, top)[:, None])
    total = tl.sum(e, 1)
    return e, tl.where(total > 0, total, 1.0)


@triton.jit(do_not_specialize=["length", "size", "m_n"])
def _forward_kernel(
    query, keys, values, context, shown, heads, length, size, width, scale,
    q_n, q_h, q_t, k_n, k_h, k_s, v_n, v_h, v_s, c_n, c_h, c_t, m_n, m_s,
    MASK: tl.constexpr, CAUSAL: tl.constexpr, TILE_T: tl.constexpr, TILE_S: tl.constexpr, TILE_D: tl.constexpr,
    INTERPRET: tl.constexpr,
):  # fmt: skip
    n, h = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    t, s, d = tl.arange(0, TILE_T), tl.arange(0, TILE_S), tl.arange(0, TILE_D)
    query_mask = (t < length)[:, None] & (d < width)[None, :]
    there = (s < size)[:, None] & (d < width)[None, :]
    q = _tile(query, n, h, q_n, q_h, q_t, t, d, query_mask)
    k = _tile(keys, n, h, k_n, k_h, k_s, s, d, there)
    v = _tile(values, n, h, v_n, v_h, v_s, s, d, there)
    e, total = _exponentials(q, k, t, s, shown, n, size, scale, m_n, m_s, MASK, CAUSAL, INTERPRET)
    made = product(e.to(v.dtype), v, INTERPRET) / total[:, None]
    place = context + n * c_n + h * c_h + t[:, None] * c_t + d[None, :]
    tl.store(place, made.to(v.dtype), query_mask)


@triton.jit(do_not_specialize=["length", "size", "m_n"])
def _backward_kernel(
    query, keys, values, grad, to_query, to_keys, to_values, shown, heads, length, size, width, scale,
    q_n, q_h, q_t, k_n, k_h, k_s, v_n, v_h, v_s, g_n, g_h, g_t,
    tq_n, tq_h, tq_t, tk_n, tk_h, tk_s, tv_n, tv_h, tv_s, m_n, m_s,
    MASK: tl.constexpr, CAUSAL: tl.constexpr, TILE_T: tl.constexpr, TILE_S: tl.constexpr, TILE_D: tl.constexpr,
    INTERPRET: tl.constexpr,
):  # fmt: skip
    n, h = (tl.program_id(0) // heads).to(tl.int64), tl.program_id(0) % heads
    t, s, d = tl.arange(0, TILE_T), tl.arange(0, TILE_S), tl.arange(0, TILE_D)
    query_mask = (t < length)[:, None] & (d < width)[None, :]
    there = (s < size)[:, None] & (d < width)[None, :]
    q = _tile(query, n, h, q_n, q_h, q_t, t, d, query_mask)
    k = _tile(keys, n, h, k_n, k_h, k_s, s, d, there)
    v = _tile(values, n, h, v_n, v_h, v_s, s, d, there)
    g = _tile(grad, n, h, g_n, g_h, g_t, t, d, query_mask)
    e, total = _exponentials(q, k, t, s, shown, n, size, scale, m_n, m_s, MASK, CAUSAL, INTERPRET)
    weights = e / total[:, None]
    to_v = product(tl.trans(weights.to(v.dtype)), g, INTERPRET)
    tl.store(to_values + n * tv_n + h * tv_h + s[:, None] * tv_s + d[None, :], to_v.to(v.dtype), there)
    to_weights = product(g, tl.trans(v), INTERPRET)
    level = tl.sum(weights * to_weights, 1)
    to_scores = (weights * (to_weights - level[:, None]) * scale).to(v.dtype)
    to_q, to_k = product(to_scores, k, INTERPRET), product(tl.trans(to_scores), q, INTERPRET)
    tl.store(to_query + n * tq_n + h * tq_h + t[:, None] * tq_t + d[None, :], to_q.to(v.dtype), query_mask)
    tl.store(to_keys + n * tk_n + h * tk_h + s[:, None] * tk_s + d[None, :], to_k.to(v.dtype), there)

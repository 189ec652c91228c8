"""Additive scores on a GPU: the T·S·A tensor is never written, and a tanh costs about half a special function.

    tanh(q + k) = 1 - 2 / (1 + e^2q e^2k)

so exponentials are needed once per row instead of once per pair of rows, and two features share one reciprocal:

    v/x + w/y = (v y + w x) / (x y)

With |q| and |k| up to LIMIT, x y stays finite in float32 (SHARING). A row of the batch with larger values uses a form
that takes any input but needs two special functions per number (PLAIN). The kernels choose between the two on the
device, row by row. float32 inputs use a tanh of full precision (PRECISE).
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton.language.extra import libdevice

__all__ = ["fused_scores"]

LIMIT = 10.0
"""Largest |q| and |k| for SHARING: (1 + e^40)² is 5.5e34, and float32 ends at 3.4e38."""
SHARING, PLAIN, PRECISE = 0, 1, 2
FORWARD, BACKWARD, WARPS = (16, 128), (16, 128), 4
"""Tile sizes: (queries, keys) forward, (rows, features) backward."""


def fused_scores(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """Compute `naive_scores` in float32; query (N, T, A), keys (N, S, A), v (H, A): row n has head n % H."""
    scores: Tensor = _Scores.apply(query, keys, v)
    return scores


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
        query, keys, v = query.contiguous(), keys.contiguous(), v.contiguous()
        ctx.save_for_backward(query, keys, v)
        scores = torch.empty(*query.shape[:2], keys.shape[1], device=query.device, dtype=torch.float32)
        for left, right, wild, how in _passes(query, keys, feature_major=True):
            _score(left, right, v, wild, scores, how)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, keys, v = ctx.saved_tensors
        to_scores = grads[0].contiguous()
        to_query, to_keys = torch.empty_like(query), torch.empty_like(keys)
        blocks = triton.cdiv(query.shape[1], BACKWARD[0])
        shares = torch.empty(query.shape[0], blocks, query.shape[2], device=query.device, dtype=torch.float32)
        for left, right, wild, how in _passes(query, keys, feature_major=False):
            _gradient(left, right, v, to_scores, wild, to_query, shares, how)
            _gradient(right, left, v, to_scores.mT, wild, to_keys, None, how)
        to_v = shares.sum(1)  # PRECISE: Σ g · tanh; else Σ g / (1 + e^2x), for Σ g · tanh = Σ g - 2 Σ g / (1 + e^2x)
        if query.dtype != torch.float32:
            to_v = to_scores.sum((1, 2))[:, None] - 2 * to_v
        return to_query, to_keys, to_v.unflatten(0, (-1, len(v))).sum(0).to(v.dtype)


Pass = tuple[Tensor, Tensor, Tensor, int]


def _passes(query: Tensor, keys: Tensor, *, feature_major: bool) -> list[Pass]:
    """Return the kernel launches, one per form: both sides as it reads them, which rows (N,) are wild, and the form.

    A row is wild if its |q| or |k| exceeds LIMIT. Each launch skips the rows of the other form, so that the host
    never has to wait for the flags.
    """
    if query.dtype == torch.float32:
        return [(query, keys, torch.empty(len(query), device=query.device, dtype=torch.int32), PRECISE)]
    left, wild_left = _exponentials(query, feature_major=feature_major)
    right, wild_right = _exponentials(keys, feature_major=feature_major)
    wild = (wild_left | wild_right).to(torch.int32)
    return [(left, right, wild, SHARING), (query, keys, wild, PLAIN)]


def _exponentials(x: Tensor, *, feature_major: bool) -> tuple[Tensor, Tensor]:
    """Compute e^2x (N, L, A) in float32, and which rows are wild; `feature_major` stores it as (N, A, L)."""
    rows, length, width = x.shape
    out = torch.empty(rows, *((width, length) if feature_major else (length, width)), device=x.device)
    out = out.mT if feature_major else out
    grid = (triton.cdiv(length, 64), triton.cdiv(width, 64), rows)
    wild = torch.empty(rows, grid[0] * grid[1], device=x.device, dtype=torch.int32)
    _exponential_kernel[grid](
        x, out, wild, length, width, x.stride(0), x.stride(1), *out.stride(), LIMIT=LIMIT, BLOCK=64, num_warps=4
    )
    return out, wild.amax(1)


def _score(query: Tensor, keys: Tensor, v: Tensor, wild: Tensor, scores: Tensor, how: int) -> None:
    rows, length, width = query.shape
    size = keys.shape[1]
    tile_t, tile_s = FORWARD
    grid = (triton.cdiv(size, tile_s), triton.cdiv(length, tile_t), rows)
    even = length % tile_t == 0 and size % tile_s == 0
    _score_kernel[grid](
        query, keys, v, wild, scores, length, size, width, len(v), *query.stride(), *keys.stride(),
        TILE_T=tile_t, TILE_S=tile_s, EVEN=even, HOW=how, FAST=_FAST, num_warps=WARPS,
    )  # fmt: skip


def _gradient(
    own: Tensor, other: Tensor, v: Tensor, to_scores: Tensor, wild: Tensor, out: Tensor, shares: Tensor | None, how: int
) -> None:
    """Compute the gradient of one side from the scores' gradient (N, own, other); `shares` gets the sums for v."""
    rows, length, width = own.shape
    size = other.shape[1]
    tile_t, tile_a = BACKWARD
    grid = (triton.cdiv(width, tile_a), triton.cdiv(length, tile_t), rows)
    _gradient_kernel[grid](
        own, other, v, to_scores, wild, out, out if shares is None else shares, length, size, width, len(v),
        *to_scores.stride(), TILE_T=tile_t, TILE_A=tile_a, HOW=how, SHARES=shares is not None, FAST=_FAST,
        num_warps=WARPS,
    )  # fmt: skip


_FAST = not triton.knobs.runtime.interpret
"""Whether the GPU's special functions (PTX, libdevice) can be called: Triton's interpreter has none of them."""


@triton.jit
def _reciprocal(x, FAST: tl.constexpr):
    if FAST:
        r = tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=r,r", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        r = 1.0 / x
    return r


@triton.jit
def _tanh(x, FAST: tl.constexpr):
    if FAST:
        y = libdevice.tanh(x)
    else:
        e = tl.exp(-2 * tl.abs(x))
        y = tl.where(x < 0, e - 1, 1 - e) / (1 + e)
    return y


@triton.jit
def _exponential_kernel(
    x, out, wild, length, width, x_n, x_l, out_n, out_l, out_a, LIMIT: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    n = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (rows < length)[:, None] & (columns < width)[None, :]
    value = tl.load(x + n * x_n + rows[:, None] * x_l + columns[None, :], inside, 0.0).to(tl.float32)
    tl.store(out + n * out_n + rows[:, None] * out_l + columns[None, :] * out_a, tl.exp(2 * value), inside)
    beyond = tl.where(tl.abs(value) <= LIMIT, 0, 1)  # 1 for NaN too
    place = (n * tl.num_programs(0) + tl.program_id(0)) * tl.num_programs(1) + tl.program_id(1)
    tl.store(wild + place, tl.max(tl.max(beyond, 1), 0))


@triton.jit
def _load(place, inside, EVEN: tl.constexpr):
    if EVEN:  # noqa: SIM108 (the compiler drops the other branch)
        value = tl.load(place)
    else:
        value = tl.load(place, inside, 0.0)
    return value.to(tl.float32)


@triton.jit
def _feature(q, k, v, HOW: tl.constexpr, FAST: tl.constexpr):
    """Compute a feature's part of a tile (T, S): v · tanh if PRECISE, else v / (1 + e^2x)."""
    if HOW == 0:
        made = v * _reciprocal(1 + q[:, None] * k[None, :], FAST)
    elif HOW == 1:
        made = v * _reciprocal(1 + tl.exp(2 * (q[:, None] + k[None, :])), FAST)
    else:
        made = v * _tanh(q[:, None] + k[None, :], FAST)
    return made


@triton.jit
def _two_features(q0, q1, k0, k1, v0, v1, HOW: tl.constexpr, FAST: tl.constexpr):
    """Compute the part of two features, which share a reciprocal if SHARING."""
    if HOW == 0:
        x, y = 1 + q0[:, None] * k0[None, :], 1 + q1[:, None] * k1[None, :]
        made = (v0 * y + v1 * x) * _reciprocal(x * y, FAST)
    else:
        made = _feature(q0, k0, v0, HOW, FAST) + _feature(q1, k1, v1, HOW, FAST)
    return made


@triton.jit
def _score_kernel(
    query, keys, v, wild, scores, length, size, width, heads, q_n, q_t, q_a, k_n, k_s, k_a,
    TILE_T: tl.constexpr, TILE_S: tl.constexpr, EVEN: tl.constexpr, HOW: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Compute a tile of scores, feature by feature, so that nothing is summed across threads."""
    n = tl.program_id(2).to(tl.int64)
    mine = True
    if HOW < 2:
        mine = tl.load(wild + n) == HOW
    if mine:
        t = tl.program_id(1) * TILE_T + tl.arange(0, TILE_T)
        s = tl.program_id(0) * TILE_S + tl.arange(0, TILE_S)
        there, here = t < length, s < size
        q, k, w = query + n * q_n + t * q_t, keys + n * k_n + s * k_s, v + (n % heads) * width
        total = tl.zeros((TILE_T, TILE_S), tl.float32)
        sum_v = 0.0
        for _ in range(width // 4):  # four at a time: their loads overlap, and the sum is rounded less often
            q0, q1 = _load(q, there, EVEN), _load(q + q_a, there, EVEN)
            q2, q3 = _load(q + 2 * q_a, there, EVEN), _load(q + 3 * q_a, there, EVEN)
            k0, k1 = _load(k, here, EVEN), _load(k + k_a, here, EVEN)
            k2, k3 = _load(k + 2 * k_a, here, EVEN), _load(k + 3 * k_a, here, EVEN)
            v0, v1 = tl.load(w).to(tl.float32), tl.load(w + 1).to(tl.float32)
            v2, v3 = tl.load(w + 2).to(tl.float32), tl.load(w + 3).to(tl.float32)
            if HOW == 2:
                total += _two_features(q0, q1, k0, k1, v0, v1, HOW, FAST) + _two_features(
                    q2, q3, k2, k3, v2, v3, HOW, FAST
                )
            else:
                total += _two_features(q0, q1, k0, k1, v0, v1, HOW, FAST)
                total += _two_features(q2, q3, k2, k3, v2, v3, HOW, FAST)
            sum_v += (v0 + v1) + (v2 + v3)
            q += 4 * q_a
            k += 4 * k_a
            w += 4
        for _ in range(width % 4):
            v0 = tl.load(w).to(tl.float32)
            total += _feature(_load(q, there, EVEN), _load(k, here, EVEN), v0, HOW, FAST)
            sum_v += v0
            q += q_a
            k += k_a
            w += 1
        if HOW < 2:
            total = sum_v - 2 * total
        place = scores + n * length * size + t[:, None] * size + s[None, :]
        tl.store(place, total, there[:, None] & here[None, :])


@triton.jit
def _one_row(q, k, HOW: tl.constexpr, FAST: tl.constexpr):
    """Compute tanh if PRECISE, else r = 1 / (1 + e^2x), for one row of the other side."""
    if HOW == 0:
        r = _reciprocal(1 + q * k[None, :], FAST)
    elif HOW == 1:
        r = _reciprocal(1 + tl.exp(2 * (q + k[None, :])), FAST)
    else:
        r = _tanh(q + k[None, :], FAST)
    return r


@triton.jit
def _two_rows(q, k0, k1, HOW: tl.constexpr, FAST: tl.constexpr):
    """Compute the same for two rows, which share a reciprocal if SHARING."""
    if HOW == 0:
        x, y = 1 + q * k0[None, :], 1 + q * k1[None, :]
        both = _reciprocal(x * y, FAST)
        r0, r1 = both * y, both * x
    else:
        r0, r1 = _one_row(q, k0, HOW, FAST), _one_row(q, k1, HOW, FAST)
    return r0, r1


@triton.jit
def _tanh_derivative(r, HOW: tl.constexpr):
    """Compute the derivative of tanh: 1 - tanh² if PRECISE, else a quarter of it, r - r²."""
    if HOW == 2:  # noqa: SIM108 (the compiler drops the other branch)
        derivative = 1 - r * r
    else:
        derivative = r - r * r
    return derivative


@triton.jit
def _gradient_kernel(
    own, other, v, to_scores, wild, out, shares, length, size, width, heads, g_n, g_t, g_s,
    TILE_T: tl.constexpr, TILE_A: tl.constexpr, HOW: tl.constexpr, SHARES: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Compute a tile of one side's gradient, (rows, features), in a loop over the rows of the other side."""
    n = tl.program_id(2).to(tl.int64)
    mine = True
    if HOW < 2:
        mine = tl.load(wild + n) == HOW
    if mine:
        t = tl.program_id(1) * TILE_T + tl.arange(0, TILE_T)
        a = tl.program_id(0) * TILE_A + tl.arange(0, TILE_A)
        there, inside = t < length, a < width
        whole = there[:, None] & inside[None, :]
        place = n * length * width + t[:, None] * width + a[None, :]
        q = tl.load(own + place, whole, 0.0).to(tl.float32)
        k, g = other + n * size * width + a, to_scores + n * g_n + t * g_t
        total, share = tl.zeros((TILE_T, TILE_A), tl.float32), tl.zeros((TILE_T, TILE_A), tl.float32)
        for _ in range(size // 2):
            k0, k1 = tl.load(k, inside, 0.0).to(tl.float32), tl.load(k + width, inside, 0.0).to(tl.float32)
            g0, g1 = tl.load(g, there, 0.0).to(tl.float32), tl.load(g + g_s, there, 0.0).to(tl.float32)
            r0, r1 = _two_rows(q, k0, k1, HOW, FAST)
            total += g0[:, None] * _tanh_derivative(r0, HOW) + g1[:, None] * _tanh_derivative(r1, HOW)
            if SHARES:
                share += g0[:, None] * r0 + g1[:, None] * r1
            k += 2 * width
            g += 2 * g_s
        if size % 2 == 1:
            k0, g0 = tl.load(k, inside, 0.0).to(tl.float32), tl.load(g, there, 0.0).to(tl.float32)
            r0 = _one_row(q, k0, HOW, FAST)
            total += g0[:, None] * _tanh_derivative(r0, HOW)
            if SHARES:
                share += g0[:, None] * r0
        scale = tl.load(v + (n % heads) * width + a, inside, 0.0).to(tl.float32)
        if HOW < 2:
            scale = 4 * scale
        tl.store(out + place, (scale[None, :] * total).to(out.dtype.element_ty), whole)
        if SHARES:
            blocks = tl.cdiv(length, TILE_T)
            kept = tl.sum(tl.where(there[:, None], share, 0.0), 0)
            tl.store(shares + (n * blocks + tl.program_id(1)) * width + a, kept, inside)

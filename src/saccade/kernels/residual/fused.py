"""The residual connection around a sub-layer and its norm on a GPU: tiles of whole rows, read and written once.

The kernel draws the dropout mask from a seed by torch's generator. The backward pass draws the same mask again from
that seed, so no mask is stored.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.dispatch import multiprocessors

__all__ = [
    "fused_layer_norm",
    "fused_residual",
    "fused_residual_and_norm",
    "fused_residual_norm",
    "fused_residual_norm_twice",
]

LEVELS = 1 << 16
"""Values of the 16 random bits that decide about a number: a draw of 128 bits decides about eight."""
TILE = 2048
"""Numbers that a program holds at a time, in whole rows."""
PROGRAMS = 4
"""Backward programs per multiprocessor; each sums its own part of the gradients of the norm's weight and bias."""


def fused_layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float, dtype: torch.dtype) -> Tensor:
    """Compute LayerNorm(x) in `dtype`."""
    return _apply(x, None, weight, bias, eps, 0.0, dtype, False, False)


def fused_residual(x: Tensor, out: Tensor, p: float, dtype: torch.dtype) -> Tensor:
    """Compute x + Dropout(out) in `dtype`."""
    return _apply(x, out, None, None, 0.0, p, dtype, True, False)


def fused_residual_norm(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, dtype: torch.dtype
) -> Tensor:
    """Compute LayerNorm(x + Dropout(out)) in `dtype`."""
    return _apply(x, out, weight, bias, eps, p, dtype, False, False)


def fused_residual_norm_twice(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Return LayerNorm(x + Dropout(out)) twice, for two uses; the backward kernel adds up their gradients."""
    return _apply(x, out, weight, bias, eps, p, dtype, False, True)


def fused_residual_and_norm(
    x: Tensor, out: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float, dtype: torch.dtype
) -> tuple[Tensor, Tensor]:
    """Compute x + Dropout(out) and its LayerNorm in `dtype`."""
    return _apply(x, out, weight, bias, eps, p, dtype, True, False)


def _apply(*parts: Any) -> Any:
    return _Residual.apply(*parts, torch.is_grad_enabled())  # always off inside forward


def _seed(device: torch.device) -> Tensor:
    """Draw (1,) int64 by torch's generator on the device, so that each replay of a CUDA graph draws a new seed."""
    return torch.empty(1, dtype=torch.int64, device=device).random_()


def _levels(p: float) -> tuple[int, float]:
    """Return the level below which a number is dropped, and the scale of the others."""
    dropped = round(p * LEVELS)
    return dropped, LEVELS / (LEVELS - dropped) if dropped < LEVELS else 0.0


class _Residual(torch.autograd.Function):
    """Returns the sum (if `summed`) and its norm (if there is a weight), or the norm twice (if `twice`)."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        out: Tensor | None,
        weight: Tensor | None,
        bias: Tensor | None,
        eps: float,
        p: float,
        dtype: torch.dtype,
        summed: bool,
        twice: bool,
        learns: bool,
    ) -> Tensor | tuple[Tensor, Tensor]:
        x = x.contiguous()
        out = None if out is None else out.contiguous()
        dropped, scale = (0, 1.0) if out is None else _levels(p)
        seed = _seed(x.device) if dropped else None
        # The norm's backward pass reads the sum: without `out` the input x, if `summed` an output, else kept for it.
        keep = out is not None and (summed or learns)
        total = torch.empty_like(x, dtype=dtype) if keep else x
        y = None if weight is None else torch.empty_like(x, dtype=dtype)
        rows = x.numel() // x.shape[-1]
        moments = x.new_empty(2, rows if weight is not None else 0, dtype=torch.float32)
        block, tile, warps = _shape(x.shape[-1])
        _forward_kernel[(triton.cdiv(rows, tile),)](
            x, x if out is None else out, weight, bias, seed, total, y, moments,
            rows, x.shape[-1], eps, dropped, scale,
            OUT=out is not None, DROP=dropped > 0, NORM=weight is not None, KEEP=keep,
            TILE=tile, BLOCK=block, num_warps=warps,
        )  # fmt: skip
        ctx.save_for_backward(total if weight is not None else None, weight, moments, seed)
        ctx.dropped, ctx.scale, ctx.summed, ctx.twice = dropped, scale, summed, twice
        ctx.x, ctx.out = (x.shape, x.dtype), None if out is None else out.dtype
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.set_materialize_grads(False)
        if y is None:
            return total
        if twice:
            return y, y.view_as(y)
        return (total, y) if summed else y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        total, weight, moments, seed = ctx.saved_tensors
        given = [None if grad is None else grad.contiguous() for grad in grads]
        to_total = given[0] if ctx.summed else None
        to_y, also = None if weight is None else given[-1], given[0] if ctx.twice else None
        if to_y is None:
            to_y, also = also, None
        if to_total is None and to_y is None:
            return (None,) * 10
        (shape, dtype), out_dtype = ctx.x, ctx.out
        like = to_y if to_y is not None else to_total
        assert like is not None
        to_x = torch.empty(shape, dtype=dtype, device=like.device)
        apart = out_dtype is not None and (ctx.dropped > 0 or out_dtype != dtype)
        to_out = torch.empty(shape, dtype=out_dtype, device=like.device) if apart else to_x
        shares = _gradients(
            to_total, to_y, also, total, weight, moments, seed, to_x, to_out, apart, ctx.dropped, ctx.scale
        )
        to_weight = to_bias = None
        if shares is not None:
            sums = shares.sum(0)
            to_weight, to_bias = sums[0].to(weight.dtype), sums[1].to(ctx.bias_dtype)
        return to_x, None if out_dtype is None else to_out, to_weight, to_bias, *[None] * 6


def _gradients(
    to_total: Tensor | None,
    to_y: Tensor | None,
    also: Tensor | None,
    total: Tensor | None,
    weight: Tensor | None,
    moments: Tensor,
    seed: Tensor | None,
    to_x: Tensor,
    to_out: Tensor,
    apart: bool,
    dropped: int,
    scale: float,
) -> Tensor | None:
    """Fill `to_x` and, if `apart`, `to_out`; return each program's part of the norm's gradients (programs, 2, D)."""
    width = to_x.shape[-1]
    rows = to_x.numel() // width
    block, tile, warps = _shape(width)
    programs = min(triton.cdiv(rows, tile), PROGRAMS * multiprocessors(to_x.device))
    norm = to_y is not None
    shares = to_x.new_empty(programs, 2, width, dtype=torch.float32) if norm else None
    _backward_kernel[(programs,)](
        to_total, to_y, also, total, weight, moments, seed, to_x, to_out, shares,
        rows, width, dropped, scale,
        SUMMED=to_total is not None, NORM=norm, TWICE=also is not None, DROP=dropped > 0, APART=apart,
        TILE=tile, BLOCK=block, num_warps=warps,
    )  # fmt: skip
    return shares


def _shape(width: int) -> tuple[int, int, int]:
    """Return the columns, rows and warps of a tile."""
    block = max(16, triton.next_power_of_2(width))
    return block, max(1, TILE // block) if block >= 64 else 8, 4 if block <= TILE else 8


@triton.jit
def _kept(seed, row, dropped, TILE: tl.constexpr, BLOCK: tl.constexpr):
    """Draw the mask (TILE, BLOCK) of numbers to keep in these rows; one draw serves eight neighbors."""
    draw = row[:, None] * (BLOCK // 8) + tl.arange(0, BLOCK // 8)[None, :]
    a, b, c, d = tl.randint4x(tl.load(seed), draw, n_rounds=7)
    words = tl.interleave(tl.interleave(a, c), tl.interleave(b, d)).to(tl.uint32)
    return tl.interleave(words & 0xFFFF, words >> 16).to(tl.int32) >= dropped


@triton.jit(do_not_specialize=["rows"])
def _forward_kernel(
    x, out, weight, bias, seed, total, y, moments, rows, width, eps, dropped, scale,
    OUT: tl.constexpr, DROP: tl.constexpr, NORM: tl.constexpr, KEEP: tl.constexpr,
    TILE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.arange(0, BLOCK)
    here = column < width
    inside = (row < rows)[:, None] & here[None, :]
    place = row[:, None].to(tl.int64) * width + column[None, :]
    value = tl.load(x + place, inside, 0.0).to(tl.float32)
    if OUT:
        more = tl.load(out + place, inside, 0.0).to(tl.float32)
        if DROP:
            more = tl.where(_kept(seed, row, dropped, TILE, BLOCK), more * scale, 0.0)
        value += more
    if KEEP:
        tl.store(total + place, value.to(total.dtype.element_ty), inside)
    if NORM:
        mean = tl.sum(value, 1) / width
        centred = tl.where(here[None, :], value - mean[:, None], 0.0)
        spread = 1 / tl.sqrt(tl.sum(centred * centred, 1) / width + eps)
        tl.store(moments + row, mean, row < rows)
        tl.store(moments + rows + row, spread, row < rows)
        w = tl.load(weight + column, here, 0.0).to(tl.float32)
        b = tl.load(bias + column, here, 0.0).to(tl.float32)
        made = centred * spread[:, None] * w[None, :] + b[None, :]
        tl.store(y + place, made.to(y.dtype.element_ty), inside)


@triton.jit(do_not_specialize=["rows"])
def _backward_kernel(
    to_total, to_y, also, total, weight, moments, seed, to_x, to_out, shares, rows, width, dropped, scale,
    SUMMED: tl.constexpr, NORM: tl.constexpr, TWICE: tl.constexpr, DROP: tl.constexpr, APART: tl.constexpr,
    TILE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Process tiles of rows in a loop; registers hold the sums for the norm's weight and bias until its end."""
    column = tl.arange(0, BLOCK)
    here = column < width
    if NORM:
        w = tl.load(weight + column, here, 0.0).to(tl.float32)
        to_w, to_b = tl.zeros((TILE, BLOCK), tl.float32), tl.zeros((TILE, BLOCK), tl.float32)
    for tile in range(tl.program_id(0), tl.cdiv(rows, TILE), tl.num_programs(0)):
        row = tile * TILE + tl.arange(0, TILE)
        inside = (row < rows)[:, None] & here[None, :]
        place = row[:, None].to(tl.int64) * width + column[None, :]
        if SUMMED:
            grad = tl.load(to_total + place, inside, 0.0).to(tl.float32)
        if NORM:
            g = tl.load(to_y + place, inside, 0.0).to(tl.float32)
            if TWICE:
                g += tl.load(also + place, inside, 0.0).to(tl.float32)
            mean = tl.load(moments + row, row < rows, 0.0)
            spread = tl.load(moments + rows + row, row < rows, 0.0)
            value = tl.load(total + place, inside, 0.0).to(tl.float32)
            unit = tl.where(inside, (value - mean[:, None]) * spread[:, None], 0.0)
            to_w += g * unit
            to_b += g
            g *= w[None, :]
            along, level = tl.sum(g * unit, 1) / width, tl.sum(g, 1) / width
            g = (g - unit * along[:, None] - level[:, None]) * spread[:, None]
            if SUMMED:
                grad += g
            else:
                grad = g
        tl.store(to_x + place, grad.to(to_x.dtype.element_ty), inside)
        if APART:
            if DROP:
                grad = tl.where(_kept(seed, row, dropped, TILE, BLOCK), grad * scale, 0.0)
            tl.store(to_out + place, grad.to(to_out.dtype.element_ty), inside)
    if NORM:
        mine = shares + tl.program_id(0) * 2 * width + column
        tl.store(mine, tl.sum(to_w, 0), here)
        tl.store(mine + width, tl.sum(to_b, 0), here)

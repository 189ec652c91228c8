"""Column sums on a GPU, optionally with the backward pass of a ReLU: each number is read once."""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from saccade.kernels.dispatch import multiprocessors

__all__ = ["column_sums", "gate_"]

TILE_ROWS, TILE_COLUMNS, WARPS = 128, 128, 8
PROGRAMS = 2
"""Programs per multiprocessor: enough loads in flight to use the memory bandwidth."""


def column_sums(x: Tensor) -> Tensor:
    """Sum the columns of (N, D) -> (D,) in float32; rows may be strided."""
    return _sums(x, None)


def gate_(grad: Tensor, inner: Tensor) -> Tensor:
    """Zero the gradient (N, D) in place where the ReLU output `inner` (N, D) is 0; return its `column_sums`."""
    return _sums(grad, inner)


def _sums(x: Tensor, inner: Tensor | None) -> Tensor:
    rows, width = x.shape
    blocks = triton.cdiv(width, TILE_COLUMNS)
    parts = max(1, min(PROGRAMS * multiprocessors(x.device) // blocks, triton.cdiv(rows, TILE_ROWS)))
    share = triton.cdiv(triton.cdiv(rows, parts), TILE_ROWS) * TILE_ROWS
    parts = triton.cdiv(rows, share)
    shares = torch.empty(parts, width, device=x.device, dtype=torch.float32)
    other = x if inner is None else inner
    assert x.stride(1) == other.stride(1) == 1, "rows may be strided, but each must be contiguous"
    _sums_kernel[(blocks, parts)](
        x, other, shares, rows, width, share, x.stride(0), other.stride(0),
        GATED=inner is not None, TILE_ROWS=TILE_ROWS, TILE_COLUMNS=TILE_COLUMNS, num_warps=WARPS,
    )  # fmt: skip
    return shares[0] if parts == 1 else shares.sum(0)


@triton.jit(do_not_specialize=["rows"])
def _sums_kernel(
    x, inner, shares, rows, width, share, x_row, inner_row,
    GATED: tl.constexpr, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr,
):  # fmt: skip
    """Sum a block of columns over a share of the rows."""
    column = tl.program_id(0) * TILE_COLUMNS + tl.arange(0, TILE_COLUMNS)
    begin = tl.program_id(1) * share
    total = tl.zeros((TILE_ROWS, TILE_COLUMNS), tl.float32)
    for start in range(begin, tl.minimum(begin + share, rows), TILE_ROWS):
        row = start + tl.arange(0, TILE_ROWS)
        inside = (row < rows)[:, None] & (column < width)[None, :]
        place = x + row[:, None].to(tl.int64) * x_row + column[None, :]
        value = tl.load(place, inside, 0.0)
        if GATED:
            made = tl.load(inner + row[:, None].to(tl.int64) * inner_row + column[None, :], inside, 0.0)
            value = tl.where(made <= 0, 0.0, value).to(x.dtype.element_ty)
            tl.store(place, value, inside)
        total += value.to(tl.float32)
    tl.store(shares + tl.program_id(1) * width + column, tl.sum(total, 0), column < width)

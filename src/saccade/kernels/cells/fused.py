"""LSTM and GRU cells on a GPU: one kernel forward and one backward, instead of a dozen by torch's operations.

In a loop over time steps the tensors are small, and launching a kernel takes as long as running it. Memory cells stay
in float32, whatever the dtype of the matmuls.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from saccade.kernels.additive.fused import _FAST, _tanh

__all__ = ["fused_gru_cell", "fused_lstm_cell"]

BLOCK = 512


def fused_lstm_cell(
    gates: Tensor, of_hidden: Tensor, memory: Tensor, extra: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute `naive_lstm_cell`; h' has the dtype of the gates, c' is float32 or wider."""
    hidden, kept = _LSTM.apply(gates, of_hidden, memory, extra)
    return hidden, kept


def fused_gru_cell(gates: Tensor, of_hidden: Tensor, hidden: Tensor) -> Tensor:
    """Compute `naive_gru_cell` in the dtype of the hidden state."""
    after: Tensor = _GRU.apply(gates, of_hidden, hidden)
    return after


def _rows(x: Tensor) -> Tensor:
    """Return `x`, or a contiguous copy unless each row is contiguous; rows may be strided."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _grid(x: Tensor) -> tuple[int, int]:
    return x.shape[0], triton.cdiv(x.shape[1], BLOCK)


class _LSTM(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, of_hidden: Tensor, memory: Tensor, extra: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        gates, of_hidden, memory = _rows(gates), _rows(of_hidden), _rows(memory)
        extra = None if extra is None else _rows(extra)
        rows, width = memory.shape
        hidden = torch.empty(rows, width, device=gates.device, dtype=gates.dtype)
        after = torch.empty(rows, width, device=gates.device, dtype=torch.promote_types(memory.dtype, torch.float32))
        opened = torch.empty(rows, 4 * width, device=gates.device, dtype=gates.dtype)
        added = memory if extra is None else extra
        _lstm_kernel[_grid(memory)](
            gates, of_hidden, memory, added, hidden, after, opened, width,
            gates.stride(0), of_hidden.stride(0), memory.stride(0), added.stride(0),
            EXTRA=extra is not None, FAST=_FAST, BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
        ctx.save_for_backward(opened, memory, after)
        ctx.dtypes = of_hidden.dtype, memory.dtype, None if extra is None else extra.dtype
        return hidden, after

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
        opened, memory, after = ctx.saved_tensors
        to_hidden, to_after = grads
        to_gates, to_memory = torch.empty_like(opened), torch.empty_like(after)
        to_extra = None if ctx.dtypes[2] is None else torch.empty_like(after)
        one, other = (after if grad is None else _rows(grad) for grad in (to_hidden, to_after))
        _lstm_backward_kernel[_grid(memory)](
            opened, memory, after, one, other, to_gates, to_memory, to_memory if to_extra is None else to_extra,
            memory.shape[1], memory.stride(0), one.stride(0), other.stride(0),
            HIDDEN=to_hidden is not None, AFTER=to_after is not None, EXTRA=to_extra is not None,
            FAST=_FAST, BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
        of_hidden, own, extra = ctx.dtypes
        return to_gates, to_gates.to(of_hidden), to_memory.to(own), None if to_extra is None else to_extra.to(extra)


class _GRU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, of_hidden: Tensor, hidden: Tensor) -> Tensor:
        gates, of_hidden, hidden = _rows(gates), _rows(of_hidden), _rows(hidden)
        rows, width = hidden.shape
        after = torch.empty(rows, width, device=gates.device, dtype=hidden.dtype)
        opened = torch.empty(rows, 3 * width, device=gates.device, dtype=gates.dtype)
        _gru_kernel[_grid(hidden)](
            gates, of_hidden, hidden, after, opened, width, gates.stride(0), of_hidden.stride(0), hidden.stride(0),
            FAST=_FAST, BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
        ctx.save_for_backward(opened, of_hidden, hidden)
        return after

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        opened, of_hidden, hidden = ctx.saved_tensors
        grad = _rows(grads[0])
        to_gates, to_hidden = torch.empty_like(opened), torch.empty_like(hidden, memory_format=torch.contiguous_format)
        to_of_hidden = torch.empty_like(opened, dtype=of_hidden.dtype)
        _gru_backward_kernel[_grid(hidden)](
            opened, of_hidden, hidden, grad, to_gates, to_of_hidden, to_hidden, hidden.shape[1],
            of_hidden.stride(0), hidden.stride(0), grad.stride(0), BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
        return to_gates, to_of_hidden, to_hidden


@triton.jit
def _sum(one, other, place, inside):
    return tl.load(one + place, inside, 0.0).to(tl.float32) + tl.load(other + place, inside, 0.0).to(tl.float32)


@triton.jit
def _lstm_kernel(
    gates, of_hidden, memory, extra, hidden, after, opened, width, gate_row, hidden_row, memory_row, extra_row,
    EXTRA: tl.constexpr, FAST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < width
    gates, of_hidden = gates + row * gate_row, of_hidden + row * hidden_row
    i = tl.sigmoid(_sum(gates, of_hidden, place, inside))
    f = tl.sigmoid(_sum(gates, of_hidden, width + place, inside))
    g = _tanh(_sum(gates, of_hidden, 2 * width + place, inside), FAST)
    o = tl.sigmoid(_sum(gates, of_hidden, 3 * width + place, inside))
    c = f * tl.load(memory + row * memory_row + place, inside, 0.0).to(tl.float32) + i * g
    if EXTRA:
        c += tl.load(extra + row * extra_row + place, inside, 0.0).to(tl.float32)
    tl.store(after + row * width + place, c, inside)
    tl.store(hidden + row * width + place, o * _tanh(c, FAST), inside)
    opened += row * 4 * width
    tl.store(opened + place, i, inside)
    tl.store(opened + width + place, f, inside)
    tl.store(opened + 2 * width + place, g, inside)
    tl.store(opened + 3 * width + place, o, inside)


@triton.jit
def _lstm_backward_kernel(
    opened, memory, after, to_hidden, to_after, to_gates, to_memory, to_extra, width, memory_row, grad_row, after_row,
    HIDDEN: tl.constexpr, AFTER: tl.constexpr, EXTRA: tl.constexpr, FAST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < width
    opened, to_gates = opened + row * 4 * width, to_gates + row * 4 * width
    i = tl.load(opened + place, inside, 0.0).to(tl.float32)
    f = tl.load(opened + width + place, inside, 0.0).to(tl.float32)
    g = tl.load(opened + 2 * width + place, inside, 0.0).to(tl.float32)
    o = tl.load(opened + 3 * width + place, inside, 0.0).to(tl.float32)
    grad = tl.zeros((BLOCK,), tl.float32)  # gradient of c'
    to_o = tl.zeros((BLOCK,), tl.float32)
    if AFTER:
        grad += tl.load(to_after + row * after_row + place, inside, 0.0).to(tl.float32)
    if HIDDEN:
        dh = tl.load(to_hidden + row * grad_row + place, inside, 0.0).to(tl.float32)
        t = _tanh(tl.load(after + row * width + place, inside, 0.0).to(tl.float32), FAST)
        grad += dh * o * (1 - t * t)
        to_o += dh * t
    c = tl.load(memory + row * memory_row + place, inside, 0.0).to(tl.float32)
    tl.store(to_gates + place, grad * g * i * (1 - i), inside)
    tl.store(to_gates + width + place, grad * c * f * (1 - f), inside)
    tl.store(to_gates + 2 * width + place, grad * i * (1 - g * g), inside)
    tl.store(to_gates + 3 * width + place, to_o * o * (1 - o), inside)
    tl.store(to_memory + row * width + place, grad * f, inside)
    if EXTRA:
        tl.store(to_extra + row * width + place, grad, inside)


@triton.jit
def _gru_kernel(
    gates, of_hidden, hidden, after, opened, width, gate_row, of_row, hidden_row,
    FAST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < width
    gates, of_hidden = gates + row * gate_row, of_hidden + row * of_row
    r = tl.sigmoid(_sum(gates, of_hidden, place, inside))
    z = tl.sigmoid(_sum(gates, of_hidden, width + place, inside))
    proposal = tl.load(gates + 2 * width + place, inside, 0.0).to(tl.float32)
    n = _tanh(proposal + r * tl.load(of_hidden + 2 * width + place, inside, 0.0).to(tl.float32), FAST)
    h = tl.load(hidden + row * hidden_row + place, inside, 0.0).to(tl.float32)
    tl.store(after + row * width + place, n + z * (h - n), inside)
    opened += row * 3 * width
    tl.store(opened + place, r, inside)
    tl.store(opened + width + place, z, inside)
    tl.store(opened + 2 * width + place, n, inside)


@triton.jit
def _gru_backward_kernel(
    opened, of_hidden, hidden, grad, to_gates, to_of_hidden, to_hidden, width, of_row, hidden_row, grad_row,
    BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < width
    opened, to_gates, to_of_hidden = (
        opened + row * 3 * width,
        to_gates + row * 3 * width,
        to_of_hidden + row * 3 * width,
    )
    r = tl.load(opened + place, inside, 0.0).to(tl.float32)
    z = tl.load(opened + width + place, inside, 0.0).to(tl.float32)
    n = tl.load(opened + 2 * width + place, inside, 0.0).to(tl.float32)
    own = tl.load(of_hidden + row * of_row + 2 * width + place, inside, 0.0).to(tl.float32)
    h = tl.load(hidden + row * hidden_row + place, inside, 0.0).to(tl.float32)
    dh = tl.load(grad + row * grad_row + place, inside, 0.0).to(tl.float32)
    dn = dh * (1 - z) * (1 - n * n)
    dr = dn * own * r * (1 - r)
    dz = dh * (h - n) * z * (1 - z)
    tl.store(to_gates + place, dr, inside)
    tl.store(to_gates + width + place, dz, inside)
    tl.store(to_gates + 2 * width + place, dn, inside)
    tl.store(to_of_hidden + place, dr, inside)
    tl.store(to_of_hidden + width + place, dz, inside)
    tl.store(to_of_hidden + 2 * width + place, dn * r, inside)
    tl.store(to_hidden + row * width + place, dh * z, inside)

"""Cross-entropy of an output layer on a GPU: between the matmuls, one kernel processes a chunk of logits.

Each program handles one row. It reads the row once for its maximum and sums, and once more, while the row is still in
the cache, to overwrite the logits with their gradient. The bias is added in both passes.
"""

# mypy: disable-error-code="untyped-decorator,no-untyped-def,no-untyped-call,no-any-return,unused-ignore"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from saccade.kernels.columns.fused import column_sums
from saccade.kernels.cross_entropy.losses import Losses, saved_gradients
from saccade.kernels.cross_entropy.rows import Target
from saccade.kernels.products import add_product_

__all__ = ["fused_cross_entropy"]

BYTES = 1 << 29
"""Bytes of logits per chunk: enough for efficient matmuls, small beside the rest of the memory in use."""
BLOCK, WARPS = 4096, 8
EVEN = 16
"""Widths are padded to a multiple of this: other widths slow the matmuls by more than the padding costs."""


def fused_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    expected: Tensor,
    target: Target,
    chunk: int | None,
    dtype: torch.dtype,
    wanted: Sequence[bool],
) -> Losses:
    """Compute the cross-entropy, `chunk` rows at a time, with matmuls in `dtype`: float32 or bfloat16.

    An expected class that does not exist makes the losses NaN: raising an error would need a GPU sync.
    """
    chunk = _rows_at_once(len(hidden), len(weight), dtype) if chunk is None else chunk
    with torch.autocast(hidden.device.type, enabled=False):
        return Losses(*_Layer.apply(hidden, weight, bias, expected, target, chunk, dtype, wanted))


def _rows_at_once(rows: int, classes: int, dtype: torch.dtype) -> int:
    """Return the rows of a chunk: as many as BYTES allow, in chunks of about equal size."""
    most = max(128, BYTES // (classes * dtype.itemsize) // 128 * 128)
    return max(1, triton.cdiv(rows, max(1, triton.cdiv(rows, most))))


class _Layer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        expected: Tensor,
        target: Target,
        chunk: int,
        dtype: torch.dtype,
        wanted: Sequence[bool],
    ) -> tuple[Tensor, ...]:
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        work = _Workplace(_even(hidden, dtype), _even(weight, dtype), bias, expected, target, wanted)
        work.do(chunk)
        sums = Losses(work.losses[0].sum(), work.losses[1].sum(), work.correct.sum())
        width = hidden.shape[1]
        cut = (None if grad is None else grad[:, :width] for grad in (work.hidden_grad, work.weight_grad))
        ctx.save_for_backward(*cut, work.bias_grad)
        ctx.mark_non_differentiable(sums.plain, sums.correct)
        return tuple(sums)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return (*saved_gradients(ctx, grads[0]), None, None, None, None, None)


def _even(matrix: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the matrix in `dtype`, its width padded with zeros to a multiple of EVEN for the tensor cores."""
    missing = -matrix.shape[1] % EVEN
    return F.pad(matrix.to(dtype), (0, missing)) if missing else matrix.to(dtype).contiguous()


class _Workplace:
    """The layer, the losses of the rows, and the gradients summed over chunks."""

    def __init__(
        self,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        expected: Tensor,
        target: Target,
        wanted: Sequence[bool],
    ) -> None:
        self.hidden, self.weight, self.expected, self.target = hidden, weight, expected.contiguous(), target
        self.bias = None if bias is None else bias.float().contiguous()
        self.losses = hidden.new_empty(2, len(hidden), dtype=torch.float32)
        self.correct = hidden.new_empty(len(hidden), dtype=torch.int64)
        self.hidden_grad = torch.empty_like(hidden) if wanted[0] else None
        self.weight_grad = torch.zeros_like(weight, dtype=torch.float32) if wanted[1] else None
        self.bias_grad = weight.new_zeros(len(weight), dtype=torch.float32) if wanted[2] else None

    def do(self, chunk: int) -> None:
        """Process all rows, `chunk` at a time, in one buffer."""
        rows, classes = len(self.hidden), len(self.weight)
        stride = triton.cdiv(classes, 64) * 64  # aligns every row for wide loads
        buffer = self.hidden.new_empty(min(chunk, rows), stride)[:, :classes]
        for start in range(0, rows, chunk):
            part = slice(start, min(start + chunk, rows))
            logits = buffer[: part.stop - start]
            torch.mm(self.hidden[part], self.weight.mT, out=logits)
            self._rows(logits, part)
            if self.hidden_grad is not None:
                torch.mm(logits, self.weight, out=self.hidden_grad[part])
            if self.weight_grad is not None:
                add_product_(self.weight_grad, logits.mT, self.hidden[part])
            if self.bias_grad is not None:
                self.bias_grad += column_sums(logits)

    def _rows(self, logits: Tensor, part: slice) -> None:
        """Compute the losses of a chunk; if any gradient is needed, overwrite the logits with theirs."""
        grads = (self.hidden_grad, self.weight_grad, self.bias_grad)
        target = self.target
        block = min(BLOCK, triton.next_power_of_2(logits.shape[1]))
        _rows_kernel[(len(logits),)](
            logits, logits if self.bias is None else self.bias, self.expected[part],
            self.losses[0, part], self.losses[1, part], self.correct[part],
            logits.shape[1], logits.stride(0), target.right, target.share, target.padding,
            BIAS=self.bias is not None, SMOOTH=target.share > 0, GRAD=any(grad is not None for grad in grads),
            BLOCK=block, num_warps=WARPS,
        )  # fmt: skip


@triton.jit
def _logits(logits, bias, column, inside, fill, BIAS: tl.constexpr):
    """Load a block of a row in float32, `fill` beyond its end."""
    z = tl.load(logits + column, inside, fill).to(tl.float32)
    if BIAS:
        z += tl.load(bias + column, inside, 0.0)
    return z


@triton.jit(do_not_specialize=["smoothed", "plain", "correct"])
def _rows_kernel(
    logits, bias, expected, smoothed, plain, correct, classes, stride, right, share, padding,
    BIAS: tl.constexpr, SMOOTH: tl.constexpr, GRAD: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Compute a row's losses, and overwrite it with softmax - right · [c = expected] - share · [c ≠ padding]."""
    row = tl.program_id(0)
    logits += row.to(tl.int64) * stride
    wanted = tl.load(expected + row)
    if wanted == padding:
        tl.store(smoothed + row, 0.0)
        tl.store(plain + row, 0.0)
        tl.store(correct + row, 0)
        if GRAD:
            for start in range(0, classes, BLOCK):
                column = start + tl.arange(0, BLOCK)
                tl.store(logits + column, tl.zeros((BLOCK,), logits.dtype.element_ty), column < classes)
    else:
        # Read before the sums, which synchronize all threads: later a thread may have written the gradient there.
        exists = (wanted >= 0) & (wanted < classes)
        chosen = tl.load(logits + wanted, exists, float("nan")).to(tl.float32)
        if BIAS:
            chosen += tl.load(bias + wanted, exists, 0.0)
        # The running maximum, Σ exp(z - largest), and, for the uniform part of the target, Σ (z - largest). The last
        # is summed as differences, because a large common offset of all logits would cost precision.
        largest = -float("inf")
        total = 0.0
        below = 0.0
        count = 0.0
        for start in range(0, classes, BLOCK):
            column = start + tl.arange(0, BLOCK)
            z = _logits(logits, bias, column, column < classes, -float("inf"), BIAS)
            top = tl.maximum(largest, tl.max(z, 0))
            zero = tl.where(top == -float("inf"), 0.0, top)  # all logits so far are -inf
            old = tl.where(largest == -float("inf"), zero, largest)
            total = total * tl.exp(old - zero) + tl.sum(tl.exp(z - zero), 0)
            if SMOOTH:
                counts = (column < classes) & (column != padding)
                below += count * (old - zero) + tl.sum(tl.where(counts, z - zero, 0.0), 0)
                count += tl.sum(counts.to(tl.float32), 0)
            largest = top
        short = chosen - largest
        log_total = tl.log(total)
        tl.store(plain + row, log_total - short)
        tl.store(smoothed + row, log_total - right * short - share * below)
        tl.store(correct + row, (short == 0).to(tl.int64))
        if GRAD:
            for start in range(0, classes, BLOCK):
                column = start + tl.arange(0, BLOCK)
                inside = column < classes
                z = _logits(logits, bias, column, inside, -float("inf"), BIAS)
                grad = tl.exp(z - largest) / total
                if SMOOTH:
                    grad -= tl.where(column != padding, share, 0.0)
                grad -= tl.where(column == wanted, right, 0.0)
                tl.store(logits + column, grad.to(logits.dtype.element_ty), inside)

"""Cross-entropy of an output layer, a chunk of rows at a time, without ever storing all logits."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.cross_entropy.losses import (
    Losses,
    check_chunk,
    check_classes,
    refuse_second_derivatives,
    saved_gradients,
)
from saccade.kernels.cross_entropy.rows import Target, add_up, gradient_, row_losses

__all__ = ["chunked_cross_entropy", "chunked_from_logits"]

CHUNK = 512
"""Rows whose logits still fit into a cache."""


def chunked_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    expected: Tensor,
    target: Target,
    chunk: int | None,
    dtype: torch.dtype,
    wanted: Sequence[bool],
) -> Losses:
    """Compute the cross-entropy with `chunk` rows of logits in memory instead of N; matmuls in `dtype`."""
    chunk = CHUNK if chunk is None else chunk
    with torch.autocast(hidden.device.type, enabled=False):  # `dtype` decides, not autocast at each matmul
        sums = _Layer.apply(hidden, weight, bias, expected, target, chunk, dtype, wanted)  # type: ignore[no-untyped-call]
    return Losses(*sums)


def chunked_from_logits(
    logits: Tensor, expected: Tensor, smoothing: float = 0.0, padding: int = 0, *, chunk: int = CHUNK
) -> Losses:
    """Compute the cross-entropy of given logits (N, V); only their gradient takes another N·V numbers."""
    if logits.dim() != 2:
        raise ShapeError(f"logits are {tuple(logits.shape)}, but must be (N, V). Select the real positions first.")
    check_chunk(chunk)
    check_classes(len(logits), logits.shape[1], expected, smoothing, padding)
    target = Target.smooth(smoothing, padding, logits.shape[1])
    return Losses(*_Logits.apply(logits, expected, target, chunk))  # type: ignore[no-untyped-call]


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
        work = _Workplace(hidden.to(dtype), weight.to(dtype), bias, wanted, min(chunk, len(hidden)))
        parts = [work.do(rows, expected[rows], target) for rows in _slices(len(hidden), chunk)]
        sums = add_up(parts, like=work.logits)
        ctx.save_for_backward(work.hidden_grad, work.weight_grad, work.bias_grad)
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        ctx.mark_non_differentiable(sums.plain, sums.correct)
        return tuple(sums)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return (*saved_gradients(ctx, grads[0]), None, None, None, None, None)


class _Workplace:
    """Buffers that all chunks reuse, since first use of new memory is slow, and the gradients summed over chunks."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor | None, wanted: Sequence[bool], rows: int) -> None:
        wide = torch.promote_types(weight.dtype, torch.float32)
        self.hidden, self.weight, self.bias = hidden, weight, None if bias is None else bias.to(wide)
        self.logits = weight.new_empty(rows, len(weight), dtype=wide)
        self.narrow = None if weight.dtype == wide else torch.empty_like(self.logits, dtype=weight.dtype)
        self.hidden_grad = torch.empty_like(hidden) if wanted[0] else None
        self.weight_grad = torch.zeros_like(weight, dtype=wide) if wanted[1] else None
        self.bias_grad = weight.new_zeros(len(weight), dtype=wide) if wanted[2] else None

    def do(self, rows: slice, expected: Tensor, target: Target) -> Losses:
        """Return the losses of each row of a chunk, and add the chunk's part to the gradients."""
        logits = self._project(self.hidden[rows])
        losses, sums = row_losses(logits, expected, target)
        if self.hidden_grad is None and self.weight_grad is None and self.bias_grad is None:
            return losses
        grad = gradient_(logits, sums, expected, target)
        if self.bias_grad is not None:
            self.bias_grad += grad.sum(0)
        if self.narrow is not None:
            grad = self.narrow[: len(grad)].copy_(grad)
        if self.hidden_grad is not None:
            torch.mm(grad, self.weight, out=self.hidden_grad[rows])
        if self.weight_grad is not None:
            if self.narrow is None:
                self.weight_grad.addmm_(grad.mT, self.hidden[rows])
            else:  # a sum over chunks in bfloat16 would lose small terms
                self.weight_grad += grad.mT @ self.hidden[rows]
        return losses

    def _project(self, hidden: Tensor) -> Tensor:
        """Compute the logits of (n, D) -> (n, V), in float32 or wider."""
        logits = self.logits[: len(hidden)]
        if self.narrow is None:
            torch.mm(hidden, self.weight.mT, out=logits)
        else:
            logits.copy_(torch.mm(hidden, self.weight.mT, out=self.narrow[: len(hidden)]))
        return logits if self.bias is None else logits.add_(self.bias)  # addmm would first copy the bias into each row


class _Logits(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, expected: Tensor, target: Target, chunk: int) -> tuple[Tensor, ...]:
        wide = torch.promote_types(logits.dtype, torch.float32)
        buffer = logits.new_empty(min(chunk, len(logits)), logits.shape[1], dtype=wide)
        parts = [
            row_losses(_copy(logits[rows], buffer), expected[rows], target)[0] for rows in _slices(len(logits), chunk)
        ]
        sums = add_up(parts, like=buffer)
        ctx.save_for_backward(logits, expected)
        ctx.target, ctx.chunk = target, chunk
        ctx.mark_non_differentiable(sums.plain, sums.correct)
        return tuple(sums)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        # Recompute the softmax, so that only the logits are kept between the passes.
        logits, expected = ctx.saved_tensors
        to_logits = torch.empty_like(logits, memory_format=torch.contiguous_format)
        buffer = logits.new_empty(min(ctx.chunk, len(logits)), logits.shape[1], dtype=grads[0].dtype)
        for rows in _slices(len(logits), ctx.chunk):
            part = _copy(logits[rows], buffer)
            _, sums = row_losses(part, expected[rows], ctx.target)
            torch.mul(gradient_(part, sums, expected[rows], ctx.target), grads[0], out=to_logits[rows])
        return to_logits, None, None, None


def _copy(rows: Tensor, buffer: Tensor) -> Tensor:
    return buffer[: len(rows)].copy_(rows)


def _slices(rows: int, chunk: int) -> Iterator[slice]:
    return (slice(start, start + chunk) for start in range(0, rows, chunk))

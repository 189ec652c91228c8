"""Deferred weight gradients: a weight used in every step of a loop gets its gradient from one matmul at the end.

In each of T steps, autograd would compute the gradient of a weight by a matmul over few rows, one per sentence, and
add it to the sum so far. That reads and writes memory of the weight's size T times.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

__all__ = ["deferred_gradients"]

Identity = tuple[Any, ...]
_MATMULS = (torch.Tensor.__matmul__, torch.Tensor.matmul, torch.matmul)


def deferred_gradients(device: torch.device | None = None) -> AbstractContextManager[object]:
    """Defer the gradients of weight and bias in F.linear(x, weight, bias) and x @ weight.mT inside this context.

    Outputs and gradients stay the same, except that second derivatives raise an error. Only matmuls with a 2-D weight
    are affected. On a CPU `device` nothing is deferred, because there it saves no time.
    """
    slow = device is not None and device.type == "cpu"
    if slow or not torch.is_grad_enabled() or torch.compiler.is_compiling():
        return nullcontext()
    return _Deferring()


class _Deferring(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self._weights: dict[tuple[Identity, Identity | None], _Weight] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.linear and not kwargs:
            x, weight, bias = (*args, None)[:3]
            if weight.dim() == 2 and weight.requires_grad:
                return self._product(x, weight, bias)
        elif func in _MATMULS and (weight := _transposed(args[1])) is not None and args[0].dim() > 1:
            return self._product(args[0], weight, None)
        return func(*args, **(kwargs or {}))

    def _product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        key = _identity(weight), None if bias is None else _identity(bias)
        if key not in self._weights:
            half = torch.is_autocast_enabled(x.device.type)
            self._weights[key] = _Weight(weight, bias, torch.get_autocast_dtype(x.device.type) if half else x.dtype)
        return self._weights[key].times(x)


def _identity(weight: Tensor) -> Identity:
    """Return the key of a weight: its parameter and place in it, since a loop may slice it anew in every step."""
    base = weight._base
    owner = base if base is not None and base.is_leaf else weight
    return id(owner), weight.storage_offset(), weight.shape, weight.stride()


def _transposed(matrix: object) -> Tensor | None:
    """Return the parameter whose transpose this matrix is, or None."""
    base = matrix._base if isinstance(matrix, Tensor) and matrix.dim() == 2 else None
    if base is None or base.dim() != 2 or not base.is_leaf or not base.requires_grad:
        return None
    same = matrix.shape == base.mT.shape and matrix.stride() == base.mT.stride()  # type: ignore[attr-defined]
    return base if same and matrix.data_ptr() == base.data_ptr() else None  # type: ignore[attr-defined]


class _Box:
    """The inputs and output gradients of a weight's matmuls, gathered in the backward pass."""

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self.output_grads: list[Tensor] = []

    def take(self) -> tuple[Tensor, Tensor]:
        """Return and clear all inputs (n, I) and the gradients of all outputs (n, O)."""
        taken = torch.cat(self.inputs), torch.cat(self.output_grads)
        self.inputs, self.output_grads = [], []
        return taken


class _Weight:
    """A weight for many matmuls. The graph must not refer to this object: the cycle would keep the graph alive."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self._dtype, self._kept = dtype, (weight, bias)  # kept alive, since the cache key contains their ids
        self._box = _Box()
        self._weight, self._bias = _Collect.apply(weight, bias, self._box, dtype)  # type: ignore[no-untyped-call]

    def times(self, x: Tensor) -> Tensor:
        """Compute x Wᵀ + b: (…, I) -> (…, O)."""
        product: Tensor = _Product.apply(x.to(self._dtype), self._weight, self._bias, self._box)  # type: ignore[no-untyped-call]
        return product


class _Collect(torch.autograd.Function):
    """Passes a weight to the matmuls of a loop; autograd calls backward here after all of theirs."""

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, bias: Tensor | None, box: _Box, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor | None]:
        ctx.set_materialize_grads(False)
        ctx.box, ctx.dtypes = box, (weight.dtype, None if bias is None else bias.dtype)
        return weight.to(dtype).view_as(weight), None if bias is None else bias.to(dtype).view_as(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, ...]:
        if not ctx.box.inputs:
            return None, None, None, None
        inputs, output_grads = ctx.box.take()
        to_weight, to_bias = ctx.needs_input_grad[:2]
        return (
            (output_grads.mT @ inputs).to(ctx.dtypes[0]) if to_weight else None,
            output_grads.sum(0).to(ctx.dtypes[1]) if to_bias else None,
            None,
            None,
        )


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, box: _Box) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.box = box
        return F.linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        collect = ctx.next_functions[1][0]
        if collect is not None and torch._C._will_engine_execute_node(collect):  # else this gradient is not needed
            ctx.box.inputs.append(x.flatten(0, -2))
            ctx.box.output_grads.append(grads[0].flatten(0, -2))
        return grads[0] @ weight if ctx.needs_input_grad[0] else None, None, None, None

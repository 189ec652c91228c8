"""Products with the same weights in every step of a loop, whose gradients are one product at the end.

Autograd would make the gradient of a weight in each step, a product over as few rows as there are sentences, and add
it to what the steps before had made: T times as much memory is gone through as the weight has.
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
    """Inside, F.linear(x, weight, bias) and x @ weight.mT put the gradients of weight and bias off.

    They give what they give outside, and so do the gradients, except that a second derivative is refused. Only products
    with a matrix are meant; whatever else happens inside is left alone. Where the loop's `device` is given and is a
    CPU, nothing is put off: there it gains nothing.
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
    """What a weight is known by; a loop may cut the same part out of a parameter in every step."""
    base = weight._base
    owner = base if base is not None and base.is_leaf else weight
    return id(owner), weight.storage_offset(), weight.shape, weight.stride()


def _transposed(matrix: object) -> Tensor | None:
    """The parameter that this is the transpose of."""
    base = matrix._base if isinstance(matrix, Tensor) and matrix.dim() == 2 else None
    if base is None or base.dim() != 2 or not base.is_leaf or not base.requires_grad:
        return None
    same = matrix.shape == base.mT.shape and matrix.stride() == base.mT.stride()  # type: ignore[attr-defined]
    return base if same and matrix.data_ptr() == base.data_ptr() else None  # type: ignore[attr-defined]


class _Box:
    """What came of a weight's products in the backward pass."""

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self.slopes: list[Tensor] = []

    def take(self) -> tuple[Tensor, Tensor]:
        """All inputs (n, I) and the gradients of all outputs (n, O), and forget them."""
        taken = torch.cat(self.inputs), torch.cat(self.slopes)
        self.inputs, self.slopes = [], []
        return taken


class _Weight:
    """A weight, ready for many products. Nothing of the graph leads here, so that the graph ends with its tensors."""

    def __init__(self, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        self._dtype, self._kept = dtype, (weight, bias)  # kept alive, since they are known by their ids
        self._box = _Box()
        self._weight, self._bias = _Collect.apply(weight, bias, self._box, dtype)  # type: ignore[no-untyped-call]

    def times(self, x: Tensor) -> Tensor:
        """(…, I) -> (…, O)."""
        product: Tensor = _Product.apply(x.to(self._dtype), self._weight, self._bias, self._box)  # type: ignore[no-untyped-call]
        return product


class _Collect(torch.autograd.Function):
    """Hands a weight to the products of a loop; autograd comes back here when all of them are done."""

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
        inputs, slopes = ctx.box.take()
        to_weight, to_bias = ctx.needs_input_grad[:2]
        return (
            (slopes.mT @ inputs).to(ctx.dtypes[0]) if to_weight else None,
            slopes.sum(0).to(ctx.dtypes[1]) if to_bias else None,
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
        if collect is not None and torch._C._will_engine_execute_node(collect):  # else nobody wants this gradient
            ctx.box.inputs.append(x.flatten(0, -2))
            ctx.box.slopes.append(grads[0].flatten(0, -2))
        return grads[0] @ weight if ctx.needs_input_grad[0] else None, None, None, None

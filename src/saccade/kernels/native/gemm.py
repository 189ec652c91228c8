"""x Wᵀ + b by writer.c: weights in panels, as its vectors read them."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.native.library import library
from saccade.kernels.packed.naive import Product

__all__ = ["Linear", "NativeProduct", "is_native"]


def is_native(tensor: Tensor) -> bool:
    """Whether C can read it as it is: numbers in float32, on the CPU, side by side."""
    return tensor.dtype == torch.float32 and tensor.device.type == "cpu" and tensor.is_contiguous()


class Linear(ctypes.Structure):
    """`Linear` of writer.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weight", "coarse", "scale", "shift", "bias")),
        ("width", ctypes.c_int32),
        ("out", ctypes.c_int32),
    )


class NativeProduct(Product):
    """Weights (N, K) in panels of as many outputs as two vectors hold; in eight bits where `coarse`.

    Then W ≈ s[n] · w[n, k], w whole numbers in -127..127; x ≈ s_x[m] · (u[m, k] - 128), u whole numbers in 1..255, so
    that a row's answer does not depend on the rows beside it. Σ_k 128 w is taken off at the end.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, *, coarse: bool) -> None:
        loaded = library()
        assert loaded is not None
        self._loaded, (self._out, self._width) = loaded, weight.shape
        columns = 2 * loaded.lanes()
        panels = -(-self._out // columns)
        padded = weight.new_zeros(panels * columns, self._width)
        padded[: self._out] = weight
        self._bias = weight.new_zeros(len(padded))
        if bias is not None:
            self._bias[: self._out] = bias
        self._scale = self._shift = None
        if coarse:
            self._scale = padded.abs().amax(1) / 127
            whole = (padded / self._scale.clamp_min(1e-30)[:, None]).round()
            self._shift = 128 * whole.sum(1) * self._scale
            self._packed = whole.to(torch.int8).view(panels, columns, -1, 4).transpose(1, 2).contiguous()
        else:
            self._packed = padded.view(panels, columns, -1).transpose(1, 2).contiguous()
        self._coarse = coarse
        weights = (None, self._packed.data_ptr()) if coarse else (self._packed.data_ptr(), None)
        scales = [None if part is None else part.data_ptr() for part in (self._scale, self._shift)]
        self.linear = Linear(*weights, *scales, self._bias.data_ptr(), self._width, self._out)
        self._place = ctypes.addressof(self.linear)

    def __call__(self, x: Tensor) -> Tensor:
        return self._run(x, None, rectify=False)

    def rectified(self, x: Tensor) -> Tensor:
        return self._run(x, None, rectify=True)

    def added(self, x: Tensor, to: Tensor) -> Tensor:
        return self._run(x, to.contiguous(), rectify=False)

    def _run(self, x: Tensor, to: Tensor | None, *, rectify: bool) -> Tensor:
        x = x.contiguous()
        if not is_native(x) or x.shape[-1] != self._width:
            raise ShapeError(
                f"this product reads rows of {self._width} float32 numbers on the CPU, but was given {x.dtype} "
                f"{tuple(x.shape)} on {x.device}."
            )
        rows = x.numel() // self._width
        made = x.new_empty(*x.shape[:-1], self._out)
        room = x.new_empty(rows * (self._width + 4), dtype=torch.uint8) if self._coarse else None
        self._loaded.product(
            self._place,
            x.data_ptr(),
            rows,
            made.data_ptr(),
            None,
            None if to is None else to.data_ptr(),
            rectify,
            None if room is None else room.data_ptr(),
        )
        return made

"""x Wᵀ + b by writer.c, with weights packed in panels."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from saccade.errors import ShapeError
from saccade.kernels.native.library import library
from saccade.kernels.packed.naive import Product

__all__ = ["Linear", "NativeProduct", "is_native"]


def is_native(tensor: Tensor) -> bool:
    """Return whether the C code can read a tensor: float32, on the CPU, contiguous."""
    return tensor.dtype == torch.float32 and tensor.device.type == "cpu" and tensor.is_contiguous()


class Linear(ctypes.Structure):
    """The struct `Linear` of writer.c."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("weight", "coarse", "scale", "shift", "bias")),
        ("width", ctypes.c_int32),
        ("out", ctypes.c_int32),
    )


class NativeProduct(Product):
    """Weights (N, K) in panels of two SIMD vectors of outputs; int8 if `coarse`.

    int8: W ≈ s[n] · w[n, k], w integers in -127..127; x ≈ s_x[m] · (u[m, k] - 128), u integers in 1..255. Each input
    row has its own scale, so results are batch-invariant. Σ_k 128 w is subtracted at the end.
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
                f"this matmul reads rows of {self._width} float32 numbers on the CPU, but was given {x.dtype} "
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

"""Matmuls with weights packed once: by saccade's C code, by oneDNN, or as int8 by FBGEMM or oneDNN."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor

from saccade.kernels.dispatch import is_fused_disabled
from saccade.kernels.native import coarse_products, library
from saccade.kernels.packed.naive import PlainProduct, Product

__all__ = ["Precision", "int8_reason", "pack"]

Precision = Literal["full", "int8"]
_LEAST = 4096
"""Matrices with fewer numbers are not packed: it would gain nothing."""
_WIDE = 4096
"""From this many outputs on, oneDNN is faster than FBGEMM."""


def pack(weight: Tensor, bias: Tensor | None, *, rows: int = 32, precision: Precision = "full") -> Product:
    """Pack (N, K) weights for the fastest matmul on their device; `rows` is the expected number of input rows.

    Precision "int8" falls back to the weights' own dtype if this machine has no int8 matmul (`int8_reason`).
    """
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    fitting = weight.device.type == "cpu" and weight.dtype == torch.float32 and weight.numel() >= _LEAST
    if fitting and (made := _native(weight, bias, coarse=precision == "int8")) is not None:
        return made
    if fitting and precision == "int8" and _int8_works():
        return Int8Product(weight, bias)
    if fitting and _onednn_packs():
        return OneDNNProduct(weight, bias, rows)
    return PlainProduct(weight, bias)


def _native(weight: Tensor, bias: Tensor | None, *, coarse: bool) -> Product | None:
    """Return a matmul by saccade's C code, or None: it needs a C compiler and a process with one thread."""
    if torch.get_num_threads() > 1 or is_fused_disabled() or library() is None:
        return None
    from saccade.kernels.native.gemm import NativeProduct  # here, as that module imports this package

    fits = not coarse or (coarse_products() and weight.shape[1] % 16 == 0)
    return NativeProduct(weight, bias, coarse=coarse) if fits else None


class OneDNNProduct(Product):
    """float32 weights in oneDNN's blocked layout, with ReLU and sum fused into the matmul."""

    def __init__(self, weight: Tensor, bias: Tensor | None, rows: int) -> None:
        self._weight, self._bias = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), rows), bias
        self._run, self._run_onto = torch.ops.mkldnn._linear_pointwise.default, _binary()

    def __call__(self, x: Tensor) -> Tensor:
        out: Tensor = self._run(x, self._weight, self._bias, "none", [], "")
        return out

    def rectified(self, x: Tensor) -> Tensor:
        out: Tensor = self._run(x, self._weight, self._bias, "relu", [], "")
        return out

    def added(self, x: Tensor, to: Tensor) -> Tensor:
        out: Tensor = self._run_onto(x, to, self._weight, self._bias, "add")
        return out


class Int8Product(Product):
    """int8 weights with a scale for each row; inputs are quantized dynamically.

    W ≈ s[n] · w[n, k], w integers in -127..127; x ≈ s_x (u - z), u integers in 0..255.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        scales = (weight.abs().amax(1) / 127).clamp_min(1e-12).double()
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with (
            warnings.catch_warnings()
        ):  # torch warns that it will remove quantized tensors; `int8_reason` reports it when it does
            warnings.simplefilter("ignore")
            small = torch.quantize_per_channel(weight.contiguous(), scales, zeros, 0, torch.qint8)
            with _engine("onednn" if len(weight) >= _WIDE else "x86"):
                self._packed: Any = torch.ops.quantized.linear_prepack(small, bias)
        self._run = torch.ops.quantized.linear_dynamic.default

    def __call__(self, x: Tensor) -> Tensor:
        out: Tensor = self._run(x, self._packed, False)
        return out


@contextmanager
def _engine(name: str) -> Iterator[None]:
    """Select torch's quantized engine while packing, if supported; packed weights stay bound to their engine."""
    before = torch.backends.quantized.engine
    if name in torch.backends.quantized.supported_engines:
        torch.backends.quantized.engine = name
    try:
        yield
    finally:
        torch.backends.quantized.engine = before


def _binary() -> Any:
    return torch.ops.mkldnn._linear_pointwise.binary


@functools.cache
def _onednn_packs() -> bool:
    """Return whether this torch has oneDNN's packed matmul and computes it correctly; log the reason if not."""
    if not torch.backends.mkldnn.is_available():
        return _log_unpacked("this torch has no oneDNN")
    generator = torch.Generator().manual_seed(1)
    x, weight = torch.randn(3, 64, generator=generator), torch.randn(64, 64, generator=generator)
    try:
        got = OneDNNProduct(weight, None, 3).added(x, x)
    except (AttributeError, RuntimeError, NotImplementedError) as error:  # private operators, which torch may remove
        return _log_unpacked(str(error).splitlines()[0])
    if not torch.allclose(got, x + x @ weight.T, atol=1e-4):
        return _log_unpacked("this torch computes packed matmuls wrongly")
    return True


def _log_unpacked(reason: str) -> Literal[False]:
    logging.getLogger("saccade").info("weights not packed (%s); using torch's linear", reason)
    return False


@functools.cache
def _int8_works() -> bool:
    """Return whether int8 matmuls are available; if not, log the reason once."""
    if (reason := int8_reason()) is not None:
        logging.getLogger("saccade").warning("int8 unavailable (%s); using float32", reason)
        return False
    return True


@functools.cache
def int8_reason() -> str | None:
    """Return why this machine has no int8 matmul, or None if it has."""
    if torch.backends.quantized.engine not in ("x86", "fbgemm", "onednn"):
        return f"torch's quantized engine is {torch.backends.quantized.engine!r}, not x86, fbgemm or onednn"
    if not torch.cpu._is_vnni_supported():
        # without VNNI, sums of two products are kept in 16 bits and overflow
        return "this processor has no VNNI instructions"
    generator = torch.Generator().manual_seed(1)
    x, weight = torch.randn(3, 64, generator=generator), torch.randn(64, 64, generator=generator)
    try:
        got = Int8Product(weight, None)(x)
    except (AttributeError, RuntimeError, NotImplementedError) as error:
        return f"torch's int8 matmul failed: {str(error).splitlines()[0]}"
    return None if torch.allclose(got, x @ weight.T, atol=0.5) else "this torch computes int8 matmuls wrongly"

"""Products whose weights are packed once: by our own code, by oneDNN, or in eight bits by FBGEMM."""

from __future__ import annotations

import functools
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor

from saccade.kernels.native import coarse_products, library
from saccade.kernels.packed.naive import PlainProduct, Product
from saccade.kernels.ways import is_plain

__all__ = ["Precision", "int8_reason", "pack"]

Precision = Literal["full", "int8"]
_LEAST = 4096
"""Weights fewer than this are left alone: packing gains nothing on them."""
_WIDE = 4096
"""From so many outputs on oneDNN is faster than FBGEMM."""


def pack(weight: Tensor, bias: Tensor | None, *, rows: int = 32, precision: Precision = "full") -> Product:
    """The fastest product there is for (N, K) weights on their device; `rows`: about how many will come at a time.

    Precision "int8" falls back to the weights' own where this machine has no products of eight bits (`int8_reason`).
    """
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    fitting = weight.device.type == "cpu" and weight.dtype == torch.float32 and weight.numel() >= _LEAST
    if fitting and (made := _native(weight, bias, coarse=precision == "int8")) is not None:
        return made
    if fitting and precision == "int8" and _int8_or_tell():
        return Int8Product(weight, bias)
    if fitting and _onednn_packs():
        return OneDNNProduct(weight, bias, rows)
    return PlainProduct(weight, bias)


def _native(weight: Tensor, bias: Tensor | None, *, coarse: bool) -> Product | None:
    """A product by our own code, which has one thread and needs a compiler."""
    if torch.get_num_threads() > 1 or is_plain() or library() is None:
        return None
    from saccade.kernels.native.products import NativeProduct  # it is a Product, so it asks this package first

    fits = not coarse or (coarse_products() and weight.shape[1] % 16 == 0)
    return NativeProduct(weight, bias, coarse=coarse) if fits else None


class OneDNNProduct(Product):
    """float32 weights in oneDNN's blocked order; ReLU and sum are done while the result is in the registers."""

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
    """Eight-bit weights, a scale for each row of them; inputs are brought to eight bits as they come.

    W ≈ s[n] · w[n, k], w whole numbers in -127..127; x ≈ s_x (u - z), u whole numbers in 0..255.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        scales = (weight.abs().amax(1) / 127).clamp_min(1e-12).double()
        zeros = torch.zeros(len(weight), dtype=torch.long)
        with (
            warnings.catch_warnings()
        ):  # torch means to replace this kind of tensor; int8_reason notices when it is gone
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
    """Let torch pack for one of its engines, where it has it; what is packed knows its engine ever after."""
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
    """Whether this torch has oneDNN's packed products, and they are right."""
    if not torch.backends.mkldnn.is_available():
        return _tell_that_nothing_is_packed("this torch has no oneDNN")
    generator = torch.Generator().manual_seed(1)
    x, weight = torch.randn(3, 64, generator=generator), torch.randn(64, 64, generator=generator)
    try:
        got = OneDNNProduct(weight, None, 3).added(x, x)
    except (AttributeError, RuntimeError, NotImplementedError) as error:  # they are torch's own business and may go
        return _tell_that_nothing_is_packed(str(error).splitlines()[0])
    if not torch.allclose(got, x + x @ weight.T, atol=1e-4):
        return _tell_that_nothing_is_packed("this torch computes packed products wrongly")
    return True


def _tell_that_nothing_is_packed(reason: str) -> Literal[False]:
    logging.getLogger("saccade").info("products go by torch's linear, weights unpacked: %s", reason)
    return False


@functools.cache
def _int8_or_tell() -> bool:
    """Whether there are eight-bit products; if not, a log entry says once why."""
    if (reason := int8_reason()) is not None:
        logging.getLogger("saccade").warning("int8 was asked for, but %s: products stay in float32", reason)
        return False
    return True


@functools.cache
def int8_reason() -> str | None:
    """Why there are no eight-bit products on this machine; None where there are."""
    if torch.backends.quantized.engine not in ("x86", "fbgemm", "onednn"):
        return f"torch's quantized engine is {torch.backends.quantized.engine!r}, which is not one for this"
    if not torch.cpu._is_vnni_supported():
        # without those instructions sums of two products are kept in 16 bits, and overflow
        return "this processor has no VNNI instructions"
    generator = torch.Generator().manual_seed(1)
    x, weight = torch.randn(3, 64, generator=generator), torch.randn(64, 64, generator=generator)
    try:
        got = Int8Product(weight, None)(x)
    except (AttributeError, RuntimeError, NotImplementedError) as error:
        return f"this torch refuses them: {str(error).splitlines()[0]}"
    return None if torch.allclose(got, x @ weight.T, atol=0.5) else "this torch computes them wrongly"

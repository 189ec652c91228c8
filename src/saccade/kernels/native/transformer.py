"""Transformer inference by writer.c: encode sources, and run single decoding steps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.kernels.native.gemm import Linear, NativeProduct, is_native
from saccade.kernels.native.library import library

__all__ = ["Desk", "NativeDecoder", "NativeEncoder", "Parts", "Progress", "suits"]

_NORMS = ("before_self", "after_self", "before_cross", "after_cross", "before_feed", "after_feed")
_PRODUCTS = ("joined", "self_output", "query", "cross_output", "inner", "outer")


class _Norm(ctypes.Structure):
    _fields_ = (("weight", ctypes.c_void_p), ("bias", ctypes.c_void_p), ("eps", ctypes.c_float))


class _Layer(ctypes.Structure):
    _fields_ = (*((name, _Norm) for name in _NORMS), *((name, Linear) for name in _PRODUCTS))


class _Decoder(ctypes.Structure):
    _fields_ = (
        ("words", ctypes.c_void_p),
        ("layers", ctypes.POINTER(_Layer)),
        ("norm", _Norm),
        ("output", Linear),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_int32) for name in ("count", "width", "heads", "deep", "known")),
    )


class _Step(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("tokens", "places", "ages", "begun", "origins")),
        *((name, ctypes.POINTER(ctypes.c_void_p)) for name in ("keys", "values", "source_keys", "source_values")),
        *(
            (name, ctypes.c_void_p)
            for name in ("hidden", "logits", "room", "at", "live", "self_weights", "source_weights")
        ),
        *((name, ctypes.c_int32) for name in ("rows", "beams", "t", "size", "stride", "most")),
    )


class _EncoderLayer(ctypes.Structure):
    _fields_ = (
        *((name, _Norm) for name in ("before_self", "after_self", "before_feed", "after_feed")),
        *((name, Linear) for name in ("joined", "self_output", "inner", "outer")),
    )


class _Encoder(ctypes.Structure):
    _fields_ = (
        ("words", ctypes.c_void_p),
        ("layers", ctypes.POINTER(_EncoderLayer)),
        ("kept", ctypes.POINTER(Linear)),
        ("norm", _Norm),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_int32) for name in ("count", "banks", "width", "heads", "deep")),
    )


class _Source(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("tokens", "columns", "begins", "places")),
        *((name, ctypes.POINTER(ctypes.c_void_p)) for name in ("keys", "values")),
        *((name, ctypes.c_void_p) for name in ("room", "self_weights")),
        *((name, ctypes.c_int32) for name in ("sentences", "stride")),
    )


class Parts(NamedTuple):
    """The norms (None for a missing one) and matmuls of a layer, in the order of the structs in writer.c."""

    norms: Sequence[nn.LayerNorm | None]
    products: Sequence[NativeProduct]


class Progress(NamedTuple):
    """The state of a search with N rows for B sentences; fields as in `Step` of writer.c, all contiguous."""

    places: Tensor | None
    ages: Tensor | None
    begun: Tensor | None
    origins: Tensor | None
    caches: Sequence[tuple[Tensor, Tensor]]
    banks: Sequence[tuple[Tensor, Tensor]]
    hidden: Tensor | None
    beams: int
    t: int
    size: int
    looks: tuple[Tensor, Tensor] | None = None
    """Zeros to write attention weights into: self-attention (L, N, H, 1, T), and cross-attention (L, N, H, 1, S)."""


def _numbers(*shape: int) -> Tensor:
    """Return an empty float32 tensor on the CPU, whatever torch's defaults are."""
    return torch.empty(*shape, dtype=torch.float32, device="cpu")


def _whole(count: int, kind: torch.dtype = torch.long) -> Tensor:
    return torch.empty(count, dtype=kind, device="cpu")


class Desk:
    """Work buffers of a search; each search has its own, since several may run at the same time."""

    def __init__(self) -> None:
        self._room, self._logits = _numbers(0), _numbers(0)
        self._times, self._live = _whole(0), _whole(0, torch.int32)

    def times(self, count: int) -> Tensor:
        """Return an int64 buffer for at least `count` time steps."""
        if len(self._times) < count:
            self._times = _whole(2 * count)
        return self._times

    def live(self, rows: int) -> Tensor:
        """Return an int32 buffer for at least `rows` rows."""
        if len(self._live) < rows:
            self._live = _whole(rows, torch.int32)
        return self._live

    def room(self, numbers: int) -> Tensor:
        """Return a float32 buffer for at least `numbers` numbers."""
        if self._room.numel() < numbers:
            self._room = _numbers(numbers)
        return self._room

    def logits(self, rows: int, words: int) -> Tensor:
        """Return a buffer (rows, words), which each step overwrites."""
        if self._logits.shape != (rows, words):
            self._logits = _numbers(rows, words).zero_()  # skipped rows keep old values, but finite ones
        return self._logits


class _Stack:
    """Layers as C structs, and references to every tensor they point to; `others`: matmuls outside the layers."""

    def __init__(
        self,
        kind: type[ctypes.Structure],
        words: Tensor,
        layers: Sequence[Parts],
        norm: nn.LayerNorm | None,
        others: Sequence[NativeProduct],
    ) -> None:
        loaded = library()
        assert loaded is not None
        self._loaded, self._lanes, self._width = loaded, loaded.lanes(), words.shape[1]
        self._held = words, _kept(layers, norm), others
        self._layers = (kind * len(layers))(
            *(kind(*map(_norm, part.norms), *(product.linear for product in part.products)) for part in layers)
        )
        self._deep = max(product.linear.out for part in layers for product in part.products)


class NativeDecoder(_Stack):
    """The constant inputs of decoding steps: embeddings, layers, norm and output layer."""

    def __init__(
        self,
        words: Tensor,
        scale: float,
        layers: Sequence[Parts],
        norm: nn.LayerNorm | None,
        output: NativeProduct,
        heads: int,
    ) -> None:
        super().__init__(_Layer, words, layers, norm, [output])
        self._words, self._vocabulary = len(words), output.linear.out
        sizes = (len(layers), self._width, heads, self._deep, self._words)
        self._decoder = _Decoder(words.data_ptr(), self._layers, _norm(norm), output.linear, scale, *sizes)

    def step(self, tokens: Tensor, at: Progress, desk: Desk) -> Tensor:
        """Compute logits (N, V) of the next words, and write keys and values of time `t` into the caches.

        The logits are a buffer of `desk`, which the next step overwrites. Rows whose token is PAD are skipped; their
        logits are meaningless.
        """
        rows = len(tokens)
        room = desk.room(2 * (rows * (2 * self._width + self._deep) + max(at.t + 1, at.size) + 2 * self._lanes))
        logits, tokens = desk.logits(rows, self._vocabulary), tokens.long().contiguous()
        back, source = (None, None) if at.looks is None else at.looks
        state = _Step(
            *map(_place, (tokens, at.places, at.ages, at.begun, at.origins)),
            *(_places(parts) for parts in (*zip(*at.caches, strict=True), *zip(*at.banks, strict=True))),
            *map(_place, (at.hidden, logits, room, desk.times(at.t + 1), desk.live(rows), back, source)),
            *(rows, at.beams, at.t, at.size, at.banks[0][0].shape[-1], 0 if back is None else back.shape[-1]),
        )
        if self._loaded.step(ctypes.byref(self._decoder), ctypes.byref(state)):
            raise IndexError(f"a token is not one of the {self._words} of the model's vocabulary")
        return logits


class NativeEncoder(_Stack):
    """The constant inputs of encoding; `kept`: the matmuls for the decoder's cross-attention keys and values."""

    def __init__(
        self,
        words: Tensor,
        scale: float,
        layers: Sequence[Parts],
        norm: nn.LayerNorm | None,
        kept: Sequence[NativeProduct],
        heads: int,
    ) -> None:
        super().__init__(_EncoderLayer, words, layers, norm, kept)
        self._heads, self._banks = heads, len(kept)
        self._deep = max([self._deep, *(product.linear.out for product in kept)])
        banks = (Linear * len(kept))(*(product.linear for product in kept))
        sizes = (len(layers), len(kept), self._width, heads, self._deep)
        self._encoder = _Encoder(words.data_ptr(), self._layers, banks, _norm(norm), scale, *sizes)

    def read(
        self, tokens: Tensor, mask: Tensor, places: Tensor | None, looks: Tensor | None = None
    ) -> list[tuple[Tensor, Tensor]]:
        """Encode sources (B, S) into keys (B·H, D, S) and values (B·H, S, D) for each layer of the decoder.

        looks: zeros (L, B, H, S, S) to write the self-attention weights of the encoder's layers into.
        """
        (sentences, size), each = mask.shape, self._width // self._heads
        found, columns = tokens[mask].long(), mask.nonzero()[:, 1].contiguous()
        begins = F.pad(mask.sum(1).cumsum(0), (1, 0))
        many = sentences * self._heads
        banks = [(_numbers(many, each, size).zero_(), _numbers(many, size, each).zero_()) for _ in range(self._banks)]
        scores = (2 * each + 1) * (size + self._lanes) + self._lanes
        room = _numbers(2 * (len(found) * (2 * self._width + self._deep) + scores + self._lanes))
        source = _Source(
            *map(_place, (found, columns, begins, places)),
            *(_places(parts) for parts in zip(*banks, strict=True)),
            *(room.data_ptr(), _place(looks), sentences, size),
        )
        self._loaded.encode(ctypes.byref(self._encoder), ctypes.byref(source))
        return banks


def suits(norm: nn.LayerNorm | None) -> bool:
    """Return whether the C code supports a norm: None, or one with float32 weights on the CPU."""
    return norm is None or (norm.weight is not None and is_native(norm.weight))


def _kept(layers: Sequence[Parts], norm: nn.LayerNorm | None) -> list[Any]:
    """Return the tensors that the C structs point to, to keep them alive if the modules get others."""
    norms = [each for part in layers for each in part.norms] + [norm]
    held = [
        tensor.detach()
        for each in norms
        if each is not None
        for tensor in (each.weight, each.bias)
        if tensor is not None
    ]
    return [held, [part.products for part in layers]]


def _norm(norm: nn.LayerNorm | None) -> _Norm:
    return _Norm() if norm is None else _Norm(_place(norm.weight), _place(norm.bias), norm.eps)


def _place(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _places(tensors: Sequence[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))

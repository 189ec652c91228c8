"""The decoding engine of a pointer-generator: the inner model's engine, then the mixture with copies."""

from __future__ import annotations

import weakref
from collections.abc import Callable

from torch import Tensor

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.kernels.packed import Precision
from saccade.models.base import Seq2Seq
from saccade.models.pointer import Pointer
from saccade.runtime.engine import DecodingEngine, DecodingState, StepEngine
from saccade.runtime.exactness import Inexact, own_methods

__all__ = ["PointerEngine", "pack_pointer"]


def pack_pointer(
    model: Pointer, precision: Precision, engine_of: Callable[[Seq2Seq, Precision], DecodingEngine]
) -> DecodingEngine:
    """Return a pointer's engine; raise Inexact if it overrides a method, or its inner model has only its step."""
    own_methods(model, Pointer, ("step", "encode", "mixed", "known", "recorder", "_weights"))
    inner = engine_of(model.inner, precision)
    if isinstance(inner, StepEngine):
        raise Inexact(f"the inner {type(model.inner).__name__} has no engine")
    return PointerEngine(model, inner)


class PointerEngine(DecodingEngine):
    """Engine of a pointer whose inner model has an engine.

    There is no continuous batching: inner states record no attention for sentences that were added later.
    """

    def __init__(self, model: Pointer, inner: DecodingEngine) -> None:
        self._model, self._inner = weakref.ref(model), inner  # weak, so that the cache of engines frees the model

    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> DecodingState:
        model = self._model()
        assert model is not None, "the engine outlived its model"
        assert batch.copies is not None
        return PointerState(model, self._inner.read(batch, width, max_length, tape=tape), batch.copies)


class PointerState(DecodingState):
    """The inner model's state, and the output token that a copy of each source token gives."""

    def __init__(self, model: Pointer, inner: DecodingState, copies: Tensor) -> None:
        self._model, self._inner, self._copies = model, inner, copies

    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        tape = self._model.recorder() if tape is None else tape
        logits = self._inner.step(self._model.known(tokens), tape=tape)
        return self._model.mixed(logits[:, None], self._copies, tape)[:, 0]

    def follow(self, rows: Tensor) -> None:
        self._inner.follow(rows)

    def keep(self, sentences: Tensor) -> None:
        self._inner.keep(sentences)
        self._copies = self._copies[sentences]

"""Decoding engines, which are models prepared for decoding, and decoding states.

A search runs the same layers hundreds of times on a few rows, where overhead costs more than arithmetic. So some
families have an engine of their own (`ENGINES`), which packs the weights once and steps on flat tensors. StepEngine
calls the model's `step` instead. Both decode the same words.
"""

from __future__ import annotations

import logging
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.attention.tape import Tape
from saccade.batch import Batch
from saccade.errors import NumericsError
from saccade.kernels.dispatch import is_fused_disabled
from saccade.kernels.graph_capture import is_recorded
from saccade.kernels.packed import Precision
from saccade.models.base import Seq2Seq
from saccade.runtime.exactness import Inexact, checksum, structure

__all__ = [
    "DecodingEngine",
    "DecodingState",
    "Places",
    "StepEngine",
    "check_finite",
    "check_weights",
    "fast_engine",
    "fingerprint",
    "kept",
    "places",
    "rows_of",
    "step_engine",
]

Made = TypeVar("Made")


class DecodingState(ABC):
    """The state of N = B·K hypotheses; the K hypotheses of a sentence are adjacent rows."""

    @abstractmethod
    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Feed one word (N,) to each hypothesis; return logits (N, V), valid until the next step.

        Rows that are fed PAD are inactive; ignore their logits.
        """

    @abstractmethod
    def follow(self, rows: Tensor) -> None:
        """Reorder the hypotheses: hypothesis n continues hypothesis rows[n]."""

    @abstractmethod
    def keep(self, sentences: Tensor) -> None:
        """Keep only these sentences, in this order."""

    def replace(self, sentences: Tensor, others: DecodingState, which: Tensor) -> None:
        """Replace these sentences by the sentences `which` of `others`, a state that has made no step."""
        raise TypeError(f"{type(self).__name__} does not support replacing sentences: write replace()")


class DecodingEngine(ABC):
    """A model prepared for decoding: `read` encodes the sources and returns a DecodingState."""

    replaces: ClassVar[bool] = False
    """Whether its states support `replace`."""

    @abstractmethod
    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> DecodingState:
        """Encode the sources; start `width` hypotheses per sentence, each of at most `max_length` words."""


class StepEngine(DecodingEngine):
    """Engine for any model, by its `encode`, `init_state` and `step`."""

    def __init__(self, model: Seq2Seq) -> None:
        self._model = model

    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> DecodingState:
        memory = self._model.encode(batch, tape=tape)
        return StepState(
            self._model, memory, pytree.repeat_rows(self._model.init_state(memory, max_length), width), width
        )


class StepState(DecodingState):
    """The memory and the state of a model's own `step`."""

    def __init__(self, model: Seq2Seq, memory: Any, state: Any, width: int) -> None:
        self._model, self._memory, self._state, self._width = model, memory, state, width

    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        logits, self._state = self._model.step(self._memory, self._state, tokens, tape=tape)
        return logits

    def follow(self, rows: Tensor) -> None:
        self._state = pytree.take_rows(self._state, rows)

    def keep(self, sentences: Tensor) -> None:
        self._memory = pytree.take_rows(self._memory, sentences)
        self._state = pytree.take_rows(self._state, rows_of(sentences, self._width))


def rows_of(sentences: Tensor, width: int) -> Tensor:
    """Return the rows (B·K,) of all hypotheses of sentences (B,)."""
    return (sentences[:, None] * width + torch.arange(width, device=sentences.device)).flatten()


_kept: weakref.WeakKeyDictionary[nn.Module, dict[str, tuple[Any, Any]]] = weakref.WeakKeyDictionary()


def fast_engine(model: Seq2Seq, precision: Precision, make: Callable[[], DecodingEngine]) -> DecodingEngine | None:
    """Return the family's own engine, packed again when the model changes; None where it would differ from `step`.

    `make` raises Inexact if the engine does not compute some part of the model exactly. Under autocast the result is
    None: it changes how `step` computes, and engines do not follow it.
    """
    if torch.is_autocast_enabled(next(model.parameters()).device.type):
        return None
    return kept(model, f"engine {precision}", lambda: _made(model, make))


def step_engine(model: Seq2Seq, precision: Precision = "full") -> DecodingEngine:
    """Return the engine that calls the model's own `step`, in full precision.

    Raises NumericsError for parameters that are not finite: an align or a window can hide their NaN from the logits.
    """
    check_finite(model)
    if precision == "int8":
        logging.getLogger("saccade").warning("int8 unavailable for %s; using full precision", type(model).__name__)
    return StepEngine(model)


def _made(model: Seq2Seq, make: Callable[[], DecodingEngine]) -> DecodingEngine | None:
    check_weights(model)
    try:
        return make()
    except Inexact as reason:
        logging.getLogger("saccade").info(
            "%s decodes with its own step, which is slower: %s", type(model).__name__, reason
        )
        return None


def check_finite(model: nn.Module) -> None:
    """Raise NumericsError if a parameter is not finite; check again only after the model has changed."""
    kept(model, "finite", lambda: check_weights(model))


def check_weights(model: nn.Module) -> None:
    """Raise NumericsError for the first parameter that is not finite; skipped during CUDA graph capture."""
    for name, parameter in model.named_parameters():
        if is_recorded(parameter):
            return
        if not torch.isfinite(parameter).all():
            bad = int((~torch.isfinite(parameter)).sum())
            raise NumericsError(
                f"parameter {name} holds {bad} NaN or infinite values of {parameter.numel()}. "
                "Load the last good checkpoint; if training made them, lower the learning rate or clip gradients."
            )


def kept(model: nn.Module, name: str, make: Callable[[], Made]) -> Made:
    """Return `make()`, cached by model and name until the model's parameters, modules or settings change.

    During CUDA graph capture nothing is cached: tensors made then get their values only when the graph is replayed.
    """
    name, parameters = f"{name} {way()}", list(model.parameters())
    if parameters and is_recorded(parameters[0]):
        return make()
    now = fingerprint(model, parameters)
    if now is None:
        return make()
    of_model = _kept.setdefault(model, {})
    if name in of_model and of_model[name][0] == now:
        found: Made = of_model[name][1]
        return found
    made = make()
    of_model[name] = (now, made)
    return made


def way() -> str:
    """Describe the settings outside the model that decide how weights are packed: see `kernels.packed`."""
    return f"plain {is_fused_disabled()}, alone {torch.get_num_threads() == 1}"


def fingerprint(model: nn.Module, parameters: Sequence[Tensor]) -> Any:
    """Return a value that differs after any change of the model; None if parameter changes cannot be detected."""
    where = places(parameters)
    return None if where is None else (where, structure(model), checksum(parameters).cpu().numpy().tobytes())


class Places(NamedTuple):
    """The memory addresses of parameters, and their version counters."""

    where: tuple[tuple[int, torch.dtype, torch.Size], ...]
    changes: tuple[int, ...]


def places(parameters: Sequence[Tensor]) -> Places | None:
    """Return the places of parameters; None for tensor subclasses and inference tensors, which hide changes."""
    if not parameters or any(type(part) not in (nn.Parameter, Tensor) or part.is_inference() for part in parameters):
        return None
    where = tuple((part.data_ptr(), part.dtype, part.shape) for part in parameters)
    return Places(where, tuple(part._version for part in parameters))

"""Writers: models made ready to write, and the answers in the making.

A search runs the same few layers hundreds of times on a few rows, where the arithmetic is small and everything around
it is not. So some families have a writer of their own (`WRITERS`), which packs the weights once and steps on flat
tensors; StepWriter does the same with a model's `step` alone. Both write the same words.
"""

from __future__ import annotations

import logging
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from saccade import tree
from saccade.attention.tape import Tape
from saccade.batch import Batch
from saccade.errors import NumericsError
from saccade.kernels.packed import Precision
from saccade.kernels.recording import is_recorded
from saccade.kernels.ways import is_plain
from saccade.models.base import Seq2Seq
from saccade.runtime.exact import Inexact, checksum, structure

__all__ = [
    "Draft",
    "Places",
    "StepWriter",
    "Writer",
    "check_finite",
    "check_weights",
    "fast_writer",
    "fingerprint",
    "kept",
    "places",
    "rows_of",
    "step_writer",
]

Made = TypeVar("Made")


class Draft(ABC):
    """Answers in the making: N = B·K hypotheses, K of each sentence in a run."""

    @abstractmethod
    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Feed one word (N,) to each hypothesis: logits (N, V) of the next, good until the next step.

        PAD is fed to hypotheses that nothing comes of; what is said of these means nothing.
        """

    @abstractmethod
    def follow(self, rows: Tensor) -> None:
        """Let hypothesis n go on from what hypothesis rows[n] was."""

    @abstractmethod
    def keep(self, sentences: Tensor) -> None:
        """Go on with some of the sentences alone."""

    def replace(self, sentences: Tensor, others: Draft, which: Tensor) -> None:
        """Let some of the sentences of a draft that has just begun take the places of some of this one's."""
        raise TypeError(f"{type(self).__name__} does not say how sentences are replaced: write replace()")


class Writer(ABC):
    """writer.read(batch, …) reads the sources and begins a Draft."""

    replaces: ClassVar[bool] = False
    """Whether sentences can take the places of others while its drafts are being written."""

    @abstractmethod
    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> Draft:
        """Begin `width` hypotheses of every sentence, each of at most `max_length` words."""


class StepWriter(Writer):
    """Any model, by its `encode`, `start` and `step`."""

    def __init__(self, model: Seq2Seq) -> None:
        self._model = model

    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> Draft:
        memory = self._model.encode(batch, tape=tape)
        return StepDraft(self._model, memory, tree.repeat_rows(self._model.start(memory, max_length), width), width)


class StepDraft(Draft):
    """The memory and the state that a model's `step` asks for."""

    def __init__(self, model: Seq2Seq, memory: Any, state: Any, width: int) -> None:
        self._model, self._memory, self._state, self._width = model, memory, state, width

    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        logits, self._state = self._model.step(self._memory, self._state, tokens, tape=tape)
        return logits

    def follow(self, rows: Tensor) -> None:
        self._state = tree.take_rows(self._state, rows)

    def keep(self, sentences: Tensor) -> None:
        self._memory = tree.take_rows(self._memory, sentences)
        self._state = tree.take_rows(self._state, rows_of(sentences, self._width))


def rows_of(sentences: Tensor, width: int) -> Tensor:
    """(B,) -> (B·K,): the rows of all hypotheses of some sentences."""
    return (sentences[:, None] * width + torch.arange(width, device=sentences.device)).flatten()


_kept: weakref.WeakKeyDictionary[nn.Module, dict[str, tuple[Any, Any]]] = weakref.WeakKeyDictionary()


def fast_writer(model: Seq2Seq, precision: Precision, make: Callable[[], Writer]) -> Writer | None:
    """A family's own writer, packed again whenever the model changes; None where it would not do what `step` does.

    `make` raises Inexact where a part of the model is not one that the writer computes exactly. Autocast changes how
    `step` computes, and no writer follows it.
    """
    if torch.is_autocast_enabled(next(model.parameters()).device.type):
        return None
    return kept(model, f"writer {precision}", lambda: _made(model, make))


def step_writer(model: Seq2Seq, precision: Precision = "full") -> Writer:
    """Return what writes by a model's own `step`, in full precision.

    Parameters that are no numbers are refused here, since an align or a window can hide a NaN from the predictions.
    """
    check_finite(model)
    if precision == "int8":
        logging.getLogger("saccade").warning("%s has no way to write in int8: it writes as it is", type(model).__name__)
    return StepWriter(model)


def _made(model: Seq2Seq, make: Callable[[], Writer]) -> Writer | None:
    check_weights(model)
    try:
        return make()
    except Inexact as reason:
        logging.getLogger("saccade").info(
            "%s decodes with its own step, which is slower: %s", type(model).__name__, reason
        )
        return None


def check_finite(model: nn.Module) -> None:
    """Refuse a model whose parameters are not all numbers; names the first that is not."""
    kept(model, "finite", lambda: check_weights(model))


def check_weights(model: nn.Module) -> None:
    """Refuse parameters that are not all numbers; names the first that is not. A graph that is recorded has no look."""
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
    """What was made of a model, by name; made again once its parameters, modules or settings have changed.

    What is made while a graph is recorded is the graph's: its numbers are there when it is replayed.
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
    """What decides, beside parameters, how they are packed: see `kernels.packed`."""
    return f"plain {is_plain()}, alone {torch.get_num_threads() == 1}"


def fingerprint(model: nn.Module, parameters: Sequence[Tensor]) -> Any:
    """Something else after every change of a model; None where changes of its parameters cannot be seen."""
    where = places(parameters)
    return None if where is None else (where, structure(model), checksum(parameters).cpu().numpy().tobytes())


class Places(NamedTuple):
    """Where parameters lie, and how often each was changed in sight."""

    where: tuple[tuple[int, torch.dtype, torch.Size], ...]
    changes: tuple[int, ...]


def places(parameters: Sequence[Tensor]) -> Places | None:
    """The places of parameters; None where they do not tell when they change."""
    if not parameters or any(type(part) not in (nn.Parameter, Tensor) or part.is_inference() for part in parameters):
        return None
    where = tuple((part.data_ptr(), part.dtype, part.shape) for part in parameters)
    return Places(where, tuple(part._version for part in parameters))

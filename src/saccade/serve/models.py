"""Models as the server uses them: checked options, answers as JSON, and cancelable work."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.api import Model, load
from saccade.attention import Attention
from saccade.errors import ConfigError
from saccade.look.picture import data_address
from saccade.prediction import Prediction
from saccade.search.search_config import SearchConfig
from saccade.tasks.inputs import Input, Opened

__all__ = ["ENTRIES", "FILES", "Answer", "Answering", "Check", "Described", "Died", "Served", "load_models", "names_of"]

Check = Callable[[], None]
_TEXTS = ("input", "inputs")
ENTRIES: dict[str, tuple[str, ...]] = {
    "text": _TEXTS,
    "points": _TEXTS,
    "question": _TEXTS,
    "dialogue": _TEXTS,
    "episode": _TEXTS,
    "seed": _TEXTS,
    "picture": ("image", "images"),
    "sound": ("sound", "sounds"),
}
"""The request fields that can hold the input, by the modality that a model reads."""


FILES = {"picture": "image", "sound": "sound", "episode": "input"}
"""The field that holds the input as a file or, for an episode, as an object with files, by the modality."""


class Died(Exception):
    """The models' process ended during a call."""


class Answer(NamedTuple):
    """A prediction or a trace as JSON text, with the number of target tokens; pixels: the image that was drawn."""

    body: bytes
    tokens: int
    pixels: NDArray[np.uint8] | None = None


class Answering(Protocol):
    """The interface of a served model. `predict` and `trace` are called in the threads of the batcher.

    `reads` is the modality of the inputs, a key of ENTRIES. For images and sounds, an input is the result of `open`.
    """

    name: str
    reads: str

    def facts(self) -> dict[str, Any]:
        """Return the model's entry in GET /v1/models."""

    def search(self, options: dict[str, Any]) -> SearchConfig:
        """Return the full search config for `options`; a ConfigError lists everything wrong with them."""

    def fault(self, given: Any) -> str | None:
        """Return why a value is no input of this model, to complete a sentence after its name; None if it is one."""

    def length(self, given: Any) -> int:
        """Count the tokens of an input."""

    def open(self, file: Any, **limits: Any) -> Any:
        """Decode an image, a sound or the images of an episode to the model's input; errors use the limits' `name`.

        Called in any thread.
        """

    def looked(self, tokens: int, search: SearchConfig) -> int:
        """Return the most attention weights that the answers to an input of `tokens` tokens, or an image, can have."""

    def predict(self, inputs: Sequence[Any], search: SearchConfig, attention: bool, check: Check) -> list[Answer]:
        """Predict the answers to some inputs; `check` raises if no client waits for them."""

    def trace(self, given: Any, wishes: dict[str, Any], check: Check) -> Answer:
        """Trace one input; `wishes`: force, block, pull, detail and search options."""


class Described:
    """What the server knows about a model without computing: options, tokens and sizes.

    `usual`: default search options; those of a request override them.
    """

    def __init__(self, name: str, model: Model, **usual: Any) -> None:
        self.name, self._model, self._usual = name, model, usual
        self.reads = model.task.reads.name
        if self.reads not in ENTRIES:
            known = " and ".join(ENTRIES)
            raise ConfigError(f"{name} reads inputs of the kind {self.reads!r}, but the server receives only {known}.")
        model.task.check_installed()  # fail at startup, not on the first request

    @property
    def looks(self) -> int:
        """The number of attention heads in the whole model; glimpses count as one."""
        model = self._model.task.model
        found = (module for module in model.modules() if isinstance(module, Attention))
        return sum(attention.score.heads or 1 for attention in found) + hasattr(model, "glimpses")

    @cached_property
    def _examples(self) -> list[dict[str, Any]]:
        return self._model.task.examples()

    def facts(self) -> dict[str, Any]:
        """Return the model's entry in GET /v1/models."""
        task, facts = self._model.task, self._model.task.facts()
        return {
            "name": self.name,
            "task": task.name,
            "input": self.reads,
            "preset": facts["model"],
            "parameters": facts["parameters"],
            "attention": self.looks > 0,
            "examples": self._examples,
            **({"classes": task.drawable} if task.drawable else {}),
        }

    def search(self, options: dict[str, Any]) -> SearchConfig:
        """Return the full search config for `options`."""
        return self._model.search(**self._usual | options)

    def fault(self, given: Any) -> str | None:
        """Return why a value is no input of this model; None if it is one."""
        return self._model.task.reads.fault(given)

    def length(self, given: Any) -> int:
        """Count the tokens of an input."""
        return self._model.task.length(given)

    def open(self, file: Any, **limits: Any) -> Opened:
        """Decode an image and fit it to the square that the model reads, or compute the frames of a sound."""
        found: Opened = self._model.task.opened(file, **limits)
        return found

    def looked(self, tokens: int, search: SearchConfig) -> int:
        """Return the most attention weights that the answers to an input can have."""
        read, written = self._model.task.positions(tokens)
        return search.nbest * read * (search.max_length or written) * self.looks


class Served(Described):
    """A loaded model. It calls `check` between search steps, so that work without a waiting client ends early."""

    def predict(self, inputs: Sequence[Input], search: SearchConfig, attention: bool, check: Check) -> list[Answer]:
        """Predict the answers to some inputs in one batch."""
        options = search.model_dump() | {"batch_size": len(inputs)}
        found = list(self._model.stream(inputs, attention=attention, stop=check, **options))
        answers = []
        for prediction in found:
            check()  # writing attention weights as JSON takes long
            answers.append(Answer(_json(self._plain(prediction)), len(prediction.tokens), prediction.image))
        return answers

    def trace(self, given: Input, wishes: dict[str, Any], check: Check) -> Answer:
        """Trace one input."""
        trace = self._model.trace(given, stop=check, **wishes)
        return Answer(trace.dump().encode(), len(trace.steps))

    def _plain(self, prediction: Prediction) -> dict[str, Any]:
        """Convert a prediction to plain data; attention over an image gets the rows and columns of its regions."""
        plain = prediction.to_dict()
        if prediction.image is not None:
            plain["image"] = data_address(prediction.image)
        if (grid := self._model.task.grid) is not None:
            for part in (plain, *plain.get("others", ())):
                if "attention" in part:
                    part["attention"]["grid"] = list(grid)
        return plain


def load_models(folders: Sequence[Path], *, device: str = "auto", trust_code: bool = False) -> list[Served]:
    """Load the models of some folders."""
    models = [load(folder, device=device, trust_code=trust_code) for folder in folders]
    return [Served(name, model) for name, model in zip(names_of(folders), models, strict=True)]


def names_of(folders: Sequence[Path]) -> list[str]:
    """Name models like their folders; append a number to a name that is already taken."""
    names: list[str] = []
    for folder in folders:
        base = folder.resolve().name
        numbers = (f"{base}-{number}" for number in range(2, len(folders) + 2))
        names.append(next(name for name in (base, *numbers) if name not in names))
    return names


def _json(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()

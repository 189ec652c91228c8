"""Served: a model as the server uses it: checked options, answers as JSON, and work that can be given up."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from saccade.attention import Attention
from saccade.errors import ConfigError
from saccade.front import Model, load
from saccade.prediction import Prediction
from saccade.search.settings import SearchConfig
from saccade.tasks.inputs import Input, Pixels

__all__ = ["ENTRIES", "Answer", "Answering", "Check", "Described", "Died", "Served", "load_models", "names_of"]

Check = Callable[[], None]
ENTRIES: dict[str, tuple[str, ...]] = {"text": ("input", "inputs"), "picture": ("image", "images")}
"""The fields of a request that hold its input, by the modality that a model reads."""


class Died(Exception):
    """The models' process ended in the middle of its work."""


class Answer(NamedTuple):
    """A prediction or a trace as JSON text, and how many tokens were written for it."""

    body: bytes
    tokens: int


class Answering(Protocol):
    """What the server needs of a model. `predict` and `trace` are called in the thread that works on batches.

    `reads` says what its inputs are. Those of a model for pictures are what `open` makes of them, and have `nbytes`.
    """

    name: str
    reads: str

    def facts(self) -> dict[str, Any]:
        """What GET /v1/models says of it."""

    def search(self, options: dict[str, Any]) -> SearchConfig:
        """The whole way to search that some options mean; a ConfigError lists what is wrong with them."""

    def length(self, text: str) -> int:
        """The tokens of a text."""

    def open(self, picture: bytes, *, name: str, max_bytes: int, max_pixels: int) -> Any:
        """What it sees of a picture, from the bytes of its file; a DataError says what is wrong with one of that name.

        Called in any thread.
        """

    def looked(self, tokens: int, search: SearchConfig) -> int:
        """The most numbers of attention that an input of so many tokens, or a picture, can have in its answers."""

    def predict(self, inputs: Sequence[Any], search: SearchConfig, attention: bool, check: Check) -> list[Answer]:
        """Answers to some inputs; `check` raises where they are no longer wanted."""

    def trace(self, given: Any, wishes: dict[str, Any], check: Check) -> Answer:
        """A trace of one input; `wishes` are force, block, pull, detail and options."""


class Described:
    """What the server knows of a model without asking it to compute: its options, its tokens, its sizes.

    `usual`: search options that hold where a request does not say otherwise.
    """

    def __init__(self, name: str, model: Model, **usual: Any) -> None:
        self.name, self._model, self._usual = name, model, usual
        self.reads = model.task.reads.name
        if self.reads not in ENTRIES:
            known = " and ".join(ENTRIES)
            raise ConfigError(f"{name} reads inputs of the kind {self.reads!r}, but the server receives only {known}.")
        model.task.check_installed()  # here, and not when the first client asks

    @property
    def looks(self) -> int:
        """The heads of all its attentions."""
        found = (module for module in self._model.task.model.modules() if isinstance(module, Attention))
        return sum(attention.score.heads or 1 for attention in found)

    def facts(self) -> dict[str, Any]:
        """What GET /v1/models says of it."""
        task, facts = self._model.task, self._model.task.facts()
        return {
            "name": self.name,
            "task": task.name,
            "input": self.reads,
            "preset": facts["model"],
            "parameters": facts["parameters"],
            "attention": self.looks > 0,
        }

    def search(self, options: dict[str, Any]) -> SearchConfig:
        """The whole way to search that some options mean."""
        return self._model.search(**self._usual | options)

    def length(self, text: str) -> int:
        """The tokens of a text."""
        return self._model.task.length(text)

    def open(self, picture: bytes, *, name: str, max_bytes: int, max_pixels: int) -> Pixels:
        """The square that it sees of a picture."""
        found: Pixels = self._model.task.opened(picture, name=name, max_bytes=max_bytes, max_pixels=max_pixels).value
        return found

    def looked(self, tokens: int, search: SearchConfig) -> int:
        """The most numbers of attention that an input can have in its answers."""
        read, written = self._model.task.positions(tokens)
        return search.nbest * read * (search.max_length or written) * self.looks


class Served(Described):
    """A loaded model. `check` is called between the steps of a search, so that work no client waits for ends early."""

    def predict(self, inputs: Sequence[Input], search: SearchConfig, attention: bool, check: Check) -> list[Answer]:
        """Answers to some inputs, decoded together."""
        options = search.model_dump() | {"batch": len(inputs)}
        found = list(self._model.stream(inputs, attention=attention, stop=check, **options))
        answers = []
        for prediction in found:
            check()  # attention is many numbers to write down
            answers.append(Answer(_json(self._plain(prediction)), len(prediction.tokens)))
        return answers

    def trace(self, given: Input, wishes: dict[str, Any], check: Check) -> Answer:
        """A trace of one input."""
        trace = self._model.trace(given, stop=check, **wishes)
        return Answer(trace.dump().encode(), len(trace.steps))

    def _plain(self, prediction: Prediction) -> dict[str, Any]:
        """A prediction as plain data; weights over an image with the rows and columns of its regions."""
        plain = prediction.as_json()
        if (grid := self._model.task.grid) is not None:
            for part in (plain, *plain.get("others", ())):
                if "attention" in part:
                    part["attention"]["grid"] = list(grid)
        return plain


def load_models(folders: Sequence[Path], *, device: str = "auto", trust_code: bool = False) -> list[Served]:
    """The models of some folders."""
    models = [load(folder, device=device, trust_code=trust_code) for folder in folders]
    return [Served(name, model) for name, model in zip(names_of(folders), models, strict=True)]


def names_of(folders: Sequence[Path]) -> list[str]:
    """Models are called like their folders; of several with one name the later ones get a number."""
    names: list[str] = []
    for folder in folders:
        base = folder.resolve().name
        numbers = (f"{base}-{number}" for number in range(2, len(folders) + 2))
        names.append(next(name for name in (base, *numbers) if name not in names))
    return names


def _json(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()

"""Inputs of models: texts, images, points and sounds, checked by their modality."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.tasks.text_files import text_or_file

__all__ = [
    "DIALOGUE",
    "IMAGE",
    "POINTS",
    "QUESTION",
    "SOUND",
    "TEXT",
    "Dialogue",
    "Fields",
    "Image",
    "Input",
    "Modality",
    "Opened",
    "Pixels",
    "Points",
    "Samples",
    "Sound",
    "Text",
    "name_of",
    "one_input",
    "shown",
    "size_of",
]

Pixels = NDArray[np.uint8]
"""uint8 (height, width, 3)."""
Input = str | Path | bytes | Pixels | Mapping[str, Any]
"""A text; an image or a sound: the path of its file, or the bytes of its file; pixels; or several fields by name."""
_SHOWN = 80
"""Maximum characters of a wrong value that an error shows."""


class Opened(NamedTuple):
    """An input that was read from its file; `name`: the path of the file.

    original: what the value was computed from, if traces contain it, such as a sound that can be played.
    """

    value: Any
    name: str | None
    original: Any = None


def name_of(given: Any) -> str | None:
    """Return a text itself, or the path of an input; None for bytes and pixels, which have no name."""
    if isinstance(given, Opened):
        return given.name
    return str(given) if isinstance(given, str | Path) else None


def size_of(given: Any) -> int:
    """Return the bytes of an opened input in memory; texts count as 0."""
    if not isinstance(given, Opened):
        return 0
    parts = (given.value, getattr(given.original, "samples", None))
    return sum(getattr(part, "nbytes", 0) for part in parts)


class Modality(ABC):
    """A kind of input, such as text, and its checks."""

    name: str
    """Name in the HTTP API and in messages."""
    large: ClassVar[bool] = False
    """Whether inputs take much memory, so that search batches are small."""
    fields: tuple[str, ...] = ()
    """Names of the fields of an input that is an object; empty for other inputs."""
    entry: ClassVar[str] = "input"
    """The field of a request that holds an input."""

    def is_one(self, given: Any) -> bool:
        """Return whether this is a single input, valid or not, rather than a collection of inputs."""
        return isinstance(given, str | Path | bytes | bytearray | memoryview | np.ndarray)

    def described(self, inputs: list[Any], options: dict[str, Any]) -> list[Any]:
        """Combine inputs with the options of a call that describe them; remove these options."""
        return inputs

    @abstractmethod
    def fault(self, given: Any) -> str | None:
        """Return why a value is not a valid input, to complete a sentence after its name; None if it is valid."""

    def of_line(self, line: str) -> Any:
        """Return the input that a line of a file holds."""
        return line

    def listed(self, given: Any) -> Any:
        """Return the input that an entry of a recipe's list of examples holds: a line, or the input itself."""
        return self.of_line(given) if isinstance(given, str) else given

    def of_words(self, words: Sequence[str]) -> list[Any]:
        """Return the inputs that arguments of a command hold."""
        return [self.of_line(word) for word in words]


class Text(Modality):
    """A text."""

    name = "text"

    def is_one(self, given: Any) -> bool:
        """Return whether this is a single input; an array holds several."""
        return not isinstance(given, np.ndarray) and super().is_one(given)

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str):
            return None
        if isinstance(given, bytes | bytearray | memoryview):
            return "is bytes, but this model reads text. Decode them first, as in data.decode()."
        return f"is {shown(given)}, but this model reads text."

    def of_words(self, words: Sequence[str]) -> list[Any]:
        """Return the texts, and for arguments that name .txt files, the texts of these files."""
        return [text_or_file(word) for word in words]


class Image(Modality):
    """The path of an image, the bytes of its file, or its pixels."""

    name = "picture"
    large = True
    entry = "image"

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str | Path | bytes | Opened):
            return None
        if not isinstance(given, np.ndarray):
            return (
                f"is {shown(given)}, but this model reads images. Give the path of an image, the bytes of its file, or "
                "its pixels."
            )
        if given.ndim == 3 and given.shape[2] == 3 and given.dtype == np.uint8 and given.size:
            return None
        return f"is {given.dtype} of {tuple(given.shape)}, but pixels are uint8 of (height, width, 3)."


class Points(Modality):
    """A list of points, or of numbers: a text such as `0.12,0.93 0.4,0.11`, an array in JSON, or an array of numpy."""

    name = "points"

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str):
            return None
        if not isinstance(given, np.ndarray):
            return f"is {shown(given)}, but this model reads points. Give a text such as '0.12,0.93 0.4,0.11'."
        if given.dtype.kind in "iuf" and given.ndim in (1, 2) and given.size:
            return None
        return f"is {given.dtype} of {tuple(given.shape)}, but points are numbers of (points, dimensions)."


class Samples(NamedTuple):
    """An array of samples, (n,) or (n, channels), and its samples a second."""

    samples: NDArray[Any]
    rate: int


class Sound(Modality):
    """The path of a sound file, the bytes of its file, or samples with their rate."""

    name = "sound"
    large = True
    entry = "sound"

    def is_one(self, given: Any) -> bool:
        return isinstance(given, Samples | Opened) or hasattr(given, "load") or super().is_one(given)

    def described(self, inputs: list[Any], options: dict[str, Any]) -> list[Any]:
        """Combine arrays with the option `rate`, their samples a second."""
        rate = options.pop("rate", None)
        if rate is None:
            return inputs
        if type(rate) is not int or rate < 1:
            raise DataError(f"rate is {shown(rate)}, but must be the samples a second, such as 16000.")
        return [Samples(given, rate) if isinstance(given, np.ndarray) else given for given in inputs]

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str | Path | bytes | bytearray | memoryview | Opened) or hasattr(given, "load"):
            return None
        if isinstance(given, np.ndarray):
            return "is an array of samples without their rate. Give it too, as in model(samples, rate=16000)."
        if not isinstance(given, Samples):
            return (
                f"is {shown(given)}, but this model reads sound. Give the path of a sound file, the bytes of its file, "
                "or an array of samples with rate=."
            )
        samples = given.samples
        if samples.dtype.kind in "if" and samples.ndim in (1, 2) and samples.size:
            return None
        return f"is {samples.dtype} of {tuple(samples.shape)}, but samples are signed integers or floats of (n,)."

    def of_words(self, words: Sequence[str]) -> list[Any]:
        """Return paths; `-` is the content of a sound file on standard input."""
        return [sys.stdin.buffer.read() if word == "-" else word for word in words]


class Fields(Modality):
    """Several texts by name, such as a question and a passage."""

    def __init__(self, name: str, fields: tuple[str, ...]) -> None:
        self.name, self.fields = name, fields

    def is_one(self, given: Any) -> bool:
        return isinstance(given, Mapping) or super().is_one(given)

    def fault(self, given: Any) -> str | None:
        if not isinstance(given, Mapping):
            return f"is {shown(given)}, but this model reads {self._shape}."
        for name in self.fields:
            if given.get(name) is None:
                return f"has no {name}, but this model reads {self._shape}."
            if not isinstance(given[name], str):
                return f"has {shown(given.get(name))} as its {name}, but this model reads {self._shape}."
        if more := [name for name in given if name not in self.fields]:
            return f"has the field {shown(more[0])}, but this model reads {self._shape}."
        return None

    @property
    def _shape(self) -> str:
        return "{" + ", ".join(f'"{name}": "…"' for name in self.fields) + "}"

    def of_line(self, line: str) -> Any:
        """Return the input of a line of JSON; return anything else unchanged, for `fault` to report."""
        found = json_object(line)
        return line if found is None else found

    def of_words(self, words: Sequence[str]) -> list[Any]:
        """Return a single input if there are as many arguments as fields, else one input per JSON object."""
        if len(words) == len(self.fields) and not words[0].lstrip().startswith("{"):
            return [dict(zip(self.fields, map(text_or_file, words), strict=True))]
        return super().of_words(words)


class Dialogue(Modality):
    """The turns of a dialogue, oldest first, of which the last is to be answered; a plain text is a single turn."""

    name = "dialogue"
    fields = ("turns",)

    def is_one(self, given: Any) -> bool:
        return isinstance(given, Mapping) or super().is_one(given)

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str):
            return None
        turns = given.get("turns") if isinstance(given, Mapping) else None
        if not isinstance(turns, list | tuple) or not all(isinstance(turn, str) for turn in turns):
            return f'is {shown(given)}, but this model reads a text or {{"turns": ["…", …]}}, the oldest first.'
        if more := [name for name in given if name != "turns"]:
            return f'has the field {shown(more[0])}, but this model reads {{"turns": ["…", …]}}.'
        if not turns or not turns[-1].strip():
            return f"is {shown(given)}, but this model answers the last of the turns, which is missing. Write it."
        return None

    def of_line(self, line: str) -> Any:
        """Return the input of a line: a JSON object, or a text."""
        found = json_object(line)
        return line if found is None else found


TEXT, IMAGE, POINTS, DIALOGUE, SOUND = Text(), Image(), Points(), Dialogue(), Sound()
QUESTION = Fields("question", ("question", "passage"))


def json_object(line: str) -> dict[str, Any] | None:
    """Return the JSON object that a line is, or None."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def one_input(reads: Modality, words: Sequence[str]) -> Any:
    """Return the only input that arguments of a command hold; raise DataError if there are several."""
    found = reads.of_words(words)
    if len(found) != 1:
        raise DataError(f"there are {len(found)} inputs, but this command takes one. Quote a text that has spaces.")
    return found[0]


def shown(given: Any) -> str:
    """Return a wrong value as error messages show it, shortened."""
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

"""Inputs of models: texts and images, checked by their modality."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "IMAGE",
    "TEXT",
    "Image",
    "Input",
    "Modality",
    "Opened",
    "Pixels",
    "Text",
    "name_of",
    "shown",
    "size_of",
]

Pixels = NDArray[np.uint8]
"""uint8 (height, width, 3)."""
Input = str | Path | bytes | Pixels
"""A text; or an image: the path of its file, the bytes of its file, or its pixels."""
_SHOWN = 80
"""Maximum characters of a wrong value that an error shows."""


class Opened(NamedTuple):
    """An input that was read from its file; `name`: the path of the file."""

    value: Any
    name: str | None


def name_of(given: Any) -> str | None:
    """Return a text itself, or the path of an input; None for bytes and pixels, which have no name."""
    if isinstance(given, Opened):
        return given.name
    return str(given) if isinstance(given, str | Path) else None


def size_of(given: Any) -> int:
    """Return the bytes of an opened input in memory; texts count as 0."""
    return getattr(given.value, "nbytes", 0) if isinstance(given, Opened) else 0


class Modality(ABC):
    """A kind of input, such as text, and its checks."""

    name: str
    """Name in the HTTP API and in messages."""
    large: ClassVar[bool] = False
    """Whether inputs take much memory, so that search batches are small."""

    def is_one(self, given: Any) -> bool:
        """Return whether this is a single input, valid or not, rather than a collection of inputs."""
        return isinstance(given, str | Path | bytes | bytearray | memoryview | np.ndarray)

    @abstractmethod
    def fault(self, given: Any) -> str | None:
        """Return why a value is not a valid input, to complete a sentence after its name; None if it is valid."""


class Text(Modality):
    """A text."""

    name = "text"

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str):
            return None
        if isinstance(given, bytes | bytearray | memoryview):
            return "is bytes, but this model reads text. Decode them first, as in data.decode()."
        return f"is {shown(given)}, but this model reads text."


class Image(Modality):
    """The path of an image, the bytes of its file, or its pixels."""

    name = "picture"
    large = True

    def fault(self, given: Any) -> str | None:
        if isinstance(given, str | Path | bytes):
            return None
        if not isinstance(given, np.ndarray):
            return (
                f"is {shown(given)}, but this model reads images. Give the path of an image, the bytes of its file, or "
                "its pixels."
            )
        if given.ndim == 3 and given.shape[2] == 3 and given.dtype == np.uint8 and given.size:
            return None
        return f"is {given.dtype} of {tuple(given.shape)}, but pixels are uint8 of (height, width, 3)."


TEXT, IMAGE = Text(), Image()


def shown(given: Any) -> str:
    """Return a wrong value as error messages show it, shortened."""
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

"""Inputs: what a model is given to answer, and the modalities they are of."""

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
"""(height, width, 3)."""
Input = str | Path | bytes | Pixels
"""A text; or a picture: the path of its file, the bytes of its file, or its pixels."""
_SHOWN = 80
"""Letters of something wrong that are worth showing."""


class Opened(NamedTuple):
    """An input that was read from its file and waits for its answer; `name`: where it lay."""

    value: Any
    name: str | None


def name_of(given: Any) -> str | None:
    """Return a text, or where an input lies; None for one that has no name."""
    if isinstance(given, Opened):
        return given.name
    return str(given) if isinstance(given, str | Path) else None


def size_of(given: Any) -> int:
    """Return the bytes that an opened input takes while it waits; texts are small."""
    return getattr(given.value, "nbytes", 0) if isinstance(given, Opened) else 0


class Modality(ABC):
    """A kind of input: what may be handed to a model of a task that reads it."""

    name: str
    """In the HTTP API and in messages."""
    large: ClassVar[bool] = False
    """Whether few inputs fit into a batch that is searched."""

    def is_one(self, given: Any) -> bool:
        """Return whether this is an input, right or wrong, and not several of them."""
        return isinstance(given, str | Path | bytes | bytearray | memoryview | np.ndarray)

    @abstractmethod
    def fault(self, given: Any) -> str | None:
        """Return why something is no such input, as the end of a sentence that begins with its name; None if it is."""


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
                f"is {shown(given)}, but this model looks at pictures. Give the path of a picture, the bytes of its "
                "file, or its pixels."
            )
        if given.ndim == 3 and given.shape[2] == 3 and given.dtype == np.uint8 and given.size:
            return None
        return f"is {given.dtype} of {tuple(given.shape)}, but pixels are uint8 of (height, width, 3)."


TEXT, IMAGE = Text(), Image()


def shown(given: Any) -> str:
    """Return something wrong as an error message shows it."""
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

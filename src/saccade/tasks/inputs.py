"""Input: what a model is given to answer, a text or a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Input", "Opened", "Pixels", "Reads", "is_one", "name_of", "size_of", "wrong_kind"]

Pixels = NDArray[np.uint8]
"""(height, width, 3)."""
Input = str | Path | bytes | Pixels
"""A text; or a picture: the path of its file, the bytes of its file, or its pixels."""
Reads = Literal["text", "picture"]
"""What the inputs of a task are."""
_SHOWN = 80
"""Letters of something wrong that are worth showing."""


class Opened(NamedTuple):
    """A picture that waits for its answer: the square that the model sees of it, and where it lay."""

    pixels: Pixels
    name: str | None


def is_one(given: Any) -> bool:
    """Whether this is an input, right or wrong, and not several of them."""
    return isinstance(given, str | Path | bytes | bytearray | memoryview | np.ndarray)


def name_of(given: Input | Opened) -> str | None:
    """A text, or where a picture lies; None for a picture that has no name."""
    if isinstance(given, Opened):
        return given.name
    return str(given) if isinstance(given, str | Path) else None


def size_of(given: Any) -> int:
    """The bytes that an opened picture takes while it waits; texts are small."""
    return given.pixels.nbytes if isinstance(given, Opened) else 0


def wrong_kind(given: Any, reads: Reads) -> str | None:
    """Why something is no input of a task, as the end of a sentence that begins with its name; None if it is one."""
    if reads == "text":
        if isinstance(given, str):
            return None
        if isinstance(given, bytes | bytearray | memoryview):
            return "is bytes, but this model reads text. Decode them first, as in data.decode()."
        return f"is {_shown(given)}, but this model reads text."
    if isinstance(given, str | Path | bytes):
        return None
    if not isinstance(given, np.ndarray):
        return (
            f"is {_shown(given)}, but this model looks at pictures. Give the path of a picture, the bytes of its file, "
            "or its pixels."
        )
    if given.ndim == 3 and given.shape[2] == 3 and given.dtype == np.uint8 and given.size:
        return None
    return f"is {given.dtype} of {tuple(given.shape)}, but pixels are uint8 of (height, width, 3)."


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

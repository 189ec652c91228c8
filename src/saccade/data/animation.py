"""Animations: images one after the other, as a GIF, WebP or APNG file."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.text import import_extra
from saccade.errors import ConfigError

__all__ = ["ANIMATIONS", "animation"]

ANIMATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    ".gif": ("GIF", {}),
    ".webp": ("WEBP", {"lossless": True}),
    ".apng": ("PNG", {}),
}
"""Suffixes of animations, Pillow's names of their formats, and how these are written."""


def animation(images: Sequence[NDArray[np.uint8]], suffix: str, milliseconds: int) -> bytes:
    """Return a file of images (height, width, 3), which repeats for ever; each is shown for some milliseconds."""
    kind, options = ANIMATIONS[suffix]
    library = import_extra("PIL.Image", "images", f"an animation in {suffix}")
    library.init()
    if kind not in library.SAVE_ALL:
        raise ConfigError(f"this Pillow cannot write {suffix} animations. Choose a name that ends in .gif.")
    first, *rest = [library.fromarray(image) for image in images]
    made = BytesIO()
    first.save(made, kind, save_all=True, append_images=rest, duration=milliseconds, loop=0, **options)
    return made.getvalue()

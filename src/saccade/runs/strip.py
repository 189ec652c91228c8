"""A strip of images through training: a row for each validation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.data.pictures import open_picture
from saccade.errors import ConfigError
from saccade.files import write_atomically
from saccade.look.picture import png

__all__ = ["add_to_strip"]

_ROWS = 20
"""Maximum rows of the strip; of more, it shows as many at even distances."""


def add_to_strip(folder: Path, step: int, row: NDArray[np.uint8]) -> None:
    """Write the row of a step to `folder`, and all rows so far, one below the other, to FOLDER.png."""
    folder.mkdir(exist_ok=True)
    write_atomically(folder / f"step-{step:08d}.png", png(row))
    paths = sorted(folder.glob("step-*.png"))
    kept = [paths[place] for place in np.linspace(0, len(paths) - 1, min(_ROWS, len(paths))).round().astype(int)]
    try:
        rows = [open_picture(path) for path in kept]
    except ConfigError:  # without Pillow there are only the rows
        return
    write_atomically(folder.with_suffix(".png"), png(np.concatenate([one for one in rows if one.shape == row.shape])))

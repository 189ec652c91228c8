"""Picture: what a model saw, the grid of regions it could look at, and the regions its words are about where known."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError

__all__ = ["Box", "Picture", "data_address", "png"]

Box = tuple[float, float, float, float]
"""A region, (x0, y0, x1, y1) in fractions of width and height; (0, 0) is the top left corner."""
Pixels = NDArray[np.uint8]
LONGEST = 16
"""How many times as long as the other a side may be: a panel must have pixels both ways, and not too many."""


@dataclass(frozen=True, eq=False)
class Picture:
    """The pixels (height, width, 3) that a model was given, under `rows` by `columns` regions in reading order.

    `boxes` has the region that each word of an answer is about, or None; it is empty where nobody knows.
    """

    pixels: Pixels
    rows: int
    columns: int
    boxes: tuple[Box | None, ...] = ()

    def __post_init__(self) -> None:
        if self.pixels.ndim != 3 or self.pixels.shape[2] != 3 or self.pixels.dtype != np.uint8 or not self.pixels.size:
            raise ShapeError(
                f"a picture must be bytes of (height, width, 3), but is {self.pixels.dtype} of "
                f"{tuple(self.pixels.shape)}."
            )
        if max(self.pixels.shape[:2]) > LONGEST * min(self.pixels.shape[:2]):
            raise ShapeError(
                f"a picture of {self.pixels.shape[1]} × {self.pixels.shape[0]} pixels is too narrow to be shown: one "
                f"side may be {LONGEST} times the other. Cut it."
            )
        if self.rows < 1 or self.columns < 1:
            raise ShapeError(f"a picture has 1 region or more, but {self.rows} × {self.columns} are given.")

    @property
    def regions(self) -> int:
        """How many there are."""
        return self.rows * self.columns

    def region(self, number: int) -> Box:
        """Where a region lies."""
        row, column = divmod(number, self.columns)
        return column / self.columns, row / self.rows, (column + 1) / self.columns, (row + 1) / self.rows

    @property
    def address(self) -> str:
        """The pixels as a data: address, which a page or a drawing can hold."""
        return data_address(self.pixels)


def data_address(pixels: Pixels) -> str:
    """Pixels (height, width, 3 or 4) as the data: address of a PNG."""
    return f"data:image/png;base64,{b64encode(png(pixels)).decode()}"


def png(pixels: Pixels) -> bytes:
    """Pixels (height, width, 3 or 4) as a PNG file; the same pixels give the same bytes."""
    high, wide, channels = pixels.shape
    kind = {3: 2, 4: 6}[channels]  # colours, colours with transparency
    header = struct.pack(">IIBBBBB", wide, high, 8, kind, 0, 0, 0)
    body = min((zlib.compress(lines, 9) for lines in _filtered(pixels)), key=len)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _filtered(pixels: Pixels) -> list[bytes]:
    """Each line behind the number of its filter: as it is, less the pixel before, or less the one above."""
    before, above = np.zeros_like(pixels), np.zeros_like(pixels)
    before[:, 1:], above[1:] = pixels[:, :-1], pixels[:-1]
    made = []
    for number, less in enumerate((None, before, above)):
        lines = (pixels if less is None else pixels - less).reshape(len(pixels), -1)  # bytes wrap around, as they must
        made.append(np.concatenate([np.full((len(lines), 1), number, np.uint8), lines], axis=1).tobytes())
    return made


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

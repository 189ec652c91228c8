"""Picture: an input image, its grid of regions, and the gold regions of the output's words, if known."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError

__all__ = ["Box", "Picture", "data_address", "png", "sheet"]

Box = tuple[float, float, float, float]
"""A region, (x0, y0, x1, y1) in fractions of width and height; (0, 0) is the top left corner."""
Pixels = NDArray[np.uint8]
LONGEST = 16
"""Maximum aspect ratio: a panel needs enough pixels both ways, and not too many."""


@dataclass(frozen=True, eq=False)
class Picture:
    """The pixels (height, width, 3) of an input image, divided into `rows` by `columns` regions in reading order.

    `boxes` has the gold region of each output word, or None for a word without one; it may be empty.
    """

    pixels: Pixels
    rows: int
    columns: int
    boxes: tuple[Box | None, ...] = ()
    drawn: bool = False
    """Whether a model drew it, so that its regions attend to words, not words to its regions."""
    tiled: bool = False
    """Whether its regions are images of their own, which figures light evenly."""

    def __post_init__(self) -> None:
        if self.pixels.ndim != 3 or self.pixels.shape[2] != 3 or self.pixels.dtype != np.uint8 or not self.pixels.size:
            raise ShapeError(
                f"an image must be bytes of (height, width, 3), but is {self.pixels.dtype} of "
                f"{tuple(self.pixels.shape)}."
            )
        if max(self.pixels.shape[:2]) > LONGEST * min(self.pixels.shape[:2]):
            raise ShapeError(
                f"an image of {self.pixels.shape[1]} × {self.pixels.shape[0]} pixels is too narrow to be shown: one "
                f"side may be {LONGEST} times the other. Cut it."
            )
        if self.rows < 1 or self.columns < 1:
            raise ShapeError(f"an image has 1 region or more, but {self.rows} × {self.columns} are given.")

    @property
    def regions(self) -> int:
        """The number of regions."""
        return self.rows * self.columns

    def region(self, number: int) -> Box:
        """Return the box of a region."""
        row, column = divmod(number, self.columns)
        return column / self.columns, row / self.rows, (column + 1) / self.columns, (row + 1) / self.rows

    @property
    def address(self) -> str:
        """The pixels as a data: URL, to embed in a page or a drawing."""
        return data_address(self.pixels)


def sheet(images: Sequence[Pixels], columns: int) -> Pixels:
    """Return images of one size in rows; what the last row lacks is white."""
    every = [*images, *[np.full_like(images[0], 255)] * (-len(images) % columns)]
    rows = [np.concatenate(every[start : start + columns], 1) for start in range(0, len(every), columns)]
    return np.concatenate(rows)


def data_address(pixels: Pixels) -> str:
    """Encode pixels (height, width, 3 or 4) as the data: URL of a PNG."""
    return f"data:image/png;base64,{b64encode(png(pixels)).decode()}"


def png(pixels: Pixels) -> bytes:
    """Encode pixels (height, width, 3 or 4) as a PNG file; the same pixels give the same bytes."""
    high, wide, channels = pixels.shape
    kind = {3: 2, 4: 6}[channels]  # RGB, RGBA
    header = struct.pack(">IIBBBBB", wide, high, 8, kind, 0, 0, 0)
    body = min((zlib.compress(lines, 9) for lines in _filtered(pixels)), key=len)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _filtered(pixels: Pixels) -> list[bytes]:
    """Return the lines, each after its filter type, once per PNG filter: none, sub and up."""
    before, above = np.zeros_like(pixels), np.zeros_like(pixels)
    before[:, 1:], above[1:] = pixels[:, :-1], pixels[:-1]
    made = []
    for number, less in enumerate((None, before, above)):
        lines = (pixels if less is None else pixels - less).reshape(len(pixels), -1)  # modulo 256, as PNG requires
        made.append(np.concatenate([np.full((len(lines), 1), number, np.uint8), lines], axis=1).tobytes())
    return made


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

"""SupportSheet: a query and its labeled images as one image of tiles, so that attention to them is drawn over it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.look.picture import Picture
from saccade.prediction import Side

__all__ = ["SupportSheet"]

_EDGE = 2
"""Pixels of the frame around a tile."""
_FRAME, _EMPTY = 190, 235
"""Gray of the frames, and of tiles without an image."""
_SMALLEST = 56
"""Least side of a tile; smaller images are enlarged by a whole number."""


@dataclass(frozen=True)
class SupportSheet:
    """Where images stand: the query in the first row, then the labels in order, each with a block of tiles.

    tiles: the tile of each labeled image, in the order of `labels`. A sheet is about as high as wide, so blocks stand
    side by side if there are few images of each label, and have several rows if there are many.
    """

    labels: Sequence[str]
    rows: int
    columns: int
    tiles: NDArray[np.int64]

    @classmethod
    def of(cls, labels: Sequence[str]) -> SupportSheet:
        """Arrange images with these labels, of which equal ones are consecutive."""
        names = list(dict.fromkeys(labels))
        most = max(Counter(labels).values())
        wide = min(most, math.ceil(math.sqrt(len(labels))))
        high = math.ceil(most / wide)
        beside = max(1, round(math.sqrt(len(names) * high / wide)))
        columns, tiles, counts = beside * wide, [], dict.fromkeys(names, 0)
        for label in labels:
            block_row, block = divmod(names.index(label), beside)
            row, place = divmod(counts[label], wide)
            tiles.append((1 + block_row * high + row) * columns + block * wide + place)
            counts[label] += 1
        return cls(labels, 1 + math.ceil(len(names) / beside) * high, columns, np.array(tiles, np.int64))

    @property
    def side(self) -> Side:
        """The tiles as a side of attention: the query, labels, and "-" for empty tiles."""
        names = ["-"] * (self.rows * self.columns)
        names[0] = "(query)"
        for tile, label in zip(self.tiles.tolist(), self.labels, strict=True):
            names[tile] = label
        return Side(names, names, [*range(len(names))])

    def spread(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Spread weights (…, S + 1), of which the last is of the query itself, over the tiles."""
        found = np.zeros((*weights.shape[:-1], self.rows * self.columns), weights.dtype)
        found[..., self.tiles] = weights[..., :-1]
        found[..., 0] = weights[..., -1]
        return found

    def picture(self, support: NDArray[np.uint8], query: NDArray[np.uint8]) -> Picture:
        """Draw the sheet from images (S, H, W, C) and a query (H, W, C)."""
        high, wide = query.shape[:2]
        times = max(1, math.ceil(_SMALLEST / max(high, wide)))
        tall, broad = high * times + 2 * _EDGE, wide * times + 2 * _EDGE
        sheet = np.full((self.rows, self.columns, tall, broad, 3), _EMPTY, np.uint8)
        for tile, image in zip([0, *self.tiles.tolist()], [query, *support], strict=True):
            one = sheet[divmod(tile, self.columns)]
            one[:] = _FRAME
            one[_EDGE:-_EDGE, _EDGE:-_EDGE] = image.repeat(times, 0).repeat(times, 1)
        pixels = sheet.swapaxes(1, 2).reshape(self.rows * tall, self.columns * broad, 3)
        return Picture(pixels, self.rows, self.columns, tiled=True)

"""Scene: some things on a pale background. It is small in memory, and drawn only when it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.scenes.things import COLOURS, mask
from saccade.data.example import Box

__all__ = ["VERSION", "Scene", "Thing", "union"]

VERSION = 1
"""Changes when the same scene is drawn differently."""
_GRAIN = 6
"""Amplitude of the noise, in steps of brightness."""


class Thing(NamedTuple):
    """One object, and the pixel of its top left corner."""

    kind: str
    colour: str
    height: int
    sample: int
    x: int
    y: int

    @property
    def width(self) -> int:
        """Width in pixels."""
        return int(mask(self.kind, self.height, self.sample).shape[1])

    def box(self, canvas: int) -> Box:
        """Return the bounding box in fractions of the canvas."""
        right, bottom = self.x + self.width, self.y + self.height
        return self.x / canvas, self.y / canvas, right / canvas, bottom / canvas


@dataclass(frozen=True)
class Scene:
    """An image of a built-in corpus, before it is drawn. Later things cover earlier ones."""

    name: str
    canvas: int
    things: tuple[Thing, ...]
    grain: int
    """Seed of the background, the noise and the exact colors."""

    def load(self) -> NDArray[np.uint8]:
        """Draw the image: (canvas, canvas, 3)."""
        chance = Random(self.grain)
        noise = np.frombuffer(chance.randbytes(self.canvas**2 * 3), np.uint8).astype(np.float32)
        image = noise.reshape(self.canvas, self.canvas, 3) * (2 * _GRAIN / 255) - _GRAIN
        light = 222 + 24 * chance.random()
        tint = [light + 14 * (chance.random() - 0.5) for _ in range(3)]
        image += np.array(tint, np.float32)
        for thing in self.things:
            shade = 16 * (chance.random() - 0.5)
            colour = np.array(COLOURS[thing.colour], np.float32) + shade
            cover = mask(thing.kind, thing.height, thing.sample)[:, :, None]
            patch = image[thing.y : thing.y + thing.height, thing.x : thing.x + cover.shape[1]]
            patch += cover * (colour - patch) * np.float32(0.97)  # a little of the noise shows through
        return np.asarray(np.clip(image, 0, 255), np.uint8)

    def stamp(self) -> list[Any]:
        """Return everything that the drawing depends on."""
        return [VERSION, self.canvas, self.grain, [list(thing) for thing in self.things]]


def union(boxes: Sequence[Box]) -> Box:
    """Return the smallest box around all boxes."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)

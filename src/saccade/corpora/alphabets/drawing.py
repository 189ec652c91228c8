"""Drawing: a character as one person draws it, dark ink on white paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.alphabets.characters import Character
from saccade.corpora.stream import Dice

__all__ = ["DRAWERS", "PIXELS", "Drawer", "Drawing", "drawers"]

DRAWERS = 20
"""People who draw every character of an alphabet."""
PIXELS = 28
"""Side of a drawing."""
_POINTS = 24
"""Points of ink on a stroke."""
_MARGIN = 0.12
_DARKEST = 1.6
"""Ink where the pen moves; from about 1 on, paper is black."""


@dataclass(frozen=True)
class Drawer:
    """How a person draws: slant, width and height of characters, the pen, how unsteady the hand is, and a seed."""

    slant: float
    wide: float
    high: float
    pen: float
    unsteady: float
    seed: int


@dataclass(frozen=True)
class Drawing:
    """A drawn character."""

    name: str
    strokes: Character = field(repr=False)
    drawer: Drawer = field(repr=False)

    def load(self) -> NDArray[np.uint8]:
        """Draw the character, (28, 28, 3)."""
        gray = 255 - _ink(self._points(), self.drawer.pen)
        return np.repeat(gray[..., None], 3, -1)

    def stamp(self) -> list[Any]:
        """Return the name, which determines the drawing."""
        return [self.name]

    def _points(self) -> NDArray[np.float64]:
        """Return points of ink (N, 2) in pixels: the strokes, jittered, then slanted, turned, resized and moved."""
        drawer = self.drawer
        dice = Dice(f"{self.name} {drawer.seed}")

        def noise(scale: float) -> float:
            return scale * (dice.random() + dice.random() + dice.random() - 1.5)  # nearly normal

        strokes = np.array([[[u + noise(drawer.unsteady) for u in point] for point in one] for one in self.strokes])
        strokes += np.array([[[noise(drawer.unsteady), noise(drawer.unsteady)]] for _ in self.strokes])
        t = np.linspace(0, 1, _POINTS)[:, None]
        begin, bend, end = (strokes[:, None, place] for place in range(3))
        points = ((1 - t) ** 2 * begin + 2 * t * (1 - t) * bend + t * t * end).reshape(-1, 2) - 0.5
        size, tilt = 1 - 0.35 * dice.random(), noise(0.25)
        across = drawer.wide * points[:, :1] - (drawer.slant + tilt) * points[:, 1:]
        down = drawer.high * points[:, 1:] + tilt * points[:, :1]
        shift = [noise(0.12), noise(0.12)]
        turned = size * np.concatenate([across, down], 1) + shift
        placed: NDArray[np.float64] = (0.5 + turned * (1 - 2 * _MARGIN)) * PIXELS - 0.5
        return placed


def drawers(dice: Dice) -> list[Drawer]:
    """Return the people who draw an alphabet."""

    def around(middle: float, spread: float) -> float:
        return middle + spread * (2 * dice.random() - 1)

    return [
        Drawer(around(0, 0.25), around(0.9, 0.2), around(0.95, 0.15), around(0.6, 0.2), around(0.07, 0.03), number)
        for number in range(DRAWERS)
    ]


def _ink(points: NDArray[np.float64], pen: float) -> NDArray[np.uint8]:
    """Return how dark each pixel is: a round pen at every point, as a sum of Gaussians."""
    places = np.arange(PIXELS)
    across, down = (np.exp(-0.5 * ((places - points[:, axis, None]) / pen) ** 2) for axis in (0, 1))
    ink = down.T @ across
    dark = 1 - np.exp(-_DARKEST * ink)
    return np.asarray((255 * dark / dark.max()).round(), np.uint8)

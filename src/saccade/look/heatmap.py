"""The veil over a picture: clear where a word looked, dark where it did not.

Weights of regions become a smooth map, so that nobody mistakes the edges of the grid for something in the picture. The
map is made of cubic B-splines, mirrored at the edges: it is nowhere below 0, what is equal everywhere stays so, and its
mean is that of the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["light", "smooth", "veil"]

Floats = NDArray[np.float64]
COLOUR = (17, 21, 34)
"""Of the veil: dark, and bluer than most pictures, so that the dark parts of those are still told from it."""
THICKEST = 0.8
EDGE = 0.5
"""The share of the most light at which the edge of what is looked at is drawn: seen on dark pictures, too."""
EDGE_COLOUR = (255, 214, 102)
EDGE_OPACITY = 0.85
EDGE_WIDTH = 1.5
"""Pixels."""


def smooth(weights: ArrayLike, height: int, width: int) -> Floats:
    """Weights (rows, columns) of regions as a map (height, width)."""
    grid = np.asarray(weights, np.float64)
    made: Floats = _basis(height, grid.shape[0]) @ grid @ _basis(width, grid.shape[1]).T
    return made


def light(weights: ArrayLike, height: int, width: int) -> Floats:
    """The map in shares of its most, 0 to 1; all 0 where nothing was looked at."""
    made = np.maximum(smooth(weights, height, width), 0)
    most = made.max(initial=0)
    return made / most if most > 0 else made


def veil(weights: ArrayLike, height: int, width: int, *, edge: float = EDGE_WIDTH) -> NDArray[np.uint8]:
    """Colours and opacity (height, width, 4) to lay over a picture, with the edge of what is looked at."""
    shine = light(weights, height, width)
    made = np.empty((height, width, 4))
    made[..., :3], made[..., 3] = COLOUR, THICKEST * (1 - shine)
    line = EDGE_OPACITY * _level(shine, EDGE, edge)[..., None]
    opacity = line + made[..., 3:] * (1 - line)  # the line lies over the veil
    mixed = line * np.array(EDGE_COLOUR) + made[..., :3] * made[..., 3:] * (1 - line)
    made[..., :3], made[..., 3:] = mixed / np.maximum(opacity, 1e-9), 255 * opacity
    return made.round().clip(0, 255).astype(np.uint8)


def _level(shine: Floats, level: float, wide: float) -> Floats:
    """How much of each pixel a line of that width covers which goes round what lies above a level of the map.

    What touches the picture's edge is closed along it; but not what is all of the picture.
    """
    down, across = (np.gradient(shine, axis=axis) if shine.shape[axis] > 1 else np.zeros_like(shine) for axis in (0, 1))
    inside = (shine - level) / np.maximum(np.hypot(down, across), 1e-9)  # in pixels, nearly
    covered: Floats = np.clip(wide / 2 + 0.5 - np.abs(inside), 0, 1)
    if shine.min() >= level:
        return covered
    rows, columns = (np.minimum(np.arange(size), np.arange(size)[::-1]) for size in shine.shape)
    rim = np.clip(wide - np.minimum(rows[:, None], columns), 0, 1)
    return np.maximum(covered, rim * np.clip(inside + 0.5, 0, 1))


def _basis(pixels: int, regions: int) -> Floats:
    """(pixels, regions): how much of each region's weight stands at each pixel; rows add up to 1."""
    places = (np.arange(pixels) + 0.5) / pixels * regions - 0.5  # in regions, from the middle of the first
    first = np.floor(places).astype(int) - 1
    made = np.zeros((pixels, regions))
    for number in (first, first + 1, first + 2, first + 3):
        turned = number % (2 * regions)
        mirrored = np.where(turned < regions, turned, 2 * regions - 1 - turned)
        np.add.at(made, (np.arange(pixels), mirrored), _spline(places - number))
    return made


def _spline(distance: Floats) -> Floats:
    near = np.abs(distance)
    inner, outer = 2 / 3 - near**2 + near**3 / 2, np.maximum(2 - near, 0) ** 3 / 6
    return np.where(near < 1, inner, outer)

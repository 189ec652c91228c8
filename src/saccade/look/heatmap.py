"""The heatmap over an input image: transparent where attention is high, dark where it is low.

The weights of regions are smoothed, so that the region grid does not show as edges in the image. The smooth map is a
sum of cubic B-splines, mirrored at the edges. It is never negative, keeps constants, and has the mean of the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["heatmap", "light", "smooth"]

Floats = NDArray[np.float64]
COLOUR = (17, 21, 34)
"""The color of low attention: dark, and bluer than the dark parts of most images."""
THICKEST = 0.8
"""Opacity where attention is 0."""
EDGE = 0.5
"""The fraction of the maximum at which a contour line is drawn, visible on dark images too."""
EDGE_COLOUR = (255, 214, 102)
EDGE_OPACITY = 0.85
EDGE_WIDTH = 1.5
"""Pixels: the default width of the contour line."""


def smooth(weights: ArrayLike, height: int, width: int, *, flat: bool = False) -> Floats:
    """Interpolate the weights (rows, columns) of regions to a smooth map (height, width); flat: do not interpolate."""
    grid = np.asarray(weights, np.float64)
    basis = _own_region if flat else _basis
    made: Floats = basis(height, grid.shape[0]) @ grid @ basis(width, grid.shape[1]).T
    return made


def light(weights: ArrayLike, height: int, width: int, *, flat: bool = False) -> Floats:
    """Return the map divided by its maximum, 0 to 1; all 0 if all weights are 0."""
    made = np.maximum(smooth(weights, height, width, flat=flat), 0)
    most = made.max(initial=0)
    return made / most if most > 0 else made


def heatmap(
    weights: ArrayLike, height: int, width: int, *, edge: float = EDGE_WIDTH, flat: bool = False
) -> NDArray[np.uint8]:
    """Return RGBA pixels (height, width, 4) to lay over an image, with a contour line `edge` pixels wide.

    flat: each region is lit evenly, for regions that are images of their own.
    """
    shine = light(weights, height, width, flat=flat)
    made = np.empty((height, width, 4))
    made[..., :3], made[..., 3] = COLOUR, THICKEST * (1 - shine)
    line = EDGE_OPACITY * _contour(shine, EDGE, edge)[..., None]
    opacity = line + made[..., 3:] * (1 - line)  # the line is blended over the heatmap
    mixed = line * np.array(EDGE_COLOUR) + made[..., :3] * made[..., 3:] * (1 - line)
    made[..., :3], made[..., 3:] = mixed / np.maximum(opacity, 1e-9), 255 * opacity
    return made.round().clip(0, 255).astype(np.uint8)


def _contour(shine: Floats, level: float, wide: float) -> Floats:
    """Return the coverage of each pixel by a contour line at `level`, `wide` pixels wide.

    A region above the level that touches the image edge is outlined along it, unless it fills the whole image.
    """
    down, across = (np.gradient(shine, axis=axis) if shine.shape[axis] > 1 else np.zeros_like(shine) for axis in (0, 1))
    inside = (shine - level) / np.maximum(np.hypot(down, across), 1e-9)  # approximate distance in pixels
    covered: Floats = np.clip(wide / 2 + 0.5 - np.abs(inside), 0, 1)
    if shine.min() >= level:
        return covered
    rows, columns = (np.minimum(np.arange(size), np.arange(size)[::-1]) for size in shine.shape)
    rim = np.clip(wide - np.minimum(rows[:, None], columns), 0, 1)
    return np.maximum(covered, rim * np.clip(inside + 0.5, 0, 1))


def _own_region(pixels: int, regions: int) -> Floats:
    """Return a matrix (pixels, regions) with 1 at each pixel's region."""
    made: Floats = np.eye(regions)[np.arange(pixels) * regions // pixels]
    return made


def _basis(pixels: int, regions: int) -> Floats:
    """Return the matrix (pixels, regions) of each region's spline at each pixel; rows add up to 1."""
    places = (np.arange(pixels) + 0.5) / pixels * regions - 0.5  # in regions, from the center of the first
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

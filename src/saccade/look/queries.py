"""Attention between the regions of an image: three of them as colored dots, with a panel for what each attends to.

The figure follows figure 5 of Zhang et al. 2018, arXiv:1805.08318.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError
from saccade.look.overlay import DRAWN, Overlay, Panel
from saccade.look.picture import Picture

__all__ = ["COLORS", "query_regions", "region_overlay"]

COLORS = ("#e4572e", "#2ab7ca", "#f5c518")
"""Colors of the dots, which stay visible on dark and on light images."""


def region_overlay(picture: Picture, weights: NDArray[np.floating]) -> Overlay:
    """Make an overlay from the weights (regions, regions) between the regions of an image."""
    if weights.shape != (picture.regions, picture.regions):
        raise ShapeError(
            f"the image has {picture.rows} × {picture.columns} regions, but the weights are {weights.shape}. Pass "
            "those of a site that attends from this image to itself."
        )
    marks = [(picture.region(number), color) for number, color in zip(query_regions(picture), COLORS, strict=False)]
    panels = [Panel(DRAWN, None, marks=tuple(marks))]
    for number, mark in zip(query_regions(picture), marks, strict=False):
        row, column = divmod(number, picture.columns)
        shown = weights[number].astype(np.float64).reshape(picture.rows, picture.columns)
        panels.append(Panel(f"({row + 1}, {column + 1})", shown, marks=(mark,)))
    return Overlay(picture, tuple(panels))


def query_regions(picture: Picture) -> list[int]:
    """Return two regions that differ from the rest of the image and lie far apart, then one of the rest; or fewer."""
    high, wide = picture.pixels.shape[:2]
    rows, columns = (np.arange(size) * count // size for size, count in ((high, picture.rows), (wide, picture.columns)))
    region = (rows[:, None] * picture.columns + columns).ravel()
    flat = picture.pixels.reshape(-1, 3).astype(np.float64)
    unlike = np.abs(flat - np.median(flat, 0)).sum(1)
    contrast = np.bincount(region, unlike, picture.regions) / np.maximum(
        np.bincount(region, minlength=picture.regions), 1
    )
    places = np.stack(np.divmod(np.arange(picture.regions), picture.columns), 1)
    found = [int(contrast.argmax())]
    while len(found) < min(len(COLORS), picture.regions):
        apart = np.abs(places[:, None] - places[found]).sum(2).min(1)
        unusual = (contrast + 1) if len(found) == 1 else 1 / (contrast + 1)
        found.append(int((unusual * apart).argmax()))
    return found

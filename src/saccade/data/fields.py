"""Fields: images placed at random on a larger one, among parts of others, composed when they are needed.

A field depends on its number, the split and the seed alone, so a resumed run sees the same fields.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from pydantic import Field

from saccade.config import Config, Count, Seed, Share

__all__ = ["Fields", "FieldsConfig", "compose", "uniform"]

Pixels = NDArray[np.uint8]
_FAINT = 64
"""Ink below this does not count for the box of an image."""
_OWN = 8
"""Random numbers per field, before those of its clutter."""


class FieldsConfig(Config):
    """For glimpses: how images become the fields that a model sees."""

    size: Annotated[int, Field(ge=0, le=1024)] = 0
    """Side of the field on which each image is placed at random; 0: the images themselves."""
    clutter: Annotated[int, Field(ge=0, le=64)] = 0
    """Parts of other images on each field."""
    clutter_size: Annotated[int, Field(ge=1, le=256)] = 8
    """Side of such a part, in pixels."""
    turn: float = Field(0.0, ge=0, le=180)
    """Training images are turned by up to this many degrees, either way."""
    zoom: Share = 0.0
    """Training images are scaled by up to this share, either way."""
    shift: float = Field(0.0, ge=0, le=64)
    """Training images are moved by up to this many pixels before they are placed."""
    count: Count = 100000
    """Number of different training fields."""
    seed: Seed = 1


class Fields:
    """The fields of a split, drawn from ink (N, h, w): bytes, 0 = paper."""

    def __init__(self, ink: Pixels, config: FieldsConfig, name: str) -> None:
        self.ink, self.config, self.name = ink, config, name

    def draw(self, chosen: NDArray[np.int64], numbers: NDArray[np.int64]) -> tuple[Pixels, NDArray[np.float64]]:
        """Return fields (n, S, S) of ink, and boxes (n, 2, 4) of the chosen images, in fractions of the field.

        The boxes are of the whole image and of its ink: left, top, right, bottom. chosen: index of the image of each
        field. numbers: of the fields.
        """
        config = self.config
        chances = uniform(f"{self.name} {config.seed}", numbers, _OWN + 5 * config.clutter)
        ink = self.ink[chosen]
        if self.name == "train" and (config.turn or config.zoom or config.shift):
            ink = _bent(ink, config, chances[:, 2:6])
        return compose(ink, self.ink, config, chances)


def compose(
    ink: Pixels, others: Pixels, config: FieldsConfig, chances: NDArray[np.float64]
) -> tuple[Pixels, NDArray[np.float64]]:
    """Place images (n, h, w) on fields, with parts of `others` (N, h, w); see `Fields.draw`."""
    count, high, wide = ink.shape
    side = max(config.size, high, wide)
    fields = np.zeros((count, side, side), np.uint8)
    top, left = _whole(chances[:, 0], side - high + 1), _whole(chances[:, 1], side - wide + 1)
    _paint(fields, ink, top, left)
    small = min(config.clutter_size, high, wide)
    for number in range(config.clutter):
        own = chances[:, _OWN + 5 * number :]
        source = others[_whole(own[:, 0], len(others))]
        y, x = _whole(own[:, 1], high - small + 1), _whole(own[:, 2], wide - small + 1)
        rows, columns = y[:, None] + np.arange(small), x[:, None] + np.arange(small)
        cut = source[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]
        _paint(fields, cut, _whole(own[:, 3], side - small + 1), _whole(own[:, 4], side - small + 1))
    inner = np.stack([np.broadcast_to([0.0, 0.0, wide, high], (count, 4)), _boxes(ink)], 1)
    return fields, (inner + np.stack([left, top, left, top], 1)[:, None]) / side


def uniform(name: str, numbers: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return random numbers (n, count) in [0, 1) that depend on the name and each number alone (splitmix64)."""
    start: Any = np.uint64(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big"))
    with np.errstate(over="ignore"):
        z: Any = (
            numbers.astype(np.uint64)[:, None] * np.uint64(count) + np.arange(count, dtype=np.uint64) + start
        ) * _GAMMA
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.float64] = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
    return found


def _paint(fields: Pixels, ink: Pixels, top: NDArray[np.int64], left: NDArray[np.int64]) -> None:
    """Lay ink (n, h, w) on fields, each at its place; the darker ink stays."""
    rows, columns = top[:, None] + np.arange(ink.shape[1]), left[:, None] + np.arange(ink.shape[2])
    places = (np.arange(len(ink))[:, None, None], rows[:, :, None], columns[:, None, :])
    fields[places] = np.maximum(fields[places], ink)


def _boxes(ink: Pixels) -> NDArray[np.float64]:
    """Return where there is ink, (n, 4): left, top, right, bottom in pixels; the whole image if there is none."""
    found = np.empty((len(ink), 4))
    for axis, first in ((1, 0), (2, 1)):  # over rows: left and right; over columns: top and bottom
        there: NDArray[np.bool_] = np.asarray((ink >= _FAINT).any(axis))
        none = ~there.any(1)
        found[:, first] = np.where(none, 0, there.argmax(1))
        found[:, first + 2] = np.where(none, there.shape[1], there.shape[1] - there[:, ::-1].argmax(1))
    return found


def _bent(ink: Pixels, config: FieldsConfig, chances: NDArray[np.float64]) -> Pixels:
    """Turn, scale and shift images at random."""
    signed = torch.from_numpy(2 * chances - 1).float()
    turn, zoom = signed[:, 0] * np.deg2rad(config.turn), 1 / (1 + signed[:, 1] * config.zoom)
    shift = signed[:, 2:] * 2 * config.shift / ink.shape[-1]
    across, along = turn.cos() * zoom, turn.sin() * zoom
    matrix = torch.stack([across, -along, shift[:, 0], along, across, shift[:, 1]], 1).view(-1, 2, 3)
    grid = F.affine_grid(matrix, [len(ink), 1, *ink.shape[1:]], align_corners=False)
    bent = F.grid_sample(torch.from_numpy(ink)[:, None].float(), grid, align_corners=False)
    return bent[:, 0].round().to(torch.uint8).numpy()


def _whole(chances: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return whole numbers below `count`."""
    return (chances * count).astype(np.int64)


_GAMMA = np.uint64(0x9E3779B97F4A7C15)

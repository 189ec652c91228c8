"""The things in scenes: handwritten digits and drawn shapes, as masks of any size.

A mask is the coverage of each pixel by a thing, from 0 to 1. Its height and width are those of the thing, so the
bounding box of a thing is that of its mask.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.text import import_extra

__all__ = ["COLOURS", "DIGITS", "HOLLOW", "KINDS", "SHAPES", "Mask", "mask", "samples"]

Mask = NDArray[np.float32]

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (214, 32, 38),
    "orange": (243, 132, 22),
    "yellow": (240, 208, 20),
    "green": (34, 148, 58),
    "blue": (32, 84, 206),
    "purple": (126, 44, 160),
    "pink": (246, 138, 196),
    "brown": (118, 72, 36),
    "black": (22, 22, 24),
}
DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SHAPES = ("circle", "square", "triangle", "star", "cross", "diamond", "ring", "frame")
KINDS = (*DIGITS, *SHAPES)
HOLLOW = ("ring", "frame")
"""Shapes with a hole for another thing."""

_FINE = 4
"""Sample points per pixel in each direction, to draw shapes."""
_INNER = 0.7
"""Size of the hole, relative to its hollow shape."""
_FAINT, _INK = 0.25, 1.45
"""Handwriting fainter than this becomes white, and the rest this much darker, so that strokes have edges."""
_HELD_OUT = {"valid": (0,), "test": (1,), "train": (2, 3, 4, 5, 6, 7)}
"""The split of each of eight consecutive samples of a digit."""

Points = NDArray[np.float64]


def samples(split: str) -> dict[str, list[int]]:
    """Return the handwritten samples of each digit that a split may use; no sample is in two splits."""
    labels = _handwriting()[1]
    found: dict[str, list[int]] = {}
    for digit, name in enumerate(DIGITS):
        places: list[int] = np.flatnonzero(labels == digit).tolist()
        found[name] = [place for order, place in enumerate(places) if order % 8 in _HELD_OUT[split]]
    return found


@lru_cache(maxsize=1 << 14)
def mask(kind: str, height: int, sample: int = -1) -> Mask:
    """Return the read-only mask of a thing of this height; `sample` selects the handwritten sample of a digit."""
    made = _digit(sample, height) if kind in DIGITS else _shape(kind, height)
    made.flags.writeable = False
    return made


@cache
def _handwriting() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load handwritten digits, (N, 8, 8) from 0 to 16, and the class of each."""
    import_extra("sklearn", "scenes", "the corpus 'scenes', whose digits come with scikit-learn,")
    found: Any = importlib.import_module("sklearn.datasets").load_digits()
    return found.images, found.target


def _digit(sample: int, height: int) -> Mask:
    drawn = _handwriting()[0][sample]
    rows, columns = np.flatnonzero(drawn.max(1) > 2), np.flatnonzero(drawn.max(0) > 2)
    drawn = drawn[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    width = max(2, round(height * drawn.shape[1] / drawn.shape[0]))
    large = _stretch(drawn.shape[0], height) @ drawn @ _stretch(drawn.shape[1], width).T
    return np.asarray(np.clip((large / large.max() - _FAINT) * _INK, 0, 1), np.float32)


@cache
def _stretch(old: int, new: int) -> Points:
    """Return the matrix (new, old) that interpolates `old` values linearly to `new` ones."""
    places = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    return np.asarray(np.maximum(0, 1 - np.abs(places[:, None] - np.arange(old))))


def _shape(kind: str, height: int) -> Mask:
    """Compute the fraction of each pixel inside a shape, on a fine grid from -1 to 1 in both directions."""
    line = (np.arange(height * _FINE) + 0.5) * 2 / (height * _FINE) - 1
    inside = _INSIDE[kind](line[None, :], line[:, None])
    cover = np.broadcast_to(inside, (height * _FINE,) * 2).reshape(height, _FINE, height, _FINE).mean((1, 3))
    return np.asarray(cover[:, cover.max(0) > 0], np.float32)


def _star(x: Points, y: Points) -> NDArray[np.bool_]:
    """Return whether points lie in a five-pointed star: inside at least four of its five lines."""
    angles = -np.pi / 2 + np.arange(5) * 2 * np.pi / 5
    across, down = 0.951 * x, 0.9045 * y - 0.0955  # a star of radius 1 is less wide and high than its circle
    within = [across * np.cos(angle) + down * np.sin(angle) <= 0.309 for angle in angles]
    return np.asarray(np.sum(within, 0) >= 4)


_INSIDE: dict[str, Callable[[Points, Points], NDArray[np.bool_]]] = {
    "circle": lambda x, y: x**2 + y**2 <= 1,
    "square": lambda x, y: np.maximum(np.abs(x), np.abs(y)) <= 1,
    "triangle": lambda x, y: np.abs(x) <= (y + 1) / 2,
    "star": _star,
    "cross": lambda x, y: np.minimum(np.abs(x), np.abs(y)) <= 0.3,
    "diamond": lambda x, y: np.abs(x) * 1.25 + np.abs(y) <= 1,
    "ring": lambda x, y: (x**2 + y**2 <= 1) & (x**2 + y**2 >= _INNER**2),
    "frame": lambda x, y: (np.maximum(np.abs(x), np.abs(y)) <= 1) & (np.maximum(np.abs(x), np.abs(y)) >= _INNER),
}
"""Functions that return whether points belong to a shape; y grows downwards."""

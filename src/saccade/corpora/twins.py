"""twins: images of two far-apart shapes that share their color and pattern, for models that generate images.

Each shape is drawn near one side of the image. What kind of shape it is and where it stands is up to chance, but both
have the same color and the same pattern. A generated image can be read again: `read_twins` finds the drawing that it
resembles most, and so whether it keeps the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.stream import Dice, check_request, split_of
from saccade.data.example import Example

__all__ = ["COLORS", "PATTERNS", "PIXELS", "SHAPES", "Shape", "Twins", "keeps_rule", "read_twins", "twins"]

PIXELS = 32
"""Height and width of an image."""
COLORS = {"red": (225, 45, 45), "green": (40, 190, 70), "blue": (60, 90, 235), "yellow": (235, 200, 40)}
PATTERNS = ("solid", "rows", "columns")
SHAPES = ("disc", "square")
_BACKGROUND = 24
"""Gray value around the shapes."""
_SIZE = 8
_LEFT, _RIGHT, _DOWN = (2, 4), (20, 22), (8, 10, 12, 14, 16)
"""Left edges of the left shape and of the right one, and top edges; the middles are 16 pixels apart or more."""
_UNLIKE = 0.5
"""A shape is readable if the best drawing explains more than this share of what differs from the background."""


class Shape(NamedTuple):
    """A shape: its color, pattern and kind, and the pixel of its top left corner."""

    color: str
    pattern: str
    kind: str
    left: int
    top: int

    @property
    def label(self) -> str:
        """Color and pattern, which twins share."""
        return f"{self.color} {self.pattern}"


@dataclass(frozen=True)
class Twins:
    """An image of two shapes, drawn when it is loaded."""

    name: str
    shapes: tuple[Shape, Shape]

    def load(self) -> NDArray[np.uint8]:
        """Draw the image, (32, 32, 3)."""
        pixels = np.full((PIXELS, PIXELS, 3), _BACKGROUND, np.uint8)
        for shape in self.shapes:
            pixels[_place(shape)][_ink(shape.kind, shape.pattern)] = COLORS[shape.color]
        return pixels

    def stamp(self) -> list[Any]:
        """Return the name, which determines the image."""
        return [self.name]


def twins(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 2, max_length: int = 2
) -> Iterator[Example]:
    """Generate `size` images; `size` None never ends. Splits share no image.

    In an example, `image` is a Twins, and `label` the color and pattern of both shapes. The same arguments give the
    same images, and a larger size only appends to them.
    """
    check_request("twins", split, size, min_length, max_length, (2, 2), "shapes")
    return islice(_endless(split, seed), size)


def _endless(split: str, seed: int) -> Iterator[Example]:
    dice = Dice(f"twins {split} {seed}")
    while True:
        color, pattern = dice.pick(tuple(COLORS)), dice.pick(PATTERNS)
        first, second = (
            Shape(color, pattern, dice.pick(SHAPES), dice.pick(lefts), dice.pick(_DOWN)) for lefts in (_LEFT, _RIGHT)
        )
        name = "twins " + " ".join(map(str, (*first, *second)))
        if split_of(name) == split:
            yield Example(label=first.label, image=Twins(name, (first, second)))


def keeps_rule(image: NDArray[np.uint8]) -> bool:
    """Return whether an image (32, 32, 3) shows two readable shapes of the same color and pattern."""
    first, second = read_twins(image)
    return first is not None and second is not None and first.label == second.label


def read_twins(image: NDArray[np.uint8]) -> tuple[Shape | None, Shape | None]:
    """Return the shapes of an image (32, 32, 3), left and right; None for a shape that cannot be read.

    A shape is the drawing with the smallest squared difference from its half of the image. It is unreadable if that
    drawing explains less than half of what differs from the background.
    """
    half = PIXELS // 2
    rest = image.astype(np.float32) - _BACKGROUND
    return _read(rest[:, :half], 0, _LEFT), _read(rest[:, half:], half, _RIGHT)


def _read(rest: NDArray[np.float32], start: int, lefts: tuple[int, ...]) -> Shape | None:
    """Read a half of an image, without its background; `start` is its first column."""
    inks = np.array(list(COLORS.values()), np.float32) - _BACKGROUND
    masks, drawn = _drawings(start, lefts)
    amount = masks.sum(1)[:, None] * (inks**2).sum(1)
    gains = 2 * (masks @ rest.reshape(-1, 3)) @ inks.T - amount  # the squared difference that each drawing explains
    number, color = divmod(int(gains.argmax()), len(inks))
    kind, pattern, left, top = drawn[number]
    return (
        Shape(list(COLORS)[color], pattern, kind, left, top) if gains.max() > _UNLIKE * float((rest**2).sum()) else None
    )


@cache
def _drawings(start: int, lefts: tuple[int, ...]) -> tuple[NDArray[np.float32], list[tuple[str, str, int, int]]]:
    """Return the inked pixels (N, pixels) of every drawing in a half of an image, and what it is."""
    drawn = [(kind, pattern, left, top) for kind, pattern, left, top in product(SHAPES, PATTERNS, lefts, _DOWN)]
    masks = np.zeros((len(drawn), PIXELS, PIXELS // 2), np.float32)
    for mask, (kind, pattern, left, top) in zip(masks, drawn, strict=True):
        mask[top : top + _SIZE, left - start : left - start + _SIZE] = _ink(kind, pattern)
    return masks.reshape(len(drawn), -1), drawn


def _place(shape: Shape) -> tuple[slice, slice]:
    return slice(shape.top, shape.top + _SIZE), slice(shape.left, shape.left + _SIZE)


@cache
def _ink(kind: str, pattern: str) -> NDArray[np.bool_]:
    """Return which pixels of a shape have its color: lines of two pixels, two apart, or all."""
    places = np.arange(_SIZE)
    across = (places - (_SIZE - 1) / 2) ** 2
    inside = across + across[:, None] <= (_SIZE / 2) ** 2 if kind == "disc" else np.ones((_SIZE, _SIZE), np.bool_)
    lines = places // 2 % 2 == 0
    return np.asarray(inside & {"solid": np.ones(1, np.bool_), "rows": lines[:, None], "columns": lines}[pattern])

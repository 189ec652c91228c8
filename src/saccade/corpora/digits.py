"""digits: handwritten digits of scikit-learn with their classes, for models of glimpses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from saccade.corpora.scenes.things import DIGITS, mask, samples
from saccade.corpora.stream import LONGEST, SHORTEST, Dice, check_request
from saccade.data.example import Example
from saccade.data.labeled_images import PixelArray

__all__ = ["digits"]

_SIDE, _HEIGHT = 20, 16
"""Pixels of the side of an image, and of the height of its digit."""


def digits(
    split: str, size: int | None, seed: int = 1, *, min_length: int = SHORTEST, max_length: int = LONGEST
) -> Iterator[Example]:
    """Generate the digits of a split, shuffled: at most 1,340 for training, and 230 each to validate and test on.

    An image is dark ink on white; the label is the digit. No sample is in two splits. Lengths have no meaning.
    """
    check_request("digits", split, size, min_length, max_length)
    known = [(name, sample) for name, found in samples(split).items() for sample in found]
    order, dice = [], Dice(f"digits {split} {seed}")
    while known:
        order.append(known.pop(int(dice.random() * len(known))))
    return islice((_example(name, sample) for name, sample in order), size)


def _example(name: str, sample: int) -> Example:
    drawn = mask(name, _HEIGHT, sample)[:, :_SIDE]
    pixels = np.full((_SIDE, _SIDE), 255, np.uint8)
    top, left = (_SIDE - drawn.shape[0]) // 2, (_SIDE - drawn.shape[1]) // 2
    pixels[top : top + drawn.shape[0], left : left + drawn.shape[1]] = 255 - (255 * drawn).round().astype(np.uint8)
    return Example(label=str(DIGITS.index(name)), image=PixelArray(f"digit sample {sample}", pixels))

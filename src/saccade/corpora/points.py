"""sorting, convex-hull, salesman: random points with the answer to a problem on them, as positions from 1.

    0.1622,0.7943 0.3112,0.5285 0.1656,0.6019      1 3 2

Coordinates are uniform in [0, 1) with four digits. The same arguments give the same examples on every machine, and a
larger size only appends to them. A stable hash of the points decides the split, so splits share no example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.geometry import convex_hulls, round_trips, sorted_orders
from saccade.corpora.stream import check_request, split_of
from saccade.data.example import Example

__all__ = ["HULL_BOUNDS", "SORTING_BOUNDS", "TRIP_BOUNDS", "convex_hull", "salesman", "sorting"]

SORTING_BOUNDS, HULL_BOUNDS, TRIP_BOUNDS = (3, 100), (3, 500), (3, 12)
"""Fewest and most points; the dynamic program of round trips is exponential in their number."""
_GRID = 10_000
_BLOCK = 1024
_TEXTS = [f"{number / _GRID:.4f}" for number in range(_GRID)]

Solve = Callable[[NDArray[np.int64], Sequence[int]], list[NDArray[np.int64]]]


def sorting(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 5, max_length: int = 10
) -> Iterator[Example]:
    """Generate lists of different numbers, with their positions from the smallest to the largest number."""
    return _generate("sorting", 1, sorted_orders, split, size, seed, min_length, max_length, SORTING_BOUNDS)


def convex_hull(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 5, max_length: int = 50
) -> Iterator[Example]:
    """Generate sets of points with the corners of their convex hull, counter-clockwise from the lowest position."""
    return _generate("convex-hull", 2, convex_hulls, split, size, seed, min_length, max_length, HULL_BOUNDS)


def salesman(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 5, max_length: int = 10
) -> Iterator[Example]:
    """Generate sets of points with the shortest round trip, counter-clockwise from position 1."""
    return _generate("salesman", 2, round_trips, split, size, seed, min_length, max_length, TRIP_BOUNDS)


def _generate(
    corpus: str,
    width: int,
    solve: Solve,
    split: str,
    size: int | None,
    seed: int,
    low: int,
    high: int,
    bounds: tuple[int, int],
) -> Iterator[Example]:
    check_request(corpus, split, size, low, high, bounds)
    return islice(_examples(f"{corpus} {split} {seed} {low} {high}", width, solve, split, low, high), size)


def _examples(name: str, width: int, solve: Solve, split: str, low: int, high: int) -> Iterator[Example]:
    # the bits of PCG64 are the same in all versions of numpy, unlike the methods of its Generator
    bits: Any = np.random.PCG64(int.from_bytes(blake2b(name.encode(), digest_size=16).digest(), "big"))
    while True:
        counts = low + (bits.random_raw(_BLOCK) >> 11) % (high - low + 1)
        points = (bits.random_raw(_BLOCK * high * width) >> 11) % _GRID
        counts, points = counts.astype(np.int64), points.reshape(_BLOCK, high, width).astype(np.int64)
        texts = [_text(row[:count]) for row, count in zip(points.tolist(), counts.tolist(), strict=True)]
        kept = [row for row, text in enumerate(texts) if text is not None and split_of(text) == split]
        for row, order in zip(kept, solve(points[kept], counts[kept].tolist()), strict=True):
            yield Example(source=texts[row], target=" ".join(str(place + 1) for place in order.tolist()))


def _text(points: list[list[int]]) -> str | None:
    """Write points as text; None if two are equal."""
    words = [",".join([_TEXTS[number] for number in point]) for point in points]
    return " ".join(words) if len(set(words)) == len(words) else None

"""Exact answers to problems on points, for many sets of points at once.

Coordinates are integers, so that no rounding decides on which side of a line a point is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["convex_hulls", "round_trips", "sorted_orders"]

Points = NDArray[np.int64]
"""Points (B, S, D), of which row b has counts[b]; those beyond are ignored."""
Order = NDArray[np.int64]


def sorted_orders(points: Points, counts: Sequence[int]) -> list[Order]:
    """Sort numbers (B, S, 1) from the smallest to the largest; equal numbers keep their order."""
    return [np.argsort(row[:count, 0], kind="stable") for row, count in zip(points, counts, strict=True)]


def convex_hulls(points: Points, counts: Sequence[int]) -> list[Order]:
    """Return the corners of convex hulls (B, S, 2) counter-clockwise, beginning with the lowest position.

    Gift wrapping: the next corner is the point for which all others lie to the left of the line to it.
    """
    rows, size = np.arange(len(points)), points.shape[1]
    real = np.arange(size) < np.asarray(counts)[:, None]
    points = np.where(real[..., None], points, points[:, :1]).astype(np.int32)  # pad with the first point
    first = np.lexsort((points[..., 0], points[..., 1]), axis=-1)[:, 0]
    first = here = np.where(real[rows, first], first, 0)
    found: list[list[int]] = [[] for _ in rows]
    while len(rows):
        for row, place in zip(rows.tolist(), here[rows].tolist(), strict=True):
            found[row].append(place)
        following = _next_corner(points[rows], points[rows, here[rows]])
        here = here.copy()
        here[rows] = np.where(real[rows, following], following, 0)
        rows = rows[here[rows] != first[rows]]
    return [np.roll(corners, -int(np.argmin(corners))) for corners in found]


def _next_corner(points: Points, origin: Points) -> Order:
    """Return the most clockwise point (B,) seen from a corner (B, 2); of several in line, the farthest.

    Each round compares one half of the points with the other and keeps the better ones.
    """
    away = points - origin[:, None]
    places = np.broadcast_to(np.arange(points.shape[1]), points.shape[:2])
    while away.shape[1] > 1:
        half = (away.shape[1] + 1) // 2
        left, right = away[:, : away.shape[1] - half], away[:, half:]
        cross = left[..., 0] * right[..., 1] - left[..., 1] * right[..., 0]
        farther = (right**2).sum(-1) > (left**2).sum(-1)
        wins = (cross < 0) | ((cross == 0) & farther)
        away = np.concatenate([np.where(wins[..., None], right, left), away[:, left.shape[1] : half]], 1)
        upper = np.where(wins, places[:, half:], places[:, : left.shape[1]])
        places = np.concatenate([upper, places[:, left.shape[1] : half]], 1)
    return places[:, 0]


def round_trips(points: Points, counts: Sequence[int]) -> list[Order]:
    """Return shortest round trips through points (B, S, 2), counter-clockwise from the first point."""
    trips: list[Order] = [np.empty(0, np.int64)] * len(points)
    for count in np.unique(counts):
        chosen = np.flatnonzero(np.asarray(counts) == count)
        for row, trip in zip(chosen, _shortest(points[chosen, :count].astype(np.float64)), strict=True):
            trips[row] = trip
    return trips


def _shortest(points: NDArray[np.float64]) -> Order:
    """Solve problems of equal size (B, n, 2) by dynamic programming over sets of cities (Held and Karp 1962).

    cost[:, set, j] is the length of the shortest way from city 0 through the cities of the set, of which city j + 1 is
    the last; `before` has the city before that.
    """
    size, others = len(points), points.shape[1] - 1
    distance = np.sqrt(((points[:, :, None] - points[:, None]) ** 2).sum(-1))
    between = distance[:, 1:, 1:]
    cost = np.full((size, 1 << others, others), np.inf)
    before = np.zeros(cost.shape, np.int64)
    cities = np.arange(others)
    cost[:, 1 << cities, cities] = distance[:, 0, 1:]
    for group in range(1, 1 << others):
        inside = cities[(group >> cities) & 1 == 1]
        if len(inside) > 1:
            ways = cost[:, group ^ (1 << inside)] + between[:, inside]
            before[:, group, inside] = ways.argmin(-1)
            cost[:, group, inside] = ways.min(-1)
    rows = np.arange(size)
    left = np.full(size, (1 << others) - 1)
    city = (cost[:, -1] + distance[:, 1:, 0]).argmin(-1)
    trip = np.zeros((size, others + 1), np.int64)
    for place in range(others, 0, -1):
        trip[:, place] = city + 1
        left, city = left ^ (1 << city), before[rows, left, city]
    return np.where(_clockwise(points, trip)[:, None], np.roll(trip[:, ::-1], 1, 1), trip)


def _clockwise(points: NDArray[np.float64], trip: Order) -> NDArray[np.bool_]:
    x, y = np.moveaxis(np.take_along_axis(points, trip[..., None], 1), -1, 0)
    found: NDArray[np.bool_] = (x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1) < 0
    return found

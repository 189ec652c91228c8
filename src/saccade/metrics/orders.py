"""Answers that are positions of points: equal ones, covered area of convex hulls, and lengths of round trips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

__all__ = ["is_simple", "order_counts", "order_ratio", "polygon_area", "trip_length"]

Floats = NDArray[np.float64]
Answer = Literal["sequence", "hull", "tour"]


def order_counts(
    answer: Answer, points: Sequence[Floats], answers: Sequence[Sequence[int]], references: Sequence[Sequence[int]]
) -> dict[str, Floats]:
    """Return counts (N, 2) by metric; `order_ratio` of their sum is the metric over all N examples.

    points: (n, D) for each example; answers and references are positions, from 0.

        exact        whether the answer is the reference. A hull may begin at any corner, a tour also run backwards.
        valid        of a hull: whether it is a simple polygon; of a tour: whether it visits every point once
        area         of valid hulls: their area / the area of the reference, which contains them
        tour_length  of valid tours: Σ length / Σ length of the references

    Paper: Vinyals et al. 2015, arXiv:1506.03134, sections 4.2 to 4.4. A hull that is not simple has no area there
    either, and a result with more than 1 % of them is a failure.
    """
    if not len(points) == len(answers) == len(references):
        sizes = f"{len(points)} examples, {len(answers)} answers and {len(references)} references"
        raise DataError(f"there are {sizes}. Give one each.")
    rows: dict[str, list[tuple[float, float]]] = {"exact": []}
    for place, found, wanted in zip(points, answers, references, strict=True):
        rows["exact"].append((float(_same(answer, list(found), list(wanted))), 1.0))
        if answer == "sequence":
            continue
        corners, right = place[list(found)], place[list(wanted)]
        if answer == "hull":
            valid, name = is_simple(corners), "area"
            measured = polygon_area(corners) / (polygon_area(right) or 1.0), 1.0
        else:
            valid, name = sorted(found) == list(range(len(place))), "tour_length"
            measured = trip_length(corners), trip_length(right)
        rows.setdefault("valid", []).append((float(valid), 1.0))
        rows.setdefault(name, []).append(measured if valid else (0.0, 0.0))
    return {name: np.array(part, np.float64) for name, part in rows.items()}


def order_ratio(sums: Floats) -> float:
    """Return the metric from summed counts; 0 if nothing was counted."""
    return float(sums[0] / sums[1]) if sums[1] else 0.0


def polygon_area(corners: Floats) -> float:
    """Compute the area of a simple polygon from its corners (n, 2)."""
    (x, y), (following_x, following_y) = corners.T, np.roll(corners, -1, 0).T
    return float(abs((x * following_y - y * following_x).sum()) / 2)


def trip_length(stops: Floats) -> float:
    """Compute the length of the way through some points (n, 2) and back to the first."""
    return float(np.linalg.norm(stops - np.roll(stops, -1, 0), axis=1).sum())


def is_simple(corners: Floats) -> bool:
    """Return whether a polygon (n, 2) has at least three corners, and edges that meet only at their common corners."""
    count = len(corners)
    if count < 3:
        return False
    ends, after = np.roll(corners, -1, 0), np.roll(corners, -2, 0)
    back = ((ends - corners) * (after - ends)).sum(1) < 0
    if (back & (_turn(corners, ends, after) == 0)).any():  # an edge runs back on the one before
        return False
    first, second = np.triu_indices(count, 2)
    apart = (second - first) % count != count - 1  # not neighbors
    first, second = first[apart], second[apart]
    a, b, c, d = corners[first], ends[first], corners[second], ends[second]
    crossing = (_turn(a, b, c) * _turn(a, b, d) <= 0) & (_turn(c, d, a) * _turn(c, d, b) <= 0)
    near = (np.maximum(a, b) >= np.minimum(c, d)) & (np.maximum(c, d) >= np.minimum(a, b))
    return not bool((crossing & near.all(1)).any())


def _turn(a: Floats, b: Floats, c: Floats) -> NDArray[np.float64]:
    """Return for rows of points 1 if c is to the left of the line from a to b, -1 to the right, 0 on it."""
    turn: Floats = np.sign((b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0]))
    return turn


def _same(answer: Answer, found: list[int], wanted: list[int]) -> bool:
    if answer == "sequence" or len(found) != len(wanted):
        return found == wanted
    ways = [wanted, wanted[::-1]] if answer == "tour" else [wanted]
    return any(found == way[start:] + way[:start] for way in ways for start in range(len(way)))

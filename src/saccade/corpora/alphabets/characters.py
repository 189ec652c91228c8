"""Characters: a few strokes, each a quadratic Bézier curve between points of a grid."""

from __future__ import annotations

import math

from saccade.corpora.stream import Dice

__all__ = ["SIZE", "Character", "Point", "Stroke", "alphabet"]

Point = tuple[float, float]
Stroke = tuple[Point, Point, Point]
"""Begin, control point and end, in the unit square."""
Character = tuple[Stroke, ...]

SIZE = 20
"""Characters of an alphabet."""
_SHAPES = 9
"""Stroke shapes of an alphabet, which its characters share."""
_GRID = 4
"""Points of a stroke lie on a grid of so many rows and columns."""
_APART = 0.09
"""Least difference of two characters of an alphabet: the mean distance between points of their strokes."""
_PATIENCE = 0.98
"""Factor of the least difference after each rejected character, so that the search ends."""
_SHORTEST = 0.4


def alphabet(dice: Dice, low: int, high: int) -> list[Character]:
    """Return characters of `low` to `high` strokes that differ visibly."""
    shapes = [_shape(dice) for _ in range(_SHAPES)]
    found: list[Character] = []
    apart = _APART
    while len(found) < SIZE:
        made = _character(dice, shapes, dice.between(low, high))
        if all(_distance(made, other) > apart for other in found):
            found.append(made)
        else:
            apart *= _PATIENCE
    return found


def _shape(dice: Dice) -> Stroke:
    """Return a stroke that begins at (0, 0) and is not too short."""
    while True:
        x, y = (dice.between(-_GRID + 1, _GRID - 1) / (_GRID - 1) for _ in range(2))
        if x * x + y * y >= _SHORTEST**2:
            bend = (dice.between(-2, 2) / 2) * 0.5
            return (0.0, 0.0), (x / 2 - y * bend, y / 2 + x * bend), (x, y)


def _character(dice: Dice, shapes: list[Stroke], count: int) -> Character:
    """Join strokes: each begins at a point of an earlier one, or anywhere; then fit them into the unit square."""
    strokes: list[Stroke] = []
    for _ in range(count):
        shape = dice.pick(shapes)
        x, y = dice.pick(dice.pick(strokes)) if strokes and dice.chance(0.7) else (dice.random(), dice.random())
        strokes.append(tuple((px + x, py + y) for px, py in shape))  # type: ignore[arg-type]
    return _fitted(strokes)


def _fitted(strokes: list[Stroke]) -> Character:
    points = [point for stroke in strokes for point in _along(stroke, 4)]
    left, top = min(x for x, _ in points), min(y for _, y in points)
    scale = 1 / max(max(x for x, _ in points) - left, max(y for _, y in points) - top)
    middle = [(1 - scale * (max(p[axis] for p in points) - low)) / 2 for axis, low in ((0, left), (1, top))]

    def moved(point: Point) -> Point:
        return (point[0] - left) * scale + middle[0], (point[1] - top) * scale + middle[1]

    return tuple((moved(a), moved(b), moved(c)) for a, b, c in strokes)


def _along(stroke: Stroke, parts: int) -> list[Point]:
    """Return points along a curve, with both ends."""
    (ax, ay), (bx, by), (cx, cy) = stroke
    steps = [place / parts for place in range(parts + 1)]
    return [
        ((1 - t) ** 2 * ax + 2 * t * (1 - t) * bx + t * t * cx, (1 - t) ** 2 * ay + 2 * t * (1 - t) * by + t * t * cy)
        for t in steps
    ]


def _distance(first: Character, second: Character) -> float:
    """Return the mean distance from points of either character to the nearest point of the other."""
    one, two = ([point for stroke in each for point in _along(stroke, 6)] for each in (first, second))
    return max(_to_nearest(one, two), _to_nearest(two, one))


def _to_nearest(points: list[Point], others: list[Point]) -> float:
    return sum(math.sqrt(min((x - u) ** 2 + (y - v) ** 2 for u, v in others)) for x, y in points) / len(points)

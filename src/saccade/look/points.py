"""Points in the plane with the answer drawn through them, and the attention at each step as lines from the last point.

A gold line joins the points in the order of the answer, and back to the first. From each point chosen, a blue line to
every other one is as opaque as its weight, so a sure answer shows the gold line alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ConfigError
from saccade.look import text_width
from saccade.look.canvas import GOLD, INK, MUTED, SCALE, sheet
from saccade.look.figure import NOTES
from saccade.look.map import Map

__all__ = ["draw_points", "save_points"]

SIDE = 300.0
DOT = 3.0
FAINTEST = 0.02
"""Lower weights are not drawn."""
ROWS, COLUMNS = 16, 60
"""Cells of the terminal's plane, at most."""


def save_points(map: Map, path: Path | str, *, title: str | None = None) -> None:
    """Write the points and the answer, in the format of the suffix of `path`."""
    with sheet(path) as page:
        places, answer = _places(map), _answer(map)
        spots = [(x * SIDE, (1 - y) * SIDE) for x, y in places.tolist()]
        page.box((0, 0, SIDE, SIDE), edge=MUTED, line=0.5)
        looks = zip(answer, map.weights[1:], strict=False)  # the first point is chosen from none
        found = [
            (min(w, 1.0), last, s) for last, row in looks for s, w in enumerate(row[: len(spots)]) if w >= FAINTEST
        ]
        lines = [(*spots[last], *spots[s]) for _, last, s in sorted(found)]
        page.lines(lines, [(SCALE[3], weight) for weight, _, _ in sorted(found)])
        way = [(*spots[a], *spots[b]) for a, b in zip(answer, [*answer[1:], *answer[:1]], strict=True)]
        page.lines(way, [(GOLD, 1.0)] * len(way))
        for s, (x, y) in enumerate(spots):
            page.box((x - DOT, y - DOT, 2 * DOT, 2 * DOT), fill=GOLD if s in answer else INK, corner=DOT)
            page.text(x + DOT + 2, y - DOT - 4, str(s + 1), NOTES, colour=INK)
        if title:
            page.text(0, -26, page.label(title, 90), 12, bold=True)
        page.text(0, SIDE + 12, "gold: the answer; blue: attention from the point chosen last", NOTES, colour=MUTED)


def draw_points(map: Map, *, width: int | None = None) -> str:
    """Return text for a terminal of `width` cells: the number of each point at its place, and the answer below."""
    places, answer = _places(map), _answer(map)
    columns = max(min(width or COLUMNS, COLUMNS), 8)
    cells = [[" "] * columns for _ in range(ROWS)]
    for s, (x, y) in enumerate(places.tolist()):
        name = str(s + 1)
        row, left = round((1 - y) * (ROWS - 1)), round(x * (columns - len(name)))
        cells[row][left : left + len(name)] = name
    lines = ["".join(row).rstrip() for row in cells]
    below = " → ".join(str(place + 1) for place in answer)
    return "\n".join([*lines, below if width is None else text_width.clip(below, width)])


def _places(map: Map) -> NDArray[np.float64]:
    """Return the points (n, 2), scaled to the unit square without distortion; raise ConfigError if there are none."""
    words = [word for s, word in enumerate(map.source) if s not in map.marks.source]
    try:
        points = np.array([[float(number) for number in word.split(",")] for word in words])
    except ValueError:
        points = np.zeros((0, 0))
    if points.ndim != 2 or points.shape[1:] != (2,) or not np.isfinite(points).all():
        raise ConfigError("this figure shows points in the plane, but the source has none. Draw a matrix.")
    low = points.min(0)
    moved: NDArray[np.float64] = (points - low) / (float((points.max(0) - low).max()) or 1.0)
    return moved


def _answer(map: Map) -> Sequence[int]:
    """Return the places of the points in the answer."""
    words = [word for t, word in enumerate(map.target) if t not in map.marks.target]
    return [int(word) - 1 for word in words]

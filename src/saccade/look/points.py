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
from saccade.look.canvas import sheet
from saccade.look.design import FAINTEST_LINK, GOLD, INK, MUTED, TEXT
from saccade.look.map import Map
from saccade.look.output import Format

__all__ = ["draw_points", "save_points"]

SIDE, DOT, LINE = 27.0, 0.27, 0.14
"""In letters: the side of the plane, the radius of a point, and the width of a line."""
ROWS, COLUMNS = 16, 60
"""Maximum cells of a figure in a terminal."""


def save_points(map: Map, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write the points and the answer, in the format of the suffix of `path`."""
    with sheet(path, format or Format(title)) as page:
        side, dot, line = (page.size.letters * share for share in (SIDE, DOT, LINE))
        notes = page.size.notes
        places, answer = _places(map), _answer(map)
        spots = [(x * side, (1 - y) * side) for x, y in places.tolist()]
        page.box((0, 0, side, side), edge=MUTED, line=0.5)
        looks = zip(answer, map.weights[1:], strict=False)  # no line leads to the first point
        found = sorted(
            (w, last, s) for last, row in looks for s, w in enumerate(row[: len(spots)]) if w >= FAINTEST_LINK
        )
        lines = [(*spots[last], *spots[s]) for _, last, s in found]
        page.curves(lines, [(INK, weight) for weight, _, _ in found], [line] * len(lines), bend="straight")
        way = [(*spots[a], *spots[b]) for a, b in zip(answer, [*answer[1:], *answer[:1]], strict=True)]
        page.curves(way, [(GOLD, 1.0)] * len(way), [line] * len(way), bend="straight")
        for s, (x, y) in enumerate(spots):
            page.box((x - dot, y - dot, 2 * dot, 2 * dot), fill=GOLD if s in answer else TEXT, corner=dot)
            page.text(x + 1.7 * dot, y - 2.3 * dot, str(s + 1), notes, colour=TEXT)
        told = "gold: the answer; blue: attention from the point chosen last"
        page.text(0, side + 1.6 * notes, told, notes, colour=MUTED)


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

"""Glimpses: the path over the image as numbered boxes, what the retina saw at each, and the belief after it.

The layout follows figure 3 of Mnih et al. 2014, arXiv:1406.6247, with the beliefs added.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from saccade.look import text_width
from saccade.look.canvas import Sheet, sheet
from saccade.look.design import FAINT, GOLD, INK, MUTED, TEXT
from saccade.look.glimpse_path import GlimpsePath
from saccade.look.output import Format
from saccade.look.picture import Picture

__all__ = ["draw_glimpses", "save_glimpses"]

SIDE, PATCH, GAP, BELIEFS = 18.0, 4.6, 0.8, 3
"""In letters: the side of the image, of a patch and the gap between patches; and the labels listed below a glimpse."""
WIDE, COLUMNS = 44, 7
"""Terminal cells: the width of the image, and of a label with its probability."""
_SHADES = " ░▒▓█"


def save_glimpses(
    picture: Picture, path: GlimpsePath, file: Path | str, *, title: str | None = None, format: Format | None = None
) -> None:
    """Write the image with the path, and the glimpses beside it, in the format of the suffix of `file`."""
    with sheet(file, format or Format(title)) as page:
        letters = page.size.letters
        high, wide = picture.pixels.shape[:2]
        side = SIDE * letters
        _field(page, picture, path, (0.0, 0.0, side, side * high / wide))
        scales = path.patches.shape[1]
        across = max(1, min(len(path), ceil(len(path) / ceil(len(path) * (PATCH + GAP) / 44))))
        line = (scales * (PATCH + 0.2) + 1.5 * BELIEFS + 2.6) * letters
        for number in range(len(path)):
            row, column = divmod(number, across)
            left = side + 2 * letters + column * (PATCH + GAP) * letters
            _glimpse(page, path, number, left, row * line)


def _field(page: Sheet, picture: Picture, path: GlimpsePath, box: tuple[float, float, float, float]) -> None:
    """Draw the image, the patches of each glimpse as boxes, and the path that joins their middles."""
    _, _, width, height = box
    notes = page.size.notes
    page.image(_enlarged(picture.pixels), box)
    page.box(box, edge=FAINT, line=0.6)
    inside = np.clip(path.boxes, 0, 1) * [width, height, width, height]
    for step in inside[:, :0:-1]:  # the coarse patches first, below the fine ones
        for left, top, right, bottom in step.tolist():
            page.box((left, top, right - left, bottom - top), edge=FAINT, line=0.7, counts=False)
    spots = [(x * width, y * height) for x, y in path.centers.tolist()]
    ways = [(*a, *b) for a, b in pairwise(spots)]
    page.curves(ways, [(GOLD, 0.9)] * len(ways), [1.1] * len(ways), bend="straight")
    for left, top, right, bottom in inside[:, 0].tolist():
        page.box((left, top, right - left, bottom - top), edge=INK, line=1.1, counts=False)
    for number, (x, y) in _spread(spots, notes):
        radius = 0.75 * notes
        page.box((x - radius, y - radius, 2 * radius, 2 * radius), fill=GOLD, corner=radius, counts=False)
        page.text(x, y, str(number), 0.85 * notes, colour="#ffffff", side="center", bold=True, counts=False)


def _spread(spots: list[tuple[float, float]], size: float) -> list[tuple[int, tuple[float, float]]]:
    """Return the spots with numbers from 1; one that would hide an earlier number moves to the right."""
    found: list[tuple[int, tuple[float, float]]] = []
    for number, (x, y) in enumerate(spots, 1):
        while any(abs(x - a) < 1.4 * size and abs(y - b) < 1.4 * size for _, (a, b) in found):
            x += 1.5 * size
        found.append((number, (x, y)))
    return found


def _glimpse(page: Sheet, path: GlimpsePath, number: int, left: float, top: float) -> None:
    """Draw the number of a glimpse, its patches below each other, and the most likely labels after it."""
    letters, notes = page.size.letters, page.size.notes
    side = PATCH * letters
    page.text(left + side / 2, top + 0.6 * letters, str(number + 1), notes, colour=MUTED, side="center")
    top += 1.3 * letters
    for patch in path.patches[number]:
        gray = (255 * (1 - np.clip(patch, 0, 1))).round().astype(np.uint8)
        page.image(_enlarged(np.repeat(gray[..., None], 3, -1)), (left, top, side, side))
        page.box((left, top, side, side), edge=FAINT, line=0.6)
        top += side + 0.2 * letters
    order = np.argsort(-path.beliefs[number], kind="stable")[:BELIEFS].tolist()
    for rank, place in enumerate(order):
        share = float(path.beliefs[number, place])
        middle = top + (0.9 + 1.5 * rank) * letters
        colour = TEXT if rank == 0 else MUTED
        page.box((left, middle - 0.6 * letters, side * share, 1.2 * letters), fill="#cfdcee" if rank == 0 else FAINT)
        page.text(left + 0.15 * letters, middle, page.label(path.labels[place], 6), notes, colour=colour)
        page.text(left + side, middle, text_width.percent(share), notes, colour=colour, side="right")


def _enlarged(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Repeat pixels, so that smooth scaling keeps them square."""
    times = max(1, 240 // max(pixels.shape[:2]))
    return pixels.repeat(times, 0).repeat(times, 1)


def draw_glimpses(picture: Picture, path: GlimpsePath, *, width: int | None = None) -> str:
    """Return text for a terminal of `width` cells: the image with the number of each glimpse, and the beliefs below."""
    wide = max(8, min(width or WIDE, WIDE))
    high = max(4, round(wide * picture.pixels.shape[0] / picture.pixels.shape[1] / 2))
    dark = 1 - picture.pixels.mean(-1) / 255
    rows, columns = (
        np.linspace(0, size, count + 1).astype(int) for size, count in zip(dark.shape, (high, wide), strict=True)
    )
    cells = [
        [_SHADES[min(4, int(5 * dark[a : max(b, a + 1), c : max(d, c + 1)].mean()))] for c, d in pairwise(columns)]
        for a, b in pairwise(rows)
    ]
    for number, (x, y) in reversed([*enumerate(path.centers.tolist(), 1)]):  # earlier glimpses stay visible
        row, column = min(high - 1, int(max(0, y) * high)), min(wide - 1, int(max(0, x) * wide))
        for place, sign in enumerate(str(number)):
            cells[row][min(wide - 1, column + place)] = sign
    lines = ["".join(row).rstrip() for row in cells]
    for number, belief in enumerate(path.beliefs, 1):
        order = np.argsort(-belief, kind="stable")[:BELIEFS].tolist()
        names = (
            f"{text_width.visible(path.labels[place])} {text_width.percent(float(belief[place]))}" for place in order
        )
        lines.append(f"{number:>2}  " + "   ".join(names))
    return "\n".join(lines if width is None else (text_width.clip(line, width) for line in lines))

"""An attention map as a matrix figure for papers and slides: PNG, PDF or SVG.

The layout follows figure 3 of Bahdanau et al. 2015, arXiv:1409.0473: source words on top, target words at the left.
But here, higher weights are darker. Begin and end tokens and punctuation are set apart by a gap. A matrix too
large for a page is split into panels below each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from pathlib import Path

from saccade.errors import ShapeError
from saccade.look.canvas import BOX, GRID, Sheet, Side, shade, sheet
from saccade.look.design import FAINT, GOLD, MUTED, TEXT
from saccade.look.layout import folds, positions
from saccade.look.map import Map
from saccade.look.output import Format

__all__ = ["UNKNOWN", "check_content", "key", "save"]

SMALLEST, LARGEST, FULL = 0.75, 2.75, 1.6
"""Cell sizes, in letter heights: minimum, maximum, and the minimum for labels of full size."""
MOST = 150_000
"""Maximum cells: 387 × 387 already take 15 seconds to draw, and are hard to read."""
UNKNOWN = f"{BOX}  no font here has this letter"
SLANT = sqrt(0.5)


def save(map: Map, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write the map as square cells, darker for higher weights. The suffix of `path` sets the file type.

    Gold alignments are outlined. Equal maps give equal bytes on one machine.
    """
    with sheet(path, format or Format(title)) as page:
        check_content(map)
        columns, rows = folds(len(map.source)), folds(len(map.target))
        cell = _cell(page, map, max(len(places) for places in (*columns, *rows)))
        top = 0.0
        for written in rows:
            for read in columns:
                panel = _Panel(page, map, read, written, cell)
                panel.draw(top + panel.head, folded=len(rows) * len(columns) > 1)
                top += panel.head + panel.height + 18
        key(page, 0, top - 7, gold=bool(map.gold))


def _cell(page: Sheet, map: Map, count: int) -> float:
    """Return the cell size at which `count` cells and the row labels fill the page."""
    letters = page.size.letters
    beside = 2 + max(page.width(page.label(word), letters) for word in map.target) / letters
    fits = (width / (count + min(beside, 0.5 * count)) for width in page.size.widths)
    cells = [width for width in fits if width >= FULL * letters] or [page.size.widths[-1] / (count + beside)]
    largest = FULL if page.size.page else LARGEST  # on a slide, larger cells would shrink the labels
    return max(SMALLEST * letters, min(largest * letters, cells[0]))


def check_content(map: Map, times: int = 1) -> None:
    """Raise ShapeError if the map is empty, or if `times` maps of its size have too many cells to draw."""
    if not map.source or not map.target:
        raise ShapeError(
            f"there is nothing to draw: {len(map.source)} source words and {len(map.target)} target words. "
            "A figure needs one of each."
        )
    if (cells := times * len(map.source) * len(map.target)) > MOST:
        raise ShapeError(
            f"a figure has at most {MOST:,} cells, but this one would have {cells:,}. Draw fewer words or heads, or "
            "save a page (.html), which has room for all."
        )


class _Panel:
    """A part of the matrix with the words of its rows and columns."""

    def __init__(self, page: Sheet, map: Map, read: range, written: range, cell: float) -> None:
        self.page, self.map, self.read, self.written, self.cell = page, map, read, written, cell
        self.size = min(page.size.letters, cell / FULL)
        self.sources = [page.label(map.source[s]) for s in read]
        self.targets = [page.label(map.target[t]) for t in written]
        self.xs = positions(read, map.marks.source, cell)
        self.ys = positions(written, map.marks.target, cell)
        self.head = (max(page.width(word, self.size) for word in self.sources) + self.size) * SLANT + 4
        self.side = max(page.width(word, self.size) for word in self.targets) + 6
        self.corner = [f"{name.lower()} {arrow}" for name, arrow in zip(page.format.lanes, "→↓", strict=True)]
        self.height = self.ys[-1]

    def draw(self, top: float, *, folded: bool) -> None:
        self._cells(top)
        self._labels(top)
        self._gold(top)
        self._corner(top)
        if folded:
            self._place(top)

    def _cells(self, top: float) -> None:
        boxes, colours = [], []
        for t, y in zip(self.written, self.ys, strict=False):
            for s, x in zip(self.read, self.xs, strict=False):
                boxes.append((x, top + y, self.cell, self.cell))
                colours.append(shade(self.map.weights[t][s]))
        line = min(0.6, 0.02 * self.cell)  # thinner grid lines for small cells
        self.page.cells(boxes, colours, grid=GRID, line=line)
        self.page.box((0, top, self.xs[-1], self.ys[-1]))  # grow the page for the whole matrix at once

    def _labels(self, top: float) -> None:
        lean = 0.19 * self.size  # centers the slanted labels on their columns
        for s, x, word in zip(self.read, self.xs, self.sources, strict=False):
            colour = MUTED if s in self.map.marks.source else TEXT
            self.page.text(x + self.cell / 2 + lean, top - 4, word, self.size, colour=colour, turn=45)
        for t, y, word in zip(self.written, self.ys, self.targets, strict=False):
            colour = MUTED if t in self.map.marks.target else TEXT
            self.page.text(-6, top + y + self.cell / 2, word, self.size, colour=colour, side="right")

    def _gold(self, top: float) -> None:
        inset = 0.11 * self.cell
        for s, t in sorted(self.map.gold):
            if s in self.read and t in self.written:
                x, y = self.xs[s - self.read.start], top + self.ys[t - self.written.start]
                side = self.cell - 2 * inset
                for colour, line in (("#ffffff", 2.6), (GOLD, 1.4)):  # a white edge, so that gold shows on a dark cell
                    self.page.box((x + inset, y + inset, side, side), edge=colour, line=line, counts=False)

    def _corner(self, top: float) -> None:
        """Name the two axes above the row labels."""
        notes = self.page.size.notes
        for name, line in zip(self.corner, (2.3, 1.0), strict=True):
            self.page.text(-6, top - line * notes, name, notes, colour=MUTED, side="right")

    def _place(self, top: float) -> None:
        """Write into the corner which rows and columns of the whole map this panel shows."""
        parts = (("columns", self.read, len(self.map.source)), ("rows", self.written, len(self.map.target)))
        for line, (name, places, count) in enumerate(parts):
            note = f"{name} {places.start + 1}–{places.stop} of {count}"
            notes = self.page.size.notes
            self.page.text(-6, top - (4.9 - 1.3 * line) * notes, note, notes, colour=MUTED, side="right")


def key(page: Sheet, left: float, top: float, *, gold: bool = False, notes: Sequence[tuple[str, str]] = ()) -> None:
    """Draw the legend below a figure: the color scale, the outline of gold links, and notes, each with its color."""
    notes_size = page.size.notes
    width, height, steps = 8.8 * notes_size, 0.87 * notes_size, 64
    strip = [(left + width * step / steps, top, width / steps + 0.2, height) for step in range(steps)]
    page.cells(strip, [shade(step / (steps - 1)) for step in range(steps)])
    page.box((left, top, width, height), edge=FAINT, line=0.6)
    scale: tuple[tuple[float, str, Side], ...] = ((0, "0", "left"), (0.5, "attention", "center"), (1, "1", "right"))
    for share, name, side in scale:
        page.text(left + share * width, top + 2.1 * height, name, notes_size, colour=MUTED, side=side)
    here = left + width + 1.9 * notes_size
    if gold:
        page.box((here, top, height, height), edge=GOLD, line=1.3)
        here += 1.6 * notes_size
    notes = [*([("gold link", MUTED)] if gold else []), *notes, *([(UNKNOWN, MUTED)] if page.boxes else [])]
    middle = top + height / 2
    for note, colour in notes:
        if here + page.width(note, notes_size) > left + page.size.widths[0]:  # a column of a paper is narrow
            here, middle = left, max(middle, top + 2.1 * height) + 1.4 * notes_size
        page.text(here, middle, note, notes_size, colour=colour)
        here += page.width(note, notes_size) + 1.9 * notes_size

"""All heads at a glance: a small matrix for each head and for their mean, in rows by attention site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from saccade.errors import ShapeError
from saccade.look import terminal
from saccade.look.arcs import check_heads, head_names
from saccade.look.canvas import Sheet, shade, sheet
from saccade.look.design import FAINT, FAINTEST, MUTED, TEXT
from saccade.look.figure import key
from saccade.look.layout import positions
from saccade.look.map import Map
from saccade.look.output import Format

__all__ = ["MEAN", "Heads", "draw_heads", "mean", "save_heads"]

MEAN = "mean"

SMALLEST, LARGEST = 110.0, 180.0
"""The longer side of a matrix; more for large type."""
ACROSS = {1: 5, 2: 9}
"""Matrices in a row, for one site and for several sites; fewer if a file has an exact width."""
READABLE = 5.4
"""Points: labels that would be smaller are left out."""


class Heads(NamedTuple):
    """The heads of an attention site."""

    name: str
    maps: Sequence[Map]


def mean(maps: Sequence[Map]) -> Map:
    """Return the mean of the heads' maps."""
    check_heads(maps)
    first = maps[0]
    rows = zip(*(map.weights for map in maps), strict=True)
    weights = [[sum(cell) / len(maps) for cell in zip(*row, strict=True)] for row in rows]
    return Map(first.source, first.target, weights, first.gold, first.marks)


def save_heads(
    sites: Iterable[Heads], path: Path | str, *, title: str | None = None, format: Format | None = None
) -> None:
    """Write a small matrix for each head and, set apart, for the mean, in the format of the suffix of `path`.

    All maps must have the same words. They are written once, beside the first matrix, unless they would be too small to
    read.
    """
    with sheet(path, format or Format(title)) as page:
        sites = _checked(sites)
        across = min(ACROSS[min(2, len(sites))], max(len(site.maps) for site in sites) + 1)
        grid = _Grid(page, sites[0].maps[0], across)
        notes, top = page.size.notes, grid.head
        for order, site in enumerate(sites):
            page.text(
                -grid.side,
                top - (0.6 * notes if order else 1.2 * notes + grid.head),
                page.label(site.name, 60),
                1.2 * notes,
            )
            top += 0.8 * notes if order else 0
            panels = _panels(site)
            for start in range(0, len(panels), grid.across):
                for number, (name, map) in enumerate(panels[start : start + grid.across]):
                    apart = grid.apart if name == MEAN and number else 0
                    grid.draw(map, name, number * grid.step + apart, top, labels=order == start == number == 0)
                top += grid.height + 3 * notes
            top += notes
        key(page, 0, top - 0.5 * notes, notes=[] if grid.size else [("rows attend to columns", MUTED)])


def _checked(sites: Iterable[Heads]) -> list[Heads]:
    sites = [Heads(*site) for site in sites]
    check_heads([map for site in sites for map in site.maps])
    for site in sites:
        if not site.maps:
            raise ShapeError(f"{site.name} has 0 heads. Leave it out.")
    return sites


def _panels(site: Heads) -> list[tuple[str, Map]]:
    named = list(zip(head_names(len(site.maps)), site.maps, strict=True))
    return named if len(named) == 1 else [*named, (MEAN, mean(site.maps))]


class _Grid:
    """The size of the matrices and the labels of the first; `size` is the font size, 0 for no labels."""

    def __init__(self, page: Sheet, map: Map, across: int) -> None:
        self.page = page
        letters, notes = page.size.letters, page.size.notes
        longest = max(len(map.source), len(map.target))
        self.across = min(across, ACROSS[1]) if page.size.exact else across
        self.apart = between = 1.3 * letters
        self.sources = [page.label(word, 20) for word in map.source]
        self.targets = [page.label(word, 20) for word in map.target]
        sides = [max(page.width(word, letters) for word in words) / letters for words in (self.sources, self.targets)]
        side = max(SMALLEST, min(LARGEST, 7.2 * longest)) * max(1.0, letters / 11)
        if page.size.exact:
            side = min(side, (page.size.widths[-1] - 0.8 * sides[1] * letters - self.apart) / self.across - between)
        self.cell = min(1.1 * letters, side / longest)
        self.size = 0.8 * self.cell if 0.8 * self.cell >= READABLE else 0.0
        self.head, self.side = (5 + sides[0] * self.size, 4 + sides[1] * self.size) if self.size else (4.0, 0.0)
        gap = 0.4 if self.size else 0.0
        self.xs = positions(range(len(map.source)), map.marks.source, self.cell, gap)
        self.ys = positions(range(len(map.target)), map.marks.target, self.cell, gap)
        self.width, self.height = self.xs[-1], self.ys[-1]
        self.step = between + max(self.width, page.width(f"{MEAN} 00", notes))

    def draw(self, map: Map, name: str, left: float, top: float, *, labels: bool) -> None:
        boxes, colours = [], []
        for y, row in zip(self.ys, map.weights, strict=False):
            for x, weight in zip(self.xs, row, strict=False):
                if weight >= FAINTEST:
                    boxes.append((left + x, top + y, self.cell, self.cell))
                    colours.append(shade(weight))
        if boxes:
            self.page.cells(boxes, colours)
        notes = self.page.size.notes
        self.page.box((left, top, self.width, self.height), edge=MUTED if name == MEAN else FAINT, line=0.6)
        self.page.text(left + self.width / 2, top + self.height + 1.1 * notes, name, notes, colour=MUTED, side="center")
        if self.size and labels:
            self._labels(map, left, top)

    def _labels(self, map: Map, left: float, top: float) -> None:
        for s, (x, word) in enumerate(zip(self.xs, self.sources, strict=False)):
            colour = MUTED if s in map.marks.source else TEXT
            place = left + x + self.cell / 2 + 0.36 * self.size
            self.page.text(place, top - 3, word, self.size, colour=colour, turn=90)
        for t, (y, word) in enumerate(zip(self.ys, self.targets, strict=False)):
            colour = MUTED if t in map.marks.target else TEXT
            self.page.text(left - 4, top + y + self.cell / 2, word, self.size, colour=colour, side="right")


def draw_heads(sites: Iterable[Heads], *, width: int | None = None, colour: bool = False) -> str:
    """Return the matrices as text for a terminal, beside each other as far as they fit."""
    parts = []
    for site in _checked(sites):
        drawings = [f"{name}\n{terminal.draw(map, width=width, colour=colour)}" for name, map in _panels(site)]
        parts.append(f"{terminal.label(site.name)}\n{terminal.beside(drawings, width)}")
    return "\n\n".join(parts)

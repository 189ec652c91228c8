"""All heads at a glance: a small matrix for each head and for their mean, in rows by attention site."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from saccade.errors import ShapeError
from saccade.look import terminal
from saccade.look.arcs import check_heads
from saccade.look.canvas import FAINT, INK, MUTED, Sheet, shade, sheet
from saccade.look.figure import NOTES, key
from saccade.look.layout import positions
from saccade.look.map import Map

__all__ = ["Heads", "draw_heads", "mean", "save_heads"]

SMALLEST, LARGEST = 110.0, 180.0
"""Points: the longer side of a matrix."""
ACROSS = {1: 5, 2: 9}
"""Matrices in a row, for one site and for several sites."""
READABLE = 5.4
"""Points: labels that would be smaller are left out."""
FAINTEST = 0.01
"""Lower weights are not drawn."""


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


def save_heads(sites: Iterable[Heads], path: Path | str, *, title: str | None = None) -> None:
    """Write a small matrix for each head and for the mean, in the format of the suffix of `path`.

    All maps must have the same words. The words are written at the edges, unless they would be too small to read.
    """
    with sheet(path) as page:
        sites = _checked(sites)
        grid = _Grid(page, sites[0].maps[0])
        across = ACROSS[min(2, len(sites))]
        top = 0.0
        for order, site in enumerate(sites):
            page.text(-grid.side, top + 2, page.label(site.name, 60), 9.5)
            top += 14 + (4 if order else grid.head)
            panels = _panels(site)
            for start in range(0, len(panels), across):
                for number, (name, map) in enumerate(panels[start : start + across]):
                    labels = (order == start == 0, number == 0)
                    grid.draw(map, name, number * (grid.width + 14), top, labels)
                top += grid.height + 24
            top += 8
        if title:
            page.text(-grid.side, -22, page.label(title, 90), 12, bold=True)
        key(page, 0, top - 4, notes=[] if grid.size else [("rows attend to columns", MUTED)])


def _checked(sites: Iterable[Heads]) -> list[Heads]:
    sites = [Heads(*site) for site in sites]
    check_heads([map for site in sites for map in site.maps])
    for site in sites:
        if not site.maps:
            raise ShapeError(f"{site.name} has 0 heads. Leave it out.")
    return sites


def _panels(site: Heads) -> list[tuple[str, Map]]:
    named = [(f"head {number}", map) for number, map in enumerate(site.maps)]
    return named if len(named) == 1 else [*named, ("mean", mean(site.maps))]


class _Grid:
    """The size of the matrices and the labels at their edges; `size` is the font size, 0 for no labels."""

    def __init__(self, page: Sheet, map: Map) -> None:
        self.page = page
        longest = max(len(map.source), len(map.target))
        cell = min(12.0, max(SMALLEST, min(LARGEST, 7.2 * longest)) / longest)
        self.cell = cell
        self.size = 0.8 * cell if 0.8 * cell >= READABLE else 0.0
        gap = 0.4 if self.size else 0.0
        self.xs = positions(range(len(map.source)), map.marks.source, cell, gap)
        self.ys = positions(range(len(map.target)), map.marks.target, cell, gap)
        self.width, self.height = self.xs[-1], self.ys[-1]
        self.sources = [page.label(word, 20) for word in map.source]
        self.targets = [page.label(word, 20) for word in map.target]
        self.head = 5 + max(page.width(word, self.size) for word in self.sources) if self.size else 4.0
        self.side = 4 + max(page.width(word, self.size) for word in self.targets) if self.size else 0.0

    def draw(self, map: Map, name: str, left: float, top: float, labels: tuple[bool, bool]) -> None:
        boxes, colours = [], []
        for y, row in zip(self.ys, map.weights, strict=False):
            for x, weight in zip(self.xs, row, strict=False):
                if weight >= FAINTEST:
                    boxes.append((left + x, top + y, self.cell, self.cell))
                    colours.append(shade(weight))
        if boxes:
            self.page.cells(boxes, colours)
        self.page.box((left, top, self.width, self.height), edge=FAINT, line=0.6)
        self.page.text(left + self.width / 2, top + self.height + 8, name, NOTES, colour=MUTED, side="center")
        if self.size:
            self._labels(map, left, top, *labels)

    def _labels(self, map: Map, left: float, top: float, above: bool, beside: bool) -> None:
        for s, (x, word) in enumerate(zip(self.xs, self.sources, strict=False)):
            if above:
                colour = MUTED if s in map.marks.source else INK
                place = left + x + self.cell / 2 + 0.36 * self.size
                self.page.text(place, top - 3, word, self.size, colour=colour, turn=90)
        for t, (y, word) in enumerate(zip(self.ys, self.targets, strict=False)):
            if beside:
                colour = MUTED if t in map.marks.target else INK
                self.page.text(left - 4, top + y + self.cell / 2, word, self.size, colour=colour, side="right")


def draw_heads(sites: Iterable[Heads], *, width: int | None = None, colour: bool = False) -> str:
    """Return the matrices as text for a terminal, one below the other."""
    parts = []
    for site in _checked(sites):
        for name, map in _panels(site):
            parts.append(f"{terminal.label(site.name)}, {name}\n{terminal.draw(map, width=width, colour=colour)}")
    return "\n\n".join(parts)

"""A map drawn with text: rows are the words written, columns the words read."""

from __future__ import annotations

import unicodedata
from itertools import groupby

from saccade.look import words
from saccade.look.map import Map

__all__ = ["RESET", "colour", "draw", "label", "shade", "strongest"]

SHADES = " ░▒▓█"
# from the 256 colours nearly every terminal has: dark to bright, so that it also reads without seeing hues
COLOURS = (234, 17, 24, 30, 36, 78, 114, 149, 191, 227)
RESET = "\x1b[0m"
LONGEST = 20
"""Cells of a terminal: longer words are cut."""
WORTH_NAMING = 0.1
"""A second source word is named from this weight on."""


def draw(map: Map, *, width: int | None = None, colour: bool = False) -> str:
    """The map as text without a line break at its end; the fuller a cell, the more the model looked there.

    Cells are shaded, or painted from dark to bright where `colour` is true. Where the matrix needs more than `width`
    cells of a terminal, first its columns become narrower; if that is not enough, each written word gets a line that
    names what it looked at most. Words are shown, never obeyed: see `words.visible`.
    """
    if not map.target or not map.source:
        return "(nothing was written)" if map.source else "(nothing was read)"
    for cell in (3, 2):
        drawing = _Matrix(map, cell)
        if width is None or drawing.width <= width:
            return drawing.text(colour)
    return "\n".join(strongest(map, width))


def strongest(map: Map, width: int | None = None) -> list[str]:
    """A line for each written word with the one or two source words it looked at most: "zone ← Area 97 %".

    A line longer than `width` goes without the second, and is cut if that does not help.
    """
    sources = [words.kept_in_order(name) for name in words.numbered(label(word) for word in map.source)]
    targets = [words.kept_in_order(label(word)) for word in map.target]
    margin = max((words.width(word) for word in targets), default=0)
    lines = []
    for t, (target, row) in enumerate(zip(targets, map.weights, strict=True)):
        named = [s for rank, s in enumerate(map.strongest(t, 2)) if rank == 0 or row[s] >= WORTH_NAMING]
        looks = [f"{sources[s]} {words.percent(row[s])}" for s in named]
        line, alone = (f"{words.pad_left(target, margin)} ← {', '.join(looks[:count])}" for count in (2, 1))
        lines.append(line if width is None or words.width(line) <= width else words.clip(alone, width))
    return lines


class _Matrix:
    """The drawing before it is text: labels cleaned, measured and cut, columns at least `cell` wide."""

    def __init__(self, map: Map, cell: int) -> None:
        self.weights = map.weights
        self.targets = [label(word) for word in map.target]
        self.columns = [words.clusters(label(word)) for word in map.source]
        self.cell = max([cell, *(words.width(letter) for column in self.columns for letter in column)])
        self.margin = 1 + max(words.width(word) for word in self.targets)
        self.width = self.margin + 1 + self.cell * len(self.columns)

    def text(self, painted: bool) -> str:
        paint = self._painted if painted else self._shaded
        rows = [
            f"{words.pad_left(words.kept_in_order(word), self.margin)} {paint(row)}"
            for word, row in zip(self.targets, self.weights, strict=True)
        ]
        return "\n".join(line.rstrip(" ") for line in [*self._header(), *rows])

    def _header(self) -> list[str]:
        """The source words stand upright on their columns."""
        height = max(len(column) for column in self.columns)
        upright = [[""] * (height - len(column)) + column for column in self.columns]
        return [" " * (self.margin + 1) + "".join(self._centred(c[depth]) for c in upright) for depth in range(height)]

    def _centred(self, letter: str) -> str:
        spare = self.cell - words.width(letter)
        # without a mark, a terminal that knows of directions would swap the letters of neighbouring columns
        return " " * (spare // 2) + words.kept_in_order(letter) + " " * (spare - spare // 2)

    def _shaded(self, row: tuple[float, ...]) -> str:
        return "".join(shade(weight) * self.cell for weight in row)

    def _painted(self, row: tuple[float, ...]) -> str:
        runs = (
            paint + " " * self.cell * len(list(equal)) for paint, equal in groupby(colour(weight) for weight in row)
        )
        return "".join(runs) + RESET


def label(word: str) -> str:
    """A word as a terminal can show it."""
    # composed, so that Hangul typed letter by letter fills the cells a terminal gives it
    return words.clip(unicodedata.normalize("NFC", words.visible(word)), LONGEST)


def shade(weight: float) -> str:
    """A character that is the fuller the more a weight is."""
    return SHADES[_step(weight, len(SHADES))]


def colour(weight: float) -> str:
    """The code that makes what follows stand on the colour of a weight, until `RESET`."""
    return f"\x1b[48;5;{COLOURS[_step(weight, len(COLOURS))]}m"


def _step(weight: float, steps: int) -> int:
    return min(steps - 1, int(steps * max(0.0, min(1.0, weight))))

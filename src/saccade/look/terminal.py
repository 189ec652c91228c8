"""A map as text for a terminal: rows are target words, columns source words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby, zip_longest

from saccade.look import text_width
from saccade.look.design import FAINTEST
from saccade.look.map import Map

__all__ = ["RESET", "beside", "colour", "draw", "label", "scale", "shade", "strongest"]

SHADES = " ░▒▓█"
# from the 256-color palette: dark to bright, so that it is readable without hue
COLOURS = (234, 17, 24, 30, 36, 78, 114, 149, 191, 227)
RESET = "\x1b[0m"
_CODES = re.compile(r"\x1b\[[\d;]*m")
LONGEST = 20
"""Maximum terminal cells of a word; longer words are cut."""
WORTH_NAMING = 0.1
"""A second source word is listed from this weight on."""


def draw(map: Map, *, width: int | None = None, colour: bool = False) -> str:
    """Return the map as text without a final line break; the fuller a cell, the higher its weight.

    Cells are shaded, or painted from dark to bright if `colour` is true. If the matrix is wider than `width` cells, its
    columns become narrower. If that is not enough, each target word gets a line with the source words of its highest
    weights. Control characters in words are made visible: see `text_width.visible`.
    """
    if not map.target or not map.source:
        return "(nothing was written)" if map.source else "(nothing was read)"
    for cell in (3, 2):
        drawing = _Matrix(map, cell)
        if width is None or drawing.width <= width:
            return drawing.text(colour)
    return "\n".join(strongest(map, width))


def strongest(map: Map, width: int | None = None) -> list[str]:
    """Return a line for each target word with its one or two highest weights: "zone ← Area 97 %".

    A line longer than `width` omits the second, and is cut if it is still too long.
    """
    sources = [text_width.kept_in_order(name) for name in text_width.numbered(label(word) for word in map.source)]
    targets = [text_width.kept_in_order(label(word)) for word in map.target]
    margin = max((text_width.width(word) for word in targets), default=0)
    lines = []
    for t, (target, row) in enumerate(zip(targets, map.weights, strict=True)):
        named = [s for rank, s in enumerate(map.strongest(t, 2)) if rank == 0 or row[s] >= WORTH_NAMING]
        parts = [f"{sources[s]} {text_width.percent(row[s])}" for s in named]
        line, alone = (f"{text_width.pad_left(target, margin)} ← {', '.join(parts[:count])}" for count in (2, 1))
        lines.append(line if width is None or text_width.width(line) <= width else text_width.clip(alone, width))
    return lines


class _Matrix:
    """The layout of the matrix: labels sanitized, measured and cut, columns at least `cell` wide."""

    def __init__(self, map: Map, cell: int) -> None:
        self.weights = map.weights
        self.targets = [label(word) for word in map.target]
        self.columns = [text_width.clusters(label(word)) for word in map.source]
        self.cell = max([cell, *(text_width.width(letter) for column in self.columns for letter in column)])
        self.margin = 1 + max(text_width.width(word) for word in self.targets)
        self.width = self.margin + 1 + self.cell * len(self.columns)

    def text(self, painted: bool) -> str:
        paint = self._painted if painted else self._shaded
        rows = [
            f"{text_width.pad_left(text_width.kept_in_order(word), self.margin)} {paint(row)}"
            for word, row in zip(self.targets, self.weights, strict=True)
        ]
        return "\n".join(line.rstrip(" ") for line in [*self._header(), *rows])

    def _header(self) -> list[str]:
        """Return the header lines: each source word is written vertically above its column."""
        height = max(len(column) for column in self.columns)
        upright = [[""] * (height - len(column)) + column for column in self.columns]
        return [" " * (self.margin + 1) + "".join(self._centred(c[depth]) for c in upright) for depth in range(height)]

    def _centred(self, letter: str) -> str:
        spare = self.cell - text_width.width(letter)
        # a direction mark keeps bidirectional terminals from swapping letters of neighboring columns
        return " " * (spare // 2) + text_width.kept_in_order(letter) + " " * (spare - spare // 2)

    def _shaded(self, row: tuple[float, ...]) -> str:
        return "".join(shade(weight) * self.cell for weight in row)

    def _painted(self, row: tuple[float, ...]) -> str:
        paints = (colour(weight) if weight >= FAINTEST else RESET for weight in row)
        return "".join(paint + " " * self.cell * len(list(equal)) for paint, equal in groupby(paints)) + RESET


def label(word: str) -> str:
    """Return a word as a terminal can show it: sanitized, NFC, cut to `LONGEST` cells."""
    # NFC, so that decomposed Hangul has the width that terminals give it
    return text_width.clip(unicodedata.normalize("NFC", text_width.visible(word)), LONGEST)


def shade(weight: float) -> str:
    """Return the block character of a weight, fuller for a higher weight."""
    return SHADES[_step(weight, len(SHADES))]


def colour(weight: float) -> str:
    """Return the escape code that sets the background to the color of a weight, until `RESET`."""
    return f"\x1b[48;5;{COLOURS[_step(weight, len(COLOURS))]}m"


def _step(weight: float, steps: int) -> int:
    return min(steps - 1, int(steps * max(0.0, min(1.0, weight))))


def scale(*, painted: bool) -> str:
    """Return the legend of a matrix: what its shades, or its colors from 0 to 1, stand for."""
    if painted:
        return f"0 {''.join(f'{colour(step / len(COLOURS))}  ' for step in range(len(COLOURS)))}{RESET} 1"
    return ", ".join(
        f"{shade} from {text_width.percent(step / len(SHADES))}" for step, shade in enumerate(SHADES) if step
    )


def beside(drawings: Sequence[str], width: int | None, gap: int = 3) -> str:
    """Put drawings of equal height beside each other, as many as fit into `width`, and the others below."""
    blocks = [drawing.splitlines() for drawing in drawings]
    wide = max(text_width.width(_CODES.sub("", line)) for lines in blocks for line in lines)
    across = max(1, (width + gap) // (wide + gap)) if width is not None else len(blocks)
    rows = []
    for start in range(0, len(blocks), across):
        lines = zip_longest(*blocks[start : start + across], fillvalue="")
        rows.append("\n".join((" " * gap).join(_padded(part, wide) for part in line).rstrip(" ") for line in lines))
    return "\n\n".join(rows)


def _padded(line: str, cells: int) -> str:
    return line + " " * (cells - text_width.width(_CODES.sub("", line)))

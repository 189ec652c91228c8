"""A map as SVG for a page: a drawing that needs no script, whose rows a script can find."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from saccade.look import words
from saccade.look.map import Map

__all__ = ["FAINTEST", "Drawing"]

CELL = 24
FONT = 13
"""Pixels, as all sizes here. The page's style sheet sets the same size of letters."""
TYPICAL = 0.62 * FONT
"""Wider than most letters are: a page's font is not known here, and labels must not be cut."""
SLANT = math.sqrt(0.5)
LONGEST = 28
FAINTEST = 0.005
"""What would round to 0 % is not drawn; it keeps the page small."""


class Drawing:
    """The picture of one map, `width` by `height` pixels; `str()` is the SVG element."""

    def __init__(self, map: Map, label: str) -> None:
        self.map, self.label = map, label
        self.sources = [words.clip(words.visible(word), LONGEST) for word in map.source]
        self.targets = [words.clip(words.visible(word), LONGEST) for word in map.target]
        self.left = round(max(_widths(self.targets), default=0)) + 14
        self.top = round(max(_widths(self.sources), default=0) * SLANT) + 18
        reach = ((s + 0.5) * CELL + width * SLANT + 12 for s, width in enumerate(_widths(self.sources)))
        self.width = self.left + round(max([len(self.sources) * CELL + 1, *reach]))
        self.height = self.top + len(self.targets) * CELL + 1

    def __str__(self) -> str:
        parts = [self._grid(), *self._columns(), *(self._row(t) for t in range(len(self.targets))), *self._gold()]
        return (
            f'<svg role="img" aria-label="{escape(self.label)}" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}">\n' + "\n".join(parts) + "\n</svg>"
        )

    def _grid(self) -> str:
        right, bottom = self.left + len(self.sources) * CELL, self.top + len(self.targets) * CELL
        upright = "".join(f"M{x}.5 {self.top}V{bottom}" for x in range(self.left, right + 1, CELL))
        level = "".join(f"M{self.left} {y}.5H{right}" for y in range(self.top, bottom + 1, CELL))
        return f'<path class="grid" d="{upright}{level}"/>'

    def _columns(self) -> list[str]:
        baseline = self.top - 7
        middles = [self.left + s * CELL + CELL // 2 + 3 for s in range(len(self.sources))]
        return [
            f'<text data-s="{s}" transform="translate({x} {baseline}) rotate(-45)">{escape(word)}</text>'
            for s, (x, word) in enumerate(zip(middles, self.sources, strict=True))
        ]

    def _row(self, t: int) -> str:
        """The word and its cells. The band behind them makes the whole row one thing to point at."""
        y = self.top + t * CELL
        cells = (self._cell(t, s) for s, weight in enumerate(self.map.weights[t]) if weight >= FAINTEST)
        return (
            f'<g data-t="{t}"><rect class="band" x="1" y="{y}" width="{self.left + len(self.sources) * CELL - 1}" '
            f'height="{CELL}"/><text class="written" x="{self.left - 8}" y="{y + CELL // 2}">'
            f"{escape(self.targets[t])}</text>{''.join(cells)}</g>"
        )

    def _cell(self, t: int, s: int) -> str:
        x, y, weight = self.left + s * CELL + 1, self.top + t * CELL + 1, self.map.weights[t][s]
        told = f"{self.targets[t]} ← {self.sources[s]} {words.percent(weight)}"
        return (
            f'<rect class="cell" x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
            f'fill-opacity="{min(1.0, weight):.2g}"><title>{escape(told)}</title></rect>'
        )

    def _gold(self) -> list[str]:
        return [
            f'<rect class="gold" x="{self.left + s * CELL + 5.5}" y="{self.top + t * CELL + 5.5}" '
            f'width="{CELL - 10}" height="{CELL - 10}"/>'
            for s, t in sorted(self.map.gold)
        ]


def _widths(labels: Sequence[str]) -> list[float]:
    """Pixels each label needs, guessed on the generous side."""
    return [words.width(label) * TYPICAL for label in labels]

"""A map as an SVG matrix for a web page; it works without a script, and its rows have attributes for one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from saccade.look import text_width
from saccade.look.layout import positions
from saccade.look.map import Map

__all__ = ["FAINTEST", "Drawing"]

CELL = 24
FONT = 13
"""Pixels, as all sizes here. The page's style sheet sets the same font size."""
TYPICAL = 0.62 * FONT
"""Assumed width of a letter. It is generous, because the page's font is not known and labels must not be cut."""
SLANT = math.sqrt(0.5)
LONGEST = 28
FAINTEST = 0.005
"""Lower weights, which round to 0 %, are not drawn, to keep the page small."""
# attributes for use without a style sheet; the colors are visible on white and on black
LOOKS = {
    "svg": 'fill="currentColor" font-family="sans-serif" font-size="13"',
    "grid": 'fill="none" stroke="currentColor" stroke-opacity="0.18"',
    "band": 'fill="none"',
    "cell": 'fill="#4585d6"',
    "gold": 'fill="none" stroke="#e8820c" stroke-width="1.6"',
    "written": 'text-anchor="end" dominant-baseline="central"',
    "mark": 'fill-opacity="0.6"',
}


class Drawing:
    """The matrix of one map, `width` by `height` pixels; `str()` is the SVG element.

    Its parts have classes for the style sheet of a page. With `alone`, as in a notebook, they have style attributes
    instead, so that the drawing does not depend on the page.
    """

    def __init__(self, map: Map, label: str, *, alone: bool = False) -> None:
        self.map, self.label, self.alone = map, label, alone
        self.sources = [text_width.clip(text_width.visible(word), LONGEST) for word in map.source]
        self.targets = [text_width.clip(text_width.visible(word), LONGEST) for word in map.target]
        self.left = round(max(_widths(self.targets), default=0)) + 14
        self.top = round(max(_widths(self.sources), default=0) * SLANT) + 18
        self.xs = [round(x) for x in positions(range(len(map.source)), map.marks.source, CELL)]
        self.ys = [round(y) for y in positions(range(len(map.target)), map.marks.target, CELL)]
        reach = (x + 0.5 * CELL + width * SLANT + 12 for x, width in zip(self.xs, _widths(self.sources), strict=False))
        self.width = self.left + round(max([self.xs[-1] + 1, *reach]))
        self.height = self.top + self.ys[-1] + 1

    def __str__(self) -> str:
        parts = [self._grid(), *self._columns(), *(self._row(t) for t in range(len(self.targets))), *self._gold()]
        look = f"{LOOKS['svg']} " if self.alone else ""
        return (
            f'<svg role="img" aria-label="{escape(self.label)}" viewBox="0 0 {self.width} {self.height}" '
            f'{look}width="{self.width}" height="{self.height}">\n' + "\n".join(parts) + "\n</svg>"
        )

    def _look(self, *names: str) -> str:
        """Return the class attribute of a part, or with `alone` its style attributes."""
        return " ".join(LOOKS[name] for name in names) if self.alone else f'class="{" ".join(names)}"'

    def _grid(self) -> str:
        columns, rows = _runs(self.xs[:-1]), _runs(self.ys[:-1])
        lines: list[str] = []
        for left, right in ((self.left + a, self.left + b) for a, b in columns):
            for top, bottom in ((self.top + a, self.top + b) for a, b in rows):
                lines.extend(f"M{x}.5 {top}V{bottom}" for x in range(left, right + 1, CELL))
                lines.extend(f"M{left} {y}.5H{right}" for y in range(top, bottom + 1, CELL))
        return f'<path {self._look("grid")} d="{"".join(lines)}"/>'

    def _columns(self) -> list[str]:
        baseline = self.top - 7
        found = []
        for s, (x, word) in enumerate(zip(self.xs, self.sources, strict=False)):
            mark = f"{self._look('mark')} " if s in self.map.marks.source else ""
            place = f"translate({self.left + x + CELL // 2 + 3} {baseline}) rotate(-45)"
            found.append(f'<text {mark}data-s="{s}" transform="{place}">{escape(word)}</text>')
        return found

    def _row(self, t: int) -> str:
        """Draw a word and its cells; an invisible rectangle behind them makes the whole row react to the pointer."""
        y = self.top + self.ys[t]
        cells = (self._cell(t, s) for s, weight in enumerate(self.map.weights[t]) if weight >= FAINTEST)
        look = self._look("written", *(["mark"] if t in self.map.marks.target else []))
        return (
            f'<g data-t="{t}"><rect {self._look("band")} x="1" y="{y}" width="{self.left + self.xs[-1] - 1}" '
            f'height="{CELL}"/><text {look} x="{self.left - 8}" y="{y + CELL // 2}">'
            f"{escape(self.targets[t])}</text>{''.join(cells)}</g>"
        )

    def _cell(self, t: int, s: int) -> str:
        x, y, weight = self.left + self.xs[s] + 1, self.top + self.ys[t] + 1, self.map.weights[t][s]
        tooltip = f"{self.targets[t]} ← {self.sources[s]} {text_width.percent(weight)}"
        return (
            f'<rect {self._look("cell")} x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
            f'fill-opacity="{min(1.0, weight):.2g}"><title>{escape(tooltip)}</title></rect>'
        )

    def _gold(self) -> list[str]:
        return [
            f'<rect {self._look("gold")} x="{self.left + self.xs[s] + 3.5}" y="{self.top + self.ys[t] + 3.5}" '
            f'width="{CELL - 6}" height="{CELL - 6}"/>'
            for s, t in sorted(self.map.gold)
        ]


def _runs(starts: Sequence[int]) -> list[tuple[int, int]]:
    """Return the start and end of each run of adjacent cells."""
    found: list[tuple[int, int]] = []
    for start in starts:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], start + CELL)
        else:
            found.append((start, start + CELL))
    return found


def _widths(labels: Sequence[str]) -> list[float]:
    """Estimate the width of each label in pixels, generously."""
    return [text_width.width(label) * TYPICAL for label in labels]

"""A reading figure: self-attention as a line of text for each word read.

It follows figure 1 of Cheng, Dong and Lapata 2016, arXiv:1601.06733. In each line the word being read is red, and the
words it attends to are bluer for higher weights. It is for self-attention of language models and encoders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from saccade.errors import ConfigError
from saccade.look import terminal, text_width
from saccade.look.canvas import Sheet, shade, sheet
from saccade.look.design import FAINTEST, MUTED, TEXT, YOURS
from saccade.look.figure import check_content, key
from saccade.look.map import Map
from saccade.look.output import Format

__all__ = ["check_reading", "draw_reading", "painted", "save_reading", "wrapped"]

LINE, INDENT, PAD = 1.75, 1.65, 0.28
"""The height of a line, the indent of a wrapped one, and the room beside a word, in letters."""
DARK = 0.68
"""From this weight on, letters are white, to be readable on the dark shade."""
_SHADES = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"))
"""Characters for the terminal, by their lowest weight. They start low, because weights are spread over many words."""
_CURRENT = "\x1b[1;31m"


def check_reading(map: Map) -> int:
    """Return the column of the first row's word; raise ConfigError if rows and columns are different texts."""
    first = len(map.source) - len(map.target)
    if first < 0 or map.source[first:] != map.target:
        raise ConfigError(
            f"a reading figure shows words that attend to words of the same text, but here {len(map.target)} words "
            f"attend to {len(map.source)} others. Draw a matrix or arcs."
        )
    return first


def save_reading(map: Map, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write a line of text for each row of the map, in the format of the suffix of `path`.

    The rows must be the words of the columns, all or the last ones. If no word attends to later words, each line ends
    with the word being read. A strip below that word shows its weight on itself.
    """
    with sheet(path, format or Format(title)) as page:
        check_content(map)
        text = _Text(page, map, check_reading(map))
        bottom = text.draw()
        notes = [("the word being read", YOURS)]
        if text.looks_at_itself:
            notes.append(("below it, its weight on itself", MUTED))
        key(page, 0, bottom + 8, notes=notes)


class _Text:
    """The text with a position for each word. Each line is a prefix of the text, so a word has one position in all."""

    def __init__(self, page: Sheet, map: Map, first: int) -> None:
        self.page, self.map, self.first = page, map, first
        self.labels = [page.label(word) for word in map.source]
        self.size, self.line, self.pad = (page.size.letters * share for share in (1, LINE, PAD))
        self.widths = [page.width(label, self.size) + 2 * self.pad for label in self.labels]
        self.places = list(self._places())
        self.right = max(x + width for (x, _), width in zip(self.places, self.widths, strict=True))
        if text_width.runs_left(map.source):
            mirrored = zip(self.places, self.widths, strict=True)
            self.places = [(self.right - x - width, line) for (x, line), width in mirrored]
        self.ahead = _looks_ahead(map, first)
        self.looks_at_itself = any(row[t + first] >= FAINTEST for t, row in enumerate(map.weights))

    def _places(self) -> Iterator[tuple[float, int]]:
        """Yield the x coordinate and the line of each word."""
        x, line, indent = 0.0, 0, INDENT * self.size
        for width in self.widths:
            if x + width > self.page.size.widths[-1] and x > indent:
                x, line = indent, line + 1
            yield x, line
            x += width + 0.5 * self.pad

    def draw(self) -> float:
        """Draw the text for each row, and return the y coordinate of its end."""
        top = 0.0
        for t, row in enumerate(self.map.weights):
            current = t + self.first
            shown = len(self.labels) if self.ahead else current + 1
            for s in range(shown):
                self._word(s, top, row[s], current)
            top += self.line * (self.places[shown - 1][1] + 1) + (self.size / 2 if self.places[-1][1] else 0)
        self.page.box((0, 0, self.right, top))  # grow the page for the whole text at once, which is faster
        return top

    def _word(self, s: int, top: float, weight: float, current: int) -> None:
        x, line = self.places[s]
        y, pad = top + line * self.line, self.pad
        width, height = self.widths[s], self.line - pad
        colour = MUTED if s in self.map.marks.source else TEXT
        if s == current:
            colour = YOURS
            if weight >= FAINTEST:
                self.page.box((x + pad, y + height - 1, width - 2 * pad, 0.8 * pad), fill=shade(weight), counts=False)
        elif weight >= FAINTEST:
            self.page.box((x, y, width, height), fill=shade(weight), corner=pad, counts=False)
            colour = "#ffffff" if weight >= DARK else TEXT if weight >= 0.3 else colour
        self.page.text(
            x + width / 2, y + height / 2, self.labels[s], self.size, colour=colour, side="center", counts=False
        )


def _looks_ahead(map: Map, first: int) -> bool:
    return any(weight >= FAINTEST for t, row in enumerate(map.weights) for weight in row[t + first + 1 :])


def draw_reading(map: Map, *, width: int | None = None, colour: bool = False) -> str:
    """Return text for a terminal: the word being read in brackets, a shade before each word that it attends to.

    Lines longer than `width` wrap with an indent. Control characters are made visible: see `text_width.visible`.
    """
    if not map.target:
        return "(nothing was read)"
    first = check_reading(map)
    labels = [text_width.kept_in_order(terminal.label(word)) for word in map.source]
    ahead = _looks_ahead(map, first)
    lines = []
    for t, row in enumerate(map.weights):
        current = t + first
        shown = range(len(labels) if ahead else current + 1)
        make = painted if colour else _shaded
        lines.extend(wrapped([make(labels[s], row[s], s == current) for s in shown], width))
    return "\n".join(lines)


def _shaded(word: str, weight: float, current: bool) -> str:
    mark = next((shade for least, shade in _SHADES if weight >= least), "")
    return f"[{mark}{word}]" if current else f"{mark}{word}"


def painted(word: str, weight: float, current: bool = False) -> str:
    """Return a word on the color of its weight; in red brackets if it is the one being read."""
    if current:
        return f"{_CURRENT}[{word}]{terminal.RESET}"
    if weight < FAINTEST:
        return f" {word} "
    ink = "\x1b[30m" if weight >= 0.5 else "\x1b[97m"
    return f"{ink}{terminal.colour(weight)} {word} {terminal.RESET}"


def wrapped(parts: list[str], width: int | None, indent: str = "  ") -> list[str]:
    """Wrap words into lines of at most `width` cells, unless one word is longer; color codes have no width."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} {part}" if lines[-1].strip() else lines[-1] + part
        if width is not None and lines[-1].strip() and text_width.width(_CODES.sub("", longer)) > width:
            lines.append(indent + part)
        else:
            lines[-1] = longer
    return lines


_CODES = re.compile(r"\x1b\[[\d;]*m")

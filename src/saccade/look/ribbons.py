"""Two lanes of words joined by ribbons, as the explorer page draws them, as a whole or one written word at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from saccade.look import text_width
from saccade.look.canvas import Sheet, sheet
from saccade.look.design import FAINTEST_LINK, INK, MUTED, POINT, TEXT, lit, mixed, resting, thickness
from saccade.look.figure import UNKNOWN, check_content
from saccade.look.map import Map
from saccade.look.output import Format

__all__ = ["Lanes", "save_ribbons"]

LINE, GAP, BETWEEN = 1.7, 0.62, 4.2
"""In letters: the height of a line, the gap between words, and the room for ribbons."""
SMALLEST = 0.82
"""Words become this much smaller rather than wrap."""
TINT = 0.34
"""The share of ink behind a word that is attended to with weight 1."""
NAMED = 0.1
"""From this weight on, a step writes it above the word."""


def save_ribbons(map: Map, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write the words read above the words written, and a ribbon for each weight that is not faint.

    The wider and darker a ribbon, the higher the weight. The format is that of the suffix of `path`.
    """
    with sheet(path, format or Format(title)) as page:
        check_content(map)
        lanes = Lanes(page, map)
        lanes.read()
        lanes.ribbons()
        lanes.wrote(range(len(map.target)))
        lanes.key()


class _Word(NamedTuple):
    """A word, the left edge and the line of its place, and its width."""

    label: str
    x: float
    line: int
    width: float


class Lanes:
    """The places of the words of both lanes, and their drawing."""

    def __init__(self, page: Sheet, map: Map) -> None:
        self.page, self.map, self.notes = page, map, page.size.notes
        self.names = page.format.lanes
        self.left = max(page.width(name, self.notes) for name in self.names) + self.notes
        sides = [[page.label(word) for word in side] for side in (map.source, map.target)]
        self.letters, self.room = self._fitted(sides)
        self.line = LINE * self.letters
        self.upper, self.lower = (self._lane(side) for side in sides)
        self.wraps = any(lane[-1].line for lane in (self.upper, self.lower))
        self.middle = self.line * (self.upper[-1].line + 1)
        self.top = self.middle + (BETWEEN + (0.5 if self.wraps else 0)) * self.letters

    def _fitted(self, sides: Sequence[Sequence[str]]) -> tuple[float, float]:
        """Return the size of the letters and the width of the lanes: the first width that has room for one line."""
        full = self.page.size.letters
        long = max(sum(self.page.width(word, full) + GAP * full for word in side) for side in sides)
        for width in self.page.size.widths:
            if SMALLEST * long <= width - self.left:
                return full * min(1.0, (width - self.left) / long), width - self.left
        return full * SMALLEST, self.page.size.widths[-1] - self.left

    def _lane(self, words: Sequence[str]) -> list[_Word]:
        """Lay out the words of a lane in lines; a text that runs to the left begins at the right."""
        placed = list(self._flow(words))
        if not text_width.runs_left(tuple(words)):
            return placed
        right = self.room if placed[-1].line else placed[-1].x + placed[-1].width
        return [_Word(word.label, right - word.x - word.width, word.line, word.width) for word in placed]

    def _flow(self, words: Sequence[str]) -> Iterator[_Word]:
        x, line, gap = 0.0, 0, GAP * self.letters
        for label in words:
            width = self.page.width(label, self.letters)
            if x and x + width > self.room:
                x, line = 0.0, line + 1
            yield _Word(label, x, line, width)
            x += width + gap

    def read(self) -> None:
        """Draw the words that are attended to."""
        self._name(0, self.names[0])
        for s, word in enumerate(self.upper):
            self._word(word, 0, MUTED if s in self.map.marks.source else TEXT)

    def wrote(self, places: Sequence[int]) -> None:
        """Draw the words that attend, those at `places`."""
        if 0 in places:
            self._name(self.top, self.names[1])
        for t in places:
            self._word(self.lower[t], self.top, MUTED if t in self.map.marks.target else TEXT)

    def ribbons(self, only: int | None = None) -> None:
        """Draw the ribbons of all words, or those of one, which are darker."""
        rows = range(len(self.map.target)) if only is None else [only]
        links = sorted(
            (weight, s, t) for t in rows for s, weight in enumerate(self.map.weights[t]) if weight >= FAINTEST_LINK
        )
        inset = 0.1 * self.line
        self.page.curves(
            [self._ends(self.upper[s], self.lower[t], inset) for _, s, t in links],
            [(INK, resting(weight, self.wraps) if only is None else lit(weight)) for weight, _, _ in links],
            [thickness(weight, self.letters) for weight, _, _ in links],
            upright=True,
        )

    def point(self, t: int) -> None:
        """Mark the written word `t` and the words that it attends to."""
        self._box(self.lower[t], self.top, POINT, TEXT)
        for s, word in enumerate(self.upper):
            weight = self.map.weights[t][s]
            if weight >= FAINTEST_LINK:
                self._box(word, 0, mixed(INK, TINT * weight))
            if weight >= NAMED:
                share = text_width.percent(weight)
                y = self.line * word.line - 0.1 * self.notes
                self.page.text(word.x + word.width / 2, y, share, 0.8 * self.notes, colour=MUTED, side="center")

    def key(self) -> None:
        """Grow the page for both lanes, and add a note on letters that no font has."""
        bottom = self.top + self.line * (self.lower[-1].line + 1)
        self.page.box((-self.left, -self.notes, self.left + self.right, bottom + self.notes))
        if self.page.boxes:
            self.page.text(-self.left, bottom + self.notes, UNKNOWN, self.notes, colour=MUTED)

    @property
    def right(self) -> float:
        return max(word.x + word.width for word in (*self.upper, *self.lower))

    def _ends(self, upper: _Word, lower: _Word, inset: float) -> tuple[float, float, float, float]:
        return (
            upper.x + upper.width / 2,
            self.line * (upper.line + 1) - inset,
            lower.x + lower.width / 2,
            self.top + self.line * lower.line + inset,
        )

    def _name(self, top: float, name: str) -> None:
        self.page.text(-self.left, top + self.line / 2, name, self.notes, colour=MUTED)

    def _word(self, word: _Word, top: float, colour: str) -> None:
        if self.wraps:  # ribbons pass behind the words of other lines
            self._box(word, top, "#ffffff")
        self.page.text(word.x, self._middle(word, top), word.label, self.letters, colour=colour)

    def _middle(self, word: _Word, top: float) -> float:
        return top + self.line * (word.line + 0.5)

    def _box(self, word: _Word, top: float, fill: str, edge: str | None = None) -> None:
        around, height = 0.22 * self.letters, 1.35 * self.letters
        box = (word.x - around, self._middle(word, top) - height / 2, word.width + 2 * around, height)
        corner = 0.3 * self.letters
        self.page.box(box, fill=fill, edge=edge, line=0.06 * self.letters, corner=corner, counts=False)

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

LINE, GAP, BETWEEN, ON_SLIDES = 1.7, 0.62, 4.2, 8.5
"""In letters: the height of a line, the gap between words, and the room for ribbons, on slides more."""
HIGHEST = 0.7
"""The share of a slide's height that lanes fill, with smaller words if there are many."""
SMALLEST = 0.82
"""Words become this much smaller rather than wrap."""
TINT = 0.34
"""The share of ink behind a word that is attended to with weight 1."""
NAMED = 0.1
"""From this weight on, a step writes it above the word."""


def save_ribbons(map: Map, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write the attended words above the attending ones, and a ribbon for each weight that is not faint.

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
    """The places of the words of both lanes, and their drawing.

    If they do not fit into one line, each line of attended words is above the corresponding line of attending words.
    """

    def __init__(self, page: Sheet, map: Map) -> None:
        self.page, self.map, self.notes = page, map, page.size.notes
        self.left = max(page.width(name, self.notes) for name in page.format.lanes) + self.notes
        sides = [[page.label(word) for word in side] for side in (map.source, map.target)]
        self.letters, self.room = self._fitted(sides)
        self._place(sides)
        while page.size.page and self.step * self.count > HIGHEST * page.size.page[1]:
            self.letters *= 0.95
            self._place(sides)
        self.right = max(word.x + word.width for word in (*self.upper, *self.lower))

    def _place(self, sides: Sequence[Sequence[str]]) -> None:
        """Lay out both lanes, and find the distances of their lines."""
        self.upper, self.lower = self._laid_out(sides)
        self.count = 1 + max(lane[-1].line for lane in (self.upper, self.lower))
        self.line = LINE * self.letters
        between = ON_SLIDES if self.page.size.page and self.count == 1 else BETWEEN
        self.top = self.line + between * self.letters
        self.step = self.top + 2 * self.line

    def _fitted(self, sides: Sequence[Sequence[str]]) -> tuple[float, float]:
        """Return the size of the letters and the width of the lanes: the first width that has room for one line."""
        full = self.page.size.letters
        long = max(sum(self.page.width(word, full) + GAP * full for word in side) for side in sides)
        for width in self.page.size.widths:
            if SMALLEST * long <= width - self.left:
                return full * min(1.0, (width - self.left) / long), width - self.left
        return full, self.page.size.widths[-1] - self.left

    def _laid_out(self, sides: Sequence[Sequence[str]]) -> tuple[list[_Word], list[_Word]]:
        """Lay out both lanes in as few lines as have room, with the same share of each lane in a line."""
        for count in range(1, max(map(len, sides)) + 1):
            upper, lower = (list(self._flow(side, count)) for side in sides)
            if max(word.x + word.width for word in (*upper, *lower)) <= self.room:
                break
        return _turned(upper, self.room), _turned(lower, self.room)

    def _flow(self, words: Sequence[str], count: int) -> Iterator[_Word]:
        widths = [self.page.width(word, self.letters) + GAP * self.letters for word in words]
        begun, line, x = 0.0, 0, 0.0
        for label, width in zip(words, widths, strict=True):
            if (now := int(count * begun / sum(widths))) > line:
                line, x = now, 0.0
            yield _Word(label, x, line, width - GAP * self.letters)
            begun, x = begun + width, x + width

    def read(self) -> None:
        """Draw the words that are attended to."""
        for s, word in enumerate(self.upper):
            self._word(word, 0, MUTED if s in self.map.marks.source else TEXT)

    def wrote(self, places: Sequence[int]) -> None:
        """Draw the words that attend, those at `places`."""
        for t in places:
            self._word(self.lower[t], self.top, MUTED if t in self.map.marks.target else TEXT)

    def ribbons(self, only: int | None = None) -> None:
        """Draw the ribbons of all words, or those of one, which are darker."""
        rows = range(len(self.map.target)) if only is None else [only]
        links = sorted(
            (weight, s, t) for t in rows for s, weight in enumerate(self.map.weights[t]) if weight >= FAINTEST_LINK
        )
        self.page.curves(
            [self._ends(self.upper[s], self.lower[t]) for _, s, t in links],
            [(INK, resting(weight) if only is None else lit(weight)) for weight, _, _ in links],
            [thickness(weight, self.letters) for weight, _, _ in links],
            bend="upright",
        )

    def _ends(self, upper: _Word, lower: _Word) -> tuple[float, float, float, float]:
        """Return where a ribbon begins and ends: at the edges of the words that face each other."""
        down = 1 if upper.line <= lower.line else -1
        return (
            upper.x + upper.width / 2,
            self._middle(upper, 0) + 0.4 * down * self.line,
            lower.x + lower.width / 2,
            self._middle(lower, self.top) - 0.4 * down * self.line,
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
                y = self._middle(word, 0) - self.line / 2 - 0.35 * self.notes
                self.page.text(word.x + word.width / 2, y, share, 0.8 * self.notes, colour=MUTED, side="center")

    def key(self) -> None:
        """Name the lanes, grow the page for both, and add a note on letters that no font has."""
        bottom = self.step * (self.count - 1) + self.top + self.line
        self.page.box((-self.left, -self.notes, self.left + self.right, bottom + self.notes))
        for line in range(self.count):
            for name, top in zip(self.page.format.lanes, (0, self.top), strict=True):
                y = self.step * line + top + self.line / 2
                self.page.text(-self.left, y, name, self.notes, colour=MUTED)
        if self.page.boxes:
            self.page.text(-self.left, bottom + self.notes, UNKNOWN, self.notes, colour=MUTED)

    def _word(self, word: _Word, top: float, colour: str) -> None:
        if self.count > 1:  # ribbons pass behind the words of other lines
            self._box(word, top, "#ffffff")
        self.page.text(word.x, self._middle(word, top), word.label, self.letters, colour=colour)

    def _middle(self, word: _Word, top: float) -> float:
        return self.step * word.line + top + self.line / 2

    def _box(self, word: _Word, top: float, fill: str, edge: str | None = None) -> None:
        around, height = 0.22 * self.letters, 1.35 * self.letters
        box = (word.x - around, self._middle(word, top) - height / 2, word.width + 2 * around, height)
        corner = 0.3 * self.letters
        self.page.box(box, fill=fill, edge=edge, line=0.06 * self.letters, corner=corner, counts=False)


def _turned(words: list[_Word], room: float) -> list[_Word]:
    """Return the words of a lane, from the right if its text runs to the left."""
    if not text_width.runs_left(tuple(word.label for word in words)):
        return words
    right = room if words[-1].line else words[-1].x + words[-1].width
    return [word._replace(x=right - word.x - word.width) for word in words]

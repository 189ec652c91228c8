"""Heads as curves between words, like figures 3 to 5 of Vaswani et al. 2017, arXiv:1706.03762.

Attended words are at the left, attending words at the right. A curve's opacity is its weight, and the strongest one of
each attending word is bold. Each of several heads has a color from a palette for color-blind readers, and from the
ninth head on also a dash pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from saccade.errors import ShapeError
from saccade.look import terminal, text_width
from saccade.look.canvas import Sheet, sheet
from saccade.look.design import FAINTEST_LINK, INK, MUTED, TEXT
from saccade.look.figure import UNKNOWN, check_content
from saccade.look.map import Map
from saccade.look.output import Format

__all__ = ["check_heads", "draw_arcs", "head_names", "save_arcs"]

# after Okabe and Ito, without the yellow, which is too faint on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0528a", "#56b4e9", "#e69f00", "#4d4d4d", "#7a5c00")
DASHES = ("-", (0, (4, 2.5)), (0, (1, 2)))
LINE = 1.6
"""The height of a line, in letters."""
PLAIN, BOLD = 0.11, 0.24
"""The width of a curve, and of the strongest one of a word, in letters."""
WORTH_NAMING = 0.1
"""In the terminal, weights after a word's first are listed from here on."""


def check_heads(heads: Sequence[Map]) -> None:
    """Raise ShapeError if there are no heads, or if they have different words."""
    if not heads:
        raise ShapeError("there are 0 heads to draw. Pass a map for each.")
    for number, map in enumerate(heads):
        check_content(map, len(heads))
        if (map.source, map.target) != (heads[0].source, heads[0].target):
            raise ShapeError(f"head {number + 1} has other words than head 1. Pass the heads of one sentence.")


def save_arcs(
    heads: Sequence[Map],
    path: Path | str,
    *,
    title: str | None = None,
    names: Sequence[str] | None = None,
    format: Format | None = None,
) -> None:
    """Write the heads as curves, in the format of the suffix of `path`; `names` default to the heads' numbers."""
    with sheet(path, format or Format(title)) as page:
        check_heads(heads)
        drawn = _Arcs(page, heads[0], [page.label(name) for name in names or head_names(len(heads))])
        drawn.words()
        for number, map in enumerate(heads):
            drawn.head(map, number)
        drawn.key()


def head_names(count: int) -> list[str]:
    """Return the names of heads, which count from 1 as on the explorer page."""
    return [f"head {number + 1}" for number in range(count)]


class _Arcs:
    """Two columns of words with room for curves between them."""

    def __init__(self, page: Sheet, map: Map, names: Sequence[str]) -> None:
        self.page, self.map, self.names = page, map, names
        self.letters, self.notes = page.size.letters, page.size.notes
        self.line, self.lines = LINE * self.letters, max(len(map.source), len(map.target))
        sides = [max(page.width(page.label(word), self.letters) for word in side) for side in (map.source, map.target)]
        self.left = -sides[0] - 0.8 * self.letters
        most = page.size.widths[0] + self.left - sides[1] - 1.6 * self.letters
        self.reach = max(8 * self.letters, min(24 * self.letters, 1.3 * self.letters * self.lines, most))

    def words(self) -> None:
        page, beside = self.page, 0.8 * self.letters
        page.text(-beside, -0.7 * self.line, page.format.lanes[0].lower(), self.notes, colour=MUTED, side="right")
        page.text(self.reach + beside, -0.7 * self.line, page.format.lanes[1].lower(), self.notes, colour=MUTED)
        for s, word in enumerate(self.map.source):
            colour = MUTED if s in self.map.marks.source else TEXT
            page.text(-beside, self._middle(s), page.label(word), self.letters, colour=colour, side="right")
        for t, word in enumerate(self.map.target):
            colour = MUTED if t in self.map.marks.target else TEXT
            page.text(self.reach + beside, self._middle(t), page.label(word), self.letters, colour=colour)

    def _middle(self, place: int) -> float:
        return self.line * (place + 0.5)

    def head(self, map: Map, number: int) -> None:
        """Draw the curves of a head, weak ones first; shift each head down a little so that heads do not overlap."""
        count = len(self.names)
        lower = (number - (count - 1) / 2) * min(0.15 * self.letters, 0.9 * self.letters / count)
        drawn = sorted(
            (weight, t, s) for t, row in enumerate(map.weights) for s, weight in enumerate(row)
            if weight >= FAINTEST_LINK
        )  # fmt: skip
        best = [map.strongest(t)[0] for t in range(len(map.target))]
        self.page.curves(
            [(-3.0, self._middle(s) + lower, self.reach + 3, self._middle(t) + lower) for _, t, s in drawn],
            [(self._colour(number), weight) for weight, _, _ in drawn],
            [self._width(best[t] == s) for _, t, s in drawn],
            dashes=DASHES[number // len(COLOURS) % len(DASHES)],
        )

    def _colour(self, number: int) -> str:
        return INK if len(self.names) == 1 else COLOURS[number % len(COLOURS)]

    def _width(self, bold: bool) -> float:
        """Return the width of a curve; many heads have thinner ones, so that they stand beside each other."""
        return self.letters * (BOLD if bold else PLAIN) * min(1.0, 5 / len(self.names))

    def key(self) -> None:
        """Draw the legend below: the color of each head, and the threshold for drawing a curve."""
        page, notes = self.page, self.notes
        top, labels = self.line * self.lines + 1.4 * notes, self.names if len(self.names) > 1 else []
        step = max((page.width(label, notes) for label in labels), default=0) + 4.5 * notes
        across = max(1, int((self.reach - 2 * self.left) // step))
        for number, label in enumerate(labels):
            x, y = self.left + step * (number % across), top + 1.6 * notes * (number // across)
            dashes = DASHES[number // len(COLOURS) % len(DASHES)]
            page.curves([(x, y, x + 2.1 * notes, y)], [(self._colour(number), 1.0)], [self._width(True)], dashes=dashes)
            page.box((x, y, 2.1 * notes, 1))
            page.text(x + 2.8 * notes, y, label, notes, colour=MUTED)
        if page.boxes:
            below = top + 1.6 * notes * -(-len(labels) // across)
            page.text(self.left, below, UNKNOWN, notes, colour=MUTED)


def draw_arcs(heads: Sequence[Map], *, width: int | None = None, names: Sequence[str] | None = None) -> str:
    """Return text for a terminal: a line for each word with its highest weights, as in "zone ← Area 97 % (head 2)".

    A line names at most three source words, of any head, and as many as fit into `width`.
    """
    check_heads(heads)
    names = names or head_names(len(heads))
    sources = [
        text_width.kept_in_order(name) for name in text_width.numbered(terminal.label(word) for word in heads[0].source)
    ]
    targets = [text_width.kept_in_order(terminal.label(word)) for word in heads[0].target]
    margin = max(text_width.width(word) for word in targets)
    lines = []
    for t, target in enumerate(targets):
        links = [(-weight, number, s) for number, map in enumerate(heads) for s, weight in enumerate(map.weights[t])]
        best = [link for rank, link in enumerate(sorted(links)[:3]) if rank == 0 or -link[0] >= WORTH_NAMING]
        parts = [f"{sources[s]} {text_width.percent(-weight)} ({names[number]})" for weight, number, s in best]
        beginning = f"{text_width.pad_left(target, margin)} ← "
        while width is not None and len(parts) > 1 and text_width.width(beginning + ", ".join(parts)) > width:
            parts.pop()
        line = beginning + ", ".join(parts)
        lines.append(line if width is None else text_width.clip(line, width))
    return "\n".join(lines)

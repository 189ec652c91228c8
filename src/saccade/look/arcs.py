"""Heads as lines between words, like figures 3 to 5 of Vaswani et al. 2017, arXiv:1706.03762.

The attending words are at the left, the attended words at the right. A line's opacity is its weight. Each head has a
color from a palette for color-blind readers, and from the ninth head on also a dash pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from saccade.errors import ShapeError
from saccade.look import terminal, text_width
from saccade.look.canvas import INK, MUTED, Sheet, sheet
from saccade.look.figure import NOTES, UNKNOWN, check_content
from saccade.look.map import Map

__all__ = ["check_heads", "draw_arcs", "save_arcs"]

# after Okabe and Ito, without the yellow, which is too faint on white
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0528a", "#56b4e9", "#e69f00", "#4d4d4d", "#7a5c00")
DASHES = ("-", (0, (4, 2.5)), (0, (1, 2)))
SIZE = 10.5
LINE = 17.0
FAINTEST = 0.02
"""Lower weights are not drawn: thousands of invisible lines make a file too large to open."""
WORTH_NAMING = 0.1
"""In the terminal, weights after a word's first are listed from here on."""


def check_heads(heads: Sequence[Map]) -> None:
    """Raise ShapeError if there are no heads, or if they have different words."""
    if not heads:
        raise ShapeError("there are 0 heads to draw. Pass a map for each.")
    for number, map in enumerate(heads):
        check_content(map, len(heads))
        if (map.source, map.target) != (heads[0].source, heads[0].target):
            raise ShapeError(f"head {number} has other words than head 0. Pass the heads of one sentence.")


def save_arcs(
    heads: Sequence[Map], path: Path | str, *, title: str | None = None, names: Sequence[str] | None = None
) -> None:
    """Write the heads as lines, in the format of the suffix of `path`; `names` default to the heads' numbers."""
    with sheet(path) as page:
        check_heads(heads)
        names = names or [f"head {number}" for number in range(len(heads))]
        reach = max(130.0, min(260.0, 14.0 * max(len(heads[0].source), len(heads[0].target))))
        _columns(page, heads[0], reach)
        for number, map in enumerate(heads):
            _head(page, map, number, len(heads), reach)
        if title:
            side = max(page.width(page.label(word), SIZE) for word in heads[0].target) + 8
            page.text(-side, -34, page.label(title, 90), 12, bold=True)
        _key(page, names, LINE * max(len(heads[0].source), len(heads[0].target)) + 10, reach)


def _columns(page: Sheet, map: Map, reach: float) -> None:
    page.text(-8, -12, "word", NOTES, colour=MUTED, side="right")
    page.text(reach + 8, -12, "attends to", NOTES, colour=MUTED)
    for t, word in enumerate(map.target):
        colour = MUTED if t in map.marks.target else INK
        page.text(-8, _middle(t), page.label(word), SIZE, colour=colour, side="right")
    for s, word in enumerate(map.source):
        colour = MUTED if s in map.marks.source else INK
        page.text(reach + 8, _middle(s), page.label(word), SIZE, colour=colour)


def _middle(place: int) -> float:
    return LINE * (place + 0.5)


def _head(page: Sheet, map: Map, number: int, heads: int, reach: float) -> None:
    """Draw the lines of a head, weak ones first; shift each head down a little so that heads do not overlap."""
    lower = (number - (heads - 1) / 2) * min(1.6, (LINE - 7) / heads)
    drawn = [(weight, t, s) for t, row in enumerate(map.weights) for s, weight in enumerate(row) if weight >= FAINTEST]
    ends = [(-3.0, _middle(t) + lower, reach + 3, _middle(s) + lower) for _, t, s in sorted(drawn)]
    colours = [(COLOURS[number % len(COLOURS)], min(1.0, weight)) for weight, _, _ in sorted(drawn)]
    page.lines(ends, colours, DASHES[number // len(COLOURS) % len(DASHES)])


def _key(page: Sheet, names: Sequence[str], top: float, reach: float) -> None:
    """Draw the legend below: the color of each head, and the threshold for drawing a line."""
    labels = [page.label(name) for name in names]
    step = max(page.width(label, NOTES) for label in labels) + 34
    across = max(1, int((reach + 140) // step))
    for number, label in enumerate(labels if len(labels) > 1 else []):
        x, y = -60 + step * (number % across), top + 12 * (number // across)
        dash = DASHES[number // len(COLOURS) % len(DASHES)]
        page.lines([(x, y, x + 16, y)], [(COLOURS[number % len(COLOURS)], 1.0)], dash)
        page.box((x, y, 16, 1))
        page.text(x + 21, y, label, NOTES, colour=MUTED)
    below = top + (12 * ((len(labels) - 1) // across + 1) if len(labels) > 1 else 0)
    note = f"the more opaque a line, the higher the weight; below {text_width.percent(FAINTEST)} none is drawn"
    page.text(-60, below + 2, note, NOTES, colour=MUTED)
    if page.boxes:
        page.text(-60, below + 14, UNKNOWN, NOTES, colour=MUTED)


def draw_arcs(heads: Sequence[Map], *, width: int | None = None, names: Sequence[str] | None = None) -> str:
    """Return text for a terminal: a line for each word with its highest weights, as in "zone ← Area 97 % (head 2)".

    A line names at most three source words, of any head, and as many as fit into `width`.
    """
    check_heads(heads)
    names = names or [f"head {number}" for number in range(len(heads))]
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

"""A long source as running text, shaded by the attention of all target words together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from saccade.errors import ShapeError
from saccade.look import terminal, text_width
from saccade.look.canvas import Sheet, shade, sheet
from saccade.look.design import FAINTEST, MUTED, TEXT
from saccade.look.figure import key
from saccade.look.map import Map
from saccade.look.output import Format
from saccade.look.reading import DARK, LINE, PAD, painted, wrapped

__all__ = ["coverage", "draw_long", "draw_passage", "runs_on", "save_passage"]

LONG = 30
"""Words; a longer source is shown as running text if its matrix is too wide."""
MOST = 10_000
"""Maximum words of a figure, on both sides together; more take minutes to draw."""


def coverage(map: Map) -> list[float]:
    """Return for each source word the sum of the attention of all target words, up to 1."""
    return [min(1.0, sum(column)) for column in zip(*map.weights, strict=True)]


def runs_on(map: Map, width: int | None) -> bool:
    """Return whether `draw_long` shows the source as running text, which then needs no other place to be read."""
    return len(map.source) > LONG and terminal.draw(map, width=width) == "\n".join(terminal.strongest(map, width))


def draw_long(map: Map, *, width: int | None = None, colour: bool = False) -> str:
    """Return the matrix as text; if it is too wide and the source long, the passage instead."""
    drawn = terminal.draw(map, width=width, colour=colour)
    if not runs_on(map, width):
        return drawn
    return draw_passage(map, width=width, colour=colour)


def draw_passage(map: Map, *, width: int | None = None, colour: bool = False) -> str:
    """Return the source as running text for a terminal, shaded by coverage, and a line for each target word."""
    make = painted if colour else _shaded
    words = [text_width.kept_in_order(terminal.label(word)) for word in map.source]
    passage = wrapped([make(word, weight) for word, weight in zip(words, coverage(map), strict=True)], width, indent="")
    return "\n".join([*(line.rstrip() for line in passage), "", *terminal.strongest(map, width)])


def save_passage(map: Map, path: Path | str, *, title: str | None = None, format: Format | None = None) -> None:
    """Write the source as running text, shaded by coverage, and each target word above its strongest source word."""
    with sheet(path, format or Format(title)) as page:
        _check(map)
        bottom = _draw_source(page, map)
        key(page, 0, _draw_target(page, map, bottom + 2 * page.size.letters) + 8)


def _draw_source(page: Sheet, map: Map) -> float:
    """Draw the shaded text, and return the y coordinate of its end."""
    letters = page.size.letters
    line, pad, labels = LINE * letters, PAD * letters, [page.label(word) for word in map.source]
    widths = [page.width(label, letters) + 2 * pad for label in labels]
    places = _flow(page, widths, 0.5 * pad, left=text_width.runs_left(map.source))
    for s, ((x, row), weight) in enumerate(zip(places, coverage(map), strict=True)):
        y, width, height = row * line, widths[s], line - pad
        colour = MUTED if s in map.marks.source else TEXT
        if weight >= FAINTEST:
            page.box((x, y, width, height), fill=shade(weight), corner=pad, counts=False)
            colour = "#ffffff" if weight >= DARK else TEXT if weight >= 0.3 else colour
        page.text(x + width / 2, y + height / 2, labels[s], letters, colour=colour, side="center", counts=False)
    return _grow(page, widths, places, line)


def _draw_target(page: Sheet, map: Map, top: float) -> float:
    """Draw each target word with its strongest source word below it, and return the y coordinate of the end."""
    letters, notes = page.size.letters, page.size.notes
    line, labels = LINE * letters + 1.6 * notes, [page.label(word) for word in map.target]
    below = [_strongest(page, map, t) for t in range(len(labels))]
    widths = [
        max(page.width(label, letters), page.width(note, notes)) + PAD * letters
        for label, note in zip(labels, below, strict=True)
    ]
    places = _flow(page, widths, letters, left=text_width.runs_left(map.target))
    for t, (x, row) in enumerate(places):
        y, middle = top + row * line, x + widths[t] / 2
        colour = MUTED if t in map.marks.target else TEXT
        page.text(middle, y + letters / 2, labels[t], letters, colour=colour, side="center", counts=False)
        page.text(middle, y + 1.4 * letters + notes / 2, below[t], notes, colour=MUTED, side="center", counts=False)
    return _grow(page, widths, places, line, top)


def _strongest(page: Sheet, map: Map, t: int) -> str:
    (best,) = map.strongest(t)
    return f"← {page.label(map.source[best])} {text_width.percent(map.weights[t][best])}"


def _flow(page: Sheet, widths: Sequence[float], gap: float, *, left: bool) -> list[tuple[float, int]]:
    """Return the x coordinate and the line of each word; `left`: the text runs from right to left."""
    places = list(_places(widths, gap, page.size.widths[-1]))
    if not left:
        return places
    right = max(x + width for (x, _), width in zip(places, widths, strict=True))
    return [(right - x - width, row) for (x, row), width in zip(places, widths, strict=True)]


def _places(widths: Sequence[float], gap: float, room: float) -> Iterator[tuple[float, int]]:
    x, row = 0.0, 0
    for width in widths:
        if x + width > room and x > 0:
            x, row = 0.0, row + 1
        yield x, row
        x += width + gap


def _grow(
    page: Sheet, widths: Sequence[float], places: Sequence[tuple[float, int]], line: float, top: float = 0.0
) -> float:
    """Grow the page for a whole text at once, which is faster than word by word; return the y coordinate of its end."""
    right = max(x + width for (x, _), width in zip(places, widths, strict=True))
    height = line * (places[-1][1] + 1)
    page.box((0, top, right, height))
    return top + height


def _check(map: Map) -> None:
    count = len(map.source) + len(map.target)
    if not map.source or not map.target:
        raise ShapeError("there is nothing to draw: a figure needs a word on each side.")
    if count > MOST:
        raise ShapeError(
            f"a figure has at most {MOST:,} words, but this one would have {count:,}. Save a page (.html), which has "
            "room for all."
        )


def _shaded(word: str, weight: float) -> str:
    return f"{terminal.shade(weight).strip()}{word}"

"""A long source as running text for a terminal, shaded by the attention of all target words together."""

from __future__ import annotations

from saccade.look import terminal, text_width
from saccade.look.map import Map
from saccade.look.reading import painted, wrapped

__all__ = ["draw_long", "runs_on"]

LONG = 30
"""Words; a longer source is shown as running text if its matrix is too wide."""


def runs_on(map: Map, width: int | None) -> bool:
    """Return whether `draw_long` shows the source as running text, which then needs no other place to be read."""
    return len(map.source) > LONG and terminal.draw(map, width=width) == "\n".join(terminal.strongest(map, width))


def draw_long(map: Map, *, width: int | None = None, colour: bool = False) -> str:
    """Return the matrix as text; if it is too wide and the source long, the source and a line for each target word.

    Each source word is shaded by its coverage: the sum of the attention of all target words, up to 1.
    """
    drawn = terminal.draw(map, width=width, colour=colour)
    if not runs_on(map, width):
        return drawn
    covered = [min(1.0, sum(row[s] for row in map.weights)) for s in range(len(map.source))]
    make = painted if colour else _shaded
    words = [text_width.kept_in_order(terminal.label(word)) for word in map.source]
    passage = wrapped([make(word, weight) for word, weight in zip(words, covered, strict=True)], width, indent="")
    return "\n".join([*(line.rstrip() for line in passage), "", drawn])


def _shaded(word: str, weight: float) -> str:
    return f"{terminal.shade(weight).strip()}{word}"

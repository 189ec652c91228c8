"""FigureSpec: which figure of attention weights to draw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from saccade.errors import unknown_name
from saccade.look.map import Link

__all__ = ["STYLES", "FigureSpec"]

STYLES = ("matrix", "overlay", "reading", "arcs", "heads", "points")


@dataclass(frozen=True)
class FigureSpec:
    """The choice of a figure."""

    style: str | None = None
    """One of `STYLES`; by default an overlay if the source is an image, else a matrix."""
    site: str | None = None
    """An attention site. By default, a matrix or an overlay shows the mean of the sites that attend to the source.
    `heads` of words shows all of them, and the other styles show the last site that fits."""
    head: int | None = None
    words: bool = True
    """Whether subwords are folded to words."""
    gold: Iterable[Link] = ()
    """Gold links (source word, target word), outlined in a matrix or overlay. In an image, source words are regions."""
    sinks: bool = True
    """Whether begin and end tokens and punctuation are shown."""

    def __post_init__(self) -> None:
        if self.style is not None and self.style not in STYLES:
            raise unknown_name("figure", self.style, STYLES)

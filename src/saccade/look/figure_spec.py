"""FigureSpec: which figure of attention weights to draw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from saccade.errors import unknown_name
from saccade.look.design import SIZES
from saccade.look.map import Link

__all__ = ["STYLES", "FigureSpec"]

STYLES = ("matrix", "overlay", "ribbons", "steps", "reading", "arcs", "heads", "points", "passage", "sound", "glimpses")


@dataclass(frozen=True)
class FigureSpec:
    """The choice of a figure."""

    style: str | None = None
    """One of `STYLES`; by default `glimpses` for a model of glimpses, an overlay if the source is another
    image, `sound` if it is one, else a matrix."""
    site: str | None = None
    """An attention site. By default, the `default_site` of the attention, or the last one that attends to the source,
    as on the explorer page; `heads` of words shows all of them, and `reading` the last one with self-attention."""
    head: int | None = None
    """An attention head, counted from 0; by default, their mean. Figures count layers and heads from 1."""
    words: bool = True
    """Whether subwords are folded to words."""
    gold: Iterable[Link] = ()
    """Gold links (source word, target word), outlined in a matrix or overlay. In an image, source words are regions."""
    sinks: bool = True
    """Whether begin and end tokens and punctuation are shown."""
    size: str = "screen"
    """The size of type and page: `screen`; `paper` for a column of a paper (8 to 9 points) or the width of two; `slide`
    for a page of 16:9 with large type."""
    outline: bool = False
    """Whether an SVG has the outlines of letters instead of text, so that it needs no font."""

    def __post_init__(self) -> None:
        if self.style is not None and self.style not in STYLES:
            raise unknown_name("figure", self.style, STYLES)
        if self.size not in SIZES:
            raise unknown_name("size", self.size, SIZES)

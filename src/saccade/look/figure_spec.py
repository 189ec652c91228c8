"""View: what to draw of an attention, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from saccade.errors import unknown_name
from saccade.look.map import Link

__all__ = ["STYLES", "View"]

STYLES = ("matrix", "overlay", "reading", "arcs", "heads")


@dataclass(frozen=True)
class View:
    """A picture to be drawn."""

    style: str | None = None
    """One of `STYLES`; left out, an overlay of what looks at a picture and a matrix of all else."""
    site: str | None = None
    """A place in the model; left out, those that fit: their mean in a matrix or an overlay, all in `heads` of words,
    else the last of them."""
    head: int | None = None
    words: bool = True
    """Whether pieces are folded to words."""
    gold: Iterable[Link] = ()
    """Links of words, source first; they are outlined in a matrix. A picture's source words are its regions."""
    sinks: bool = True
    """Whether beginning, end and punctuation are shown."""

    def __post_init__(self) -> None:
        if self.style is not None and self.style not in STYLES:
            raise unknown_name("picture", self.style, STYLES)

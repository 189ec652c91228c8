"""Example: one line of a corpus; Links: which of its words belong together; Picture: an image yet to be opened."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from saccade.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Box", "Example", "Link", "Links", "Picture"]

Link = tuple[int, int]
"""A source word and a target word, both counted from 0."""

Box = tuple[float, float, float, float]
"""A region of a picture, (x0, y0, x1, y1) in fractions of its width and height; (0, 0) is the top left corner."""


@dataclass(frozen=True)
class Links:
    """A gold word alignment. Words are what spaces separate.

    `sure` links are beyond doubt; `possible` ones may be left out without fault, and include the sure ones.
    """

    sure: frozenset[Link]
    maybe: frozenset[Link] = frozenset()

    @cached_property
    def possible(self) -> frozenset[Link]:
        """The sure links and those that are only possible."""
        return self.sure | self.maybe

    @classmethod
    def parse(cls, text: str, where: str = "alignment", base: int = 0) -> Links:
        """Pharaoh's form: `0-0 1-2S 3-4P`; S, or nothing, is sure, P possible, and so is `3p4`.

        `base` is the number of the first word: alignments made by hand often count from 1.
        """
        sure: set[Link] = set()
        maybe: set[Link] = set()
        for entry in text.split():
            match = _LINK.fullmatch(entry)
            if match is None:
                raise DataError(f"{where}: {entry!r} is no link. Write source-target, as in 0-0 1-2S 3-4P or 3p4.")
            source, target = int(match[1]) - base, int(match[2] or match[4]) - base
            if min(source, target) < 0:
                raise DataError(f"{where}: {entry!r} lies before the first word, which has the number {base} here.")
            (maybe if match[3] == "P" or match[4] else sure).add((source, target))
        return cls(frozenset(sure), frozenset(maybe - sure))

    def __str__(self) -> str:
        entries = [(*link, "") for link in self.sure] + [(*link, "P") for link in self.maybe - self.sure]
        return " ".join(f"{source}-{target}{mark}" for source, target, mark in sorted(entries))


_LINK = re.compile(r"(\d{1,9})(?:-(\d{1,9})([SP]?)|p(\d{1,9}))")


class Picture(Protocol):
    """Where a picture is: a file, a member of an archive, or a scene that is drawn. Opened only when it is needed."""

    @property
    def name(self) -> str:
        """What messages call it."""

    def load(self) -> NDArray[np.uint8]:
        """The picture as it stands, (height, width, 3); a DataError where it is missing or broken."""

    def stamp(self) -> list[Any]:
        """What changes whenever the picture does, as plain data."""


@dataclass(frozen=True)
class Example:
    """One line: a source and its target, a text alone (`target`), a text (`source`) with its label, or a caption.

    For captioning, `target` is one caption of the `image` and `references` are all of them; the examples of an image
    follow each other. `boxes` has an entry for every word of the target: the region it came from, or None.
    """

    source: str | None = None
    target: str | None = None
    label: str | None = None
    links: Links | None = None
    image: Picture | None = None
    references: tuple[str, ...] = ()
    boxes: tuple[Box | None, ...] | None = None

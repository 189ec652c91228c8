"""Example: one line of a corpus; Links: which of its words belong together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from saccade.errors import DataError

__all__ = ["Example", "Link", "Links"]

Link = tuple[int, int]
"""A source word and a target word, both counted from 0."""


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


@dataclass(frozen=True)
class Example:
    """One line: a source and its target, a text alone (`target`), or a text (`source`) with its label."""

    source: str | None = None
    target: str | None = None
    label: str | None = None
    links: Links | None = None

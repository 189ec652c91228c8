"""Example: one line of a corpus. Links: its gold word alignment.

Picture, Recording: an image or a sound that is opened only when needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from saccade.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from saccade.data.sounds import Sound

__all__ = ["Box", "Example", "Link", "Links", "Picture", "Recording", "Span", "Time"]

Link = tuple[int, int]
"""(source word, target word), both counted from 0."""

Span = tuple[int, int]
"""(begin, end): characters of a text, counted from 0; the end is not included."""

Box = tuple[float, float, float, float]
"""A region of an image, (x0, y0, x1, y1) in fractions of its width and height; (0, 0) is the top left corner."""


Time = tuple[float, float]
"""A part of a sound, (begin, end) in seconds."""


@dataclass(frozen=True)
class Links:
    """A gold word alignment. Words are separated by spaces.

    `sure` links are certain. A model may omit `possible` links without error; they include the sure ones.
    """

    sure: frozenset[Link]
    maybe: frozenset[Link] = frozenset()

    @cached_property
    def possible(self) -> frozenset[Link]:
        """The sure links, and those that are only possible."""
        return self.sure | self.maybe

    @classmethod
    def parse(cls, text: str, where: str = "alignment", base: int = 0) -> Links:
        """Parse Pharaoh format, `0-0 1-2S 3-4P`: S or no letter is sure, P is possible, and so is `3p4`.

        `base` is the number of the first word: manual alignments often count from 1.
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
    """An image that is opened only when needed: a file, a member of an archive, or a scene to draw."""

    @property
    def name(self) -> str:
        """The name in messages."""

    def load(self) -> NDArray[np.uint8]:
        """Load the image at its own size, (height, width, 3); raise DataError if it is missing or broken."""

    def stamp(self) -> list[Any]:
        """Return plain data that changes whenever the image does."""


class Recording(Protocol):
    """A sound that is opened only when needed: a `Sound` in memory, a file, joined files, or an utterance to speak."""

    @property
    def name(self) -> str:
        """The name in messages."""

    def load(self) -> Sound:
        """Load the sound at its own rate; raise DataError if it is missing or broken."""

    def stamp(self) -> list[Any]:
        """Return plain data that changes whenever the sound does."""


@dataclass(frozen=True)
class Example:
    """One example of a corpus. A form of data (see `forms`) sets some of the fields.

    - A text and its translation or summary: `source`, `target`; a text alone: `target`; a text with a class: `source`,
      `label`.
    - Captioning: `target` is one caption of the `image`, `references` are all. The examples of an image are
      consecutive.
    - Question answering: `source` is the passage, `target` the first answer, "" if the question has none. The examples
      of a passage are consecutive.
    - Dialogue: `target` is the reply to `turns`. The examples of a dialogue are consecutive.
    - Speech recognition: `target` is what is said in the `sound`. Speech translation: `source` is what is said,
      `target` its translation.
    """

    source: str | None = None
    target: str | None = None
    label: str | None = None
    links: Links | None = None
    """Gold alignment. In a dialogue it counts the source words of all turns, one turn after the other."""
    image: Picture | None = None
    references: tuple[str, ...] = ()
    """All captions of the image, all summaries of the text, or the answers of all annotators."""
    boxes: tuple[Box | None, ...] | None = None
    """For every word of a caption: the region that it describes, or None."""
    question: str | None = None
    """A question about the passage."""
    spans: tuple[Span, ...] = ()
    """Where in the passage the acceptable answers are, one for each of `references`; none if there is no answer."""
    evidence: tuple[Span, ...] = ()
    """Where in the passage the sentences are that the answer follows from: gold attention."""
    title: str | None = None
    """The title of the text, which training may use as a further target."""
    asked: str | None = None
    """Which text about the source the target is, if it is not the one that the task writes."""
    turns: tuple[str, ...] = ()
    """History of a dialogue, oldest turn first. Two speakers alternate; the last turn is the one to answer."""
    sound: Recording | None = None
    times: tuple[Time, ...] = ()
    """When each word of `text` is said; the words are separated by spaces."""

    @classmethod
    def of(cls, given: Any, fields: Sequence[str]) -> Example:
        """Return the example of a tuple of some fields, such as (source, target); links may be text or left out."""
        if isinstance(given, Example):
            return given
        if not fields:
            raise DataError("examples of this task are not texts alone. Give saccade.data.example.Example objects.")
        values = dict(given) if isinstance(given, Mapping) else _by_name(given, fields)
        if isinstance(values.get("links"), str):
            values["links"] = Links.parse(values["links"], f"the links of {values}")
        wrong = [name for name, value in values.items() if name not in fields or not isinstance(value, str | Links)]
        missing = [name for name in fields if name not in values and name != "links"]
        if wrong or missing:
            raise DataError(f"an example is {str(given)[:80]!r}, but must be ({', '.join(fields)}), all of them texts.")
        return cls(**values)

    @property
    def text(self) -> str | None:
        """What is said in the sound: the source of a translation, otherwise the target."""
        return self.target if self.source is None else self.source


def _by_name(given: Any, fields: Sequence[str]) -> dict[str, Any]:
    parts = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    return dict(zip(fields, parts, strict=False)) if len(parts) <= len(fields) else {}

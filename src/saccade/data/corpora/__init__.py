"""Corpora that come with saccade: written by small programs, without end, with the true attention known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from saccade.data.corpora.english_french import english_french
from saccade.data.corpora.reading import reading
from saccade.data.corpora.scenes import scenes
from saccade.data.example import Example

__all__ = ["CORPORA", "Corpus", "Generate", "english_french", "reading", "scenes"]


class Generate(Protocol):
    """How every corpus is called."""

    def __call__(
        self, split: str, size: int | None, seed: int = 1, *, min_length: int = 3, max_length: int = 20
    ) -> Iterator[Example]:
        """The first `size` examples of a split."""


class Corpus(NamedTuple):
    """A corpus: its generator, what it is in one sentence, the task it is for, and the languages of its sides."""

    generate: Generate
    about: str
    task: str
    sides: tuple[str, ...]


CORPORA: dict[str, Corpus] = {
    "english-french": Corpus(
        english_french,
        "English sentences and their French translations with gold word alignments, from a bilingual grammar.",
        "translation",
        ("en", "fr"),
    ),
    "reading": Corpus(
        reading,
        "English sentences in which a late word must agree with a far earlier one, with gold links between the two.",
        "language",
        ("en",),
    ),
    "scenes": Corpus(
        scenes,
        "Pictures of handwritten digits and drawn shapes with captions, and the region that each word is about.",
        "captioning",
        ("en",),
    ),
}

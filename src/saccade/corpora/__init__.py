"""Corpora that come with saccade: written by small programs, without end, with the true attention known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from saccade.corpora.english_french import english_french
from saccade.corpora.reading import reading
from saccade.corpora.scenes import SMALLEST, scenes
from saccade.data.example import Example
from saccade.data.forms import CAPTIONS, PAIRS, TEXT, Form

__all__ = ["CORPORA", "Corpus", "Generate", "english_french", "reading", "scenes"]


Generate = Callable[..., Iterator[Example]]
"""generate(split, size, seed, *, min_length, max_length, **options): the first `size` examples of a split."""


class Corpus(NamedTuple):
    """A corpus: its generator, what it is in one sentence, the task and the form it is for, the languages of its sides.

    files: what it is kept as once it is written; none for one that is small until its images are drawn, which is kept
    in memory. options: what else the generator takes of a recipe's data settings.
    """

    generate: Generate
    about: str
    task: str
    form: Form
    sides: tuple[str, ...]
    files: tuple[str, ...] = ()
    options: Callable[[Any], dict[str, Any]] = lambda data: {}


CORPORA: dict[str, Corpus] = {
    "english-french": Corpus(
        english_french,
        "English sentences and their French translations with gold word alignments, from a bilingual grammar.",
        "translation",
        PAIRS,
        ("en", "fr"),
        ("text.en", "text.fr", "text.align"),
    ),
    "reading": Corpus(
        reading,
        "English sentences in which a late word must agree with a far earlier one, with gold links between the two.",
        "language",
        TEXT,
        ("en",),
        ("text.en",),
    ),
    "scenes": Corpus(
        scenes,
        "Pictures of handwritten digits and drawn shapes with captions, and the region that each word is about.",
        "captioning",
        CAPTIONS,
        ("en",),
        options=lambda data: {"canvas": max(SMALLEST, data.picture_size), "captions": data.captions},
    ),
}

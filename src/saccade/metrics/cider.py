"""CIDEr-D: similarity of a caption to its references by TF-IDF weighted n-grams."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from saccade.errors import DataError
from saccade.metrics.ngrams import Ngram, caption_words, ngrams

__all__ = ["DocumentFrequency", "agreement", "count_documents", "document_frequency"]

LONGEST = 4
"""Longest n-gram that is compared."""


@dataclass(frozen=True)
class DocumentFrequency:
    """Document frequencies: number of images that have an n-gram in any of their references.

    They usually come from the references of the evaluated images. For few images, or to compare scores between test
    sets, compute them once from a larger set with `document_frequency` and pass them in.
    """

    images: int
    counts: Mapping[Ngram, int]

    def __post_init__(self) -> None:
        if self.images < 1:
            raise DataError(f"the document frequencies are of {self.images} images, but need at least 1.")
        most = max(self.counts.values(), default=0)
        if most > self.images:
            raise DataError(
                f"the document frequencies count an n-gram in {most} images, but are of {self.images}. "
                "Count each image once, and give the number of all of them."
            )

    def weight(self, run: Ngram) -> float:
        """Return log(images / images that have it); an n-gram of no image counts as one of a single image."""
        return math.log(self.images) - math.log(max(1, self.counts.get(run, 0)))


def document_frequency(references: Sequence[Sequence[str]]) -> DocumentFrequency:
    """Count document frequencies in the references of some images, given as text: one list for each image."""
    return count_documents([[caption_words(text) for text in texts] for texts in references])


def count_documents(references: Sequence[Sequence[Sequence[str]]]) -> DocumentFrequency:
    """Count document frequencies in references that are split into words already."""
    counts: Counter[Ngram] = Counter()
    for captions in references:
        counts.update({run for words in captions for size in range(1, LONGEST + 1) for run in ngrams(words, size)})
    return DocumentFrequency(len(references), counts)


class Vector(NamedTuple):
    """The weighted n-grams of a caption, of one order."""

    weights: dict[Ngram, float]
    norm: float


def agreement(
    hypothesis: Sequence[str], references: Sequence[Sequence[str]], frequency: DocumentFrequency, sigma: float
) -> float:
    """Compute CIDEr-D of one image, from 0 to 10; see `captions.cider_d` for the formula."""
    mine, total = _vectors(hypothesis, frequency), 0.0
    for reference in references:
        near = math.exp(-((len(hypothesis) - len(reference)) ** 2) / (2 * sigma**2))
        pairs = zip(mine, _vectors(reference, frequency), strict=True)
        total += near * sum(_clipped_cosine(left, right) for left, right in pairs)
    return 10 * total / (LONGEST * len(references))


def _vectors(words: Sequence[str], frequency: DocumentFrequency) -> list[Vector]:
    vectors = []
    for size in range(1, LONGEST + 1):
        weights = {run: count * frequency.weight(run) for run, count in ngrams(words, size).items()}
        vectors.append(Vector(weights, math.sqrt(math.fsum(weight**2 for weight in weights.values()))))
    return vectors


def _clipped_cosine(hypothesis: Vector, reference: Vector) -> float:
    if not hypothesis.norm or not reference.norm:
        return 0.0
    shared = hypothesis.weights.keys() & reference.weights.keys()
    dot = math.fsum(min(hypothesis.weights[run], reference.weights[run]) * reference.weights[run] for run in shared)
    return dot / (hypothesis.norm * reference.norm)

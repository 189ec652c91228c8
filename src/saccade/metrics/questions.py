"""Answers to questions: exact match and F1, by the rules of SQuAD.

Both compare normalized answers: lower-case, without punctuation, without the articles a, an and the, with single
spaces. Of several acceptable answers, the best counts. A question without an acceptable answer wants an empty one.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError
from saccade.metrics.text import TextStatistics

__all__ = ["answer_scores", "normalized_answer", "word_f1"]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def answer_scores(answers: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, TextStatistics]:
    """Compute F1 and exact match from 0 to 100; `references` holds the acceptable answers of each question.

        P = common / words of the answer     R = common / words of the reference     F1 = 2·P·R / (P + R)

    Paper: Rajpurkar et al. 2016, arXiv:1606.05250.
    """
    if len(answers) != len(references):
        raise DataError(f"there are {len(answers)} answers, but references for {len(references)}. Give one each.")
    rows: dict[str, list[float]] = {"f1": [], "exact": []}
    for answer, texts in zip(answers, references, strict=True):
        found, wanted = normalized_answer(answer), [normalized_answer(text) for text in texts or [""]]
        rows["f1"].append(100 * max(word_f1(found.split(), text.split()) for text in wanted))
        rows["exact"].append(100.0 * (found in wanted))
    return {
        name: TextStatistics(_counts(values), _mean, f"{name}|squad|references:best") for name, values in rows.items()
    }


def normalized_answer(text: str) -> str:
    """Return an answer as SQuAD compares it."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def word_f1(found: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the harmonic mean of precision and recall of words, from 0 to 1."""
    if not found or not wanted:
        return float(found == wanted)
    common = sum((Counter(found) & Counter(wanted)).values())
    return 2 * common / (len(found) + len(wanted))


def _counts(values: Sequence[float]) -> NDArray[np.float64]:
    return np.stack([np.array(values, np.float64), np.ones(len(values))], 1)


def _mean(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0

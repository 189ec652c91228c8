"""Scores of answers to questions: exact match, F1, and attention to the supporting sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.example import Example, Span
from saccade.data.tokenizer import Tokenizer, words_of
from saccade.metrics import answer_scores, split_sentences
from saccade.prediction import AttentionMaps, Prediction
from saccade.tasks.base import Evaluation, Statistics

__all__ = ["evaluated", "question_word"]

QUESTION_WORDS = ("what", "who", "whom", "whose", "which", "when", "where", "why", "how")
_LOOKING = ("summary", "question")
"""Sides of rows that are hops: each attends to the passage before the answer is chosen."""


def evaluated(
    examples: Sequence[Example],
    predictions: Sequence[Prediction],
    *,
    pointed: bool = True,
    tokenizer: Tokenizer | None = None,
) -> Evaluation:
    """Score answers.

    `pointed`: whether they are parts of their passages. `tokenizer`, which made the passages' tokens, is needed only to
    score recorded attention.
    """
    references = [example.references or ((example.target,) if example.target else ()) for example in examples]
    scores = answer_scores([prediction.text for prediction in predictions], references)
    statistics = {name: Statistics(part.counts, part.score) for name, part in scores.items()}
    pairs = list(zip(predictions, examples, strict=True))
    if pointed:
        statistics["pointing"] = Statistics(np.array([_pointed(*pair) for pair in pairs], np.float64), _share)
    if tokenizer is not None:
        found, wanted = (
            np.array(part, np.float64) for part in zip(*(_looked(*p, tokenizer) for p in pairs), strict=True)
        )
        if wanted.any():
            statistics["support"] = Statistics(found, _share)
            statistics["support_precision"] = Statistics(wanted, _share)
    metrics = {name: part.value for name, part in statistics.items()}
    details = {"questions": len(examples), "signatures": {name: part.signature for name, part in scores.items()}}
    groups = {"question word": [question_word(example.question or "") for example in examples]}
    if any(example.evidence for example in examples):
        groups["sentences of evidence"] = [str(len(example.evidence)) for example in examples]
    lengths = [len(words_of(example.source or "")) for example in examples]
    return Evaluation(metrics, details, statistics, lengths, list(predictions), groups=groups)


def question_word(question: str) -> str:
    """Return the first question word of a question, or "other"."""
    words = "".join(letter if letter.isalpha() else " " for letter in question.lower()).split()
    return next((word for word in words if word in QUESTION_WORDS), "other")


def _pointed(prediction: Prediction, example: Example) -> tuple[float, float]:
    """Return whether the answer was found in a sentence that gives the right one, and 1 if the passage has one."""
    gold = _sentences(example)
    return float(prediction.span is not None and _is_in(prediction.span[0], gold)), float(bool(gold))


def _sentences(example: Example) -> list[Span]:
    """Return the sentences with an acceptable answer; of the evidence, if that is known."""
    text = example.source or ""
    known = example.evidence or tuple(_sentence(text, begin) for begin, _ in example.spans)
    return [part for part in known if any(part[0] <= begin < part[1] for begin, _ in example.spans)]


def _looked(prediction: Prediction, example: Example, tokenizer: Tokenizer) -> tuple[Any, Any]:
    """Count the sentences of the evidence that a hop attended to, and the hops that attended to one, with both totals.

    A hop attends to the token with its largest weight, the answer to its first token. Passages of several windows do
    not count.
    """
    (offsets,) = tokenizer.offsets([example.source or ""])
    maps = prediction.attention
    if not example.evidence or len(maps.source.tokens) != len(offsets) + 1:
        return (0, 0), (0, 0)
    hops = [offsets[place][0] if place < len(offsets) else -1 for place in _hops(maps)]
    places = hops if prediction.span is None else [*hops, prediction.span[0]]
    seen = sum(any(_is_in(place, [part]) for place in places) for part in example.evidence)
    return (seen, len(example.evidence)), (sum(_is_in(place, example.evidence) for place in hops), len(hops))


def _hops(maps: AttentionMaps) -> list[int]:
    """Return the token with the largest weight for each hop over the passage."""
    sites = [site for site, (rows, columns) in maps.between.items() if rows in _LOOKING and columns == "source"]
    return [int(place) for site in sites for place in maps.weights[site].mean(0).argmax(-1)]


def _is_in(place: int, sentences: Sequence[Span]) -> bool:
    return any(begin <= place < end for begin, end in sentences)


def _sentence(text: str, place: int) -> Span:
    """Return the sentence of a text that has a character."""
    end = 0
    for sentence in split_sentences(text):
        begin = text.index(sentence, end)
        end = begin + len(sentence)
        if end > place:
            return begin, end
    return end, len(text)


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0

"""Spans: the best answers in the probabilities of their first and last tokens, and the choice between them and none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Span", "best_spans", "no_answer", "ranked"]


class Span(NamedTuple):
    """An answer: its log-probability, its first and its last token; None for both if there is no answer."""

    score: float
    first: int | None
    last: int | None


def best_spans(
    logs: NDArray[np.float32], longest: int, count: int, *, first: int | None = None, last: int | None = None
) -> list[Span]:
    """Return the most likely answers, best first.

    logs (2, S + 1): log-probabilities of the first and of the last token; the last position means "no answer", which
    is left out here. `longest`: maximum tokens of an answer. `first` and `last` fix the answer's ends.
    """
    size = logs.shape[1] - 1
    scores = logs[0, :size, None] + logs[1, None, :size]
    rows, columns = np.indices(scores.shape)
    allowed = (columns >= rows) & (columns < rows + longest)
    if first is not None:
        allowed &= rows == first
    if last is not None:
        allowed = (columns == last) & (columns >= rows) & ((first is None) | (rows == first))
    scores = np.where(allowed, scores, -np.inf).ravel()
    best = np.argsort(-scores, kind="stable")[:count]
    return [Span(float(scores[place]), *divmod(int(place), size)) for place in best if scores[place] > -np.inf]


def no_answer(logs: NDArray[np.float32]) -> Span:
    """Return "no answer", with its log-probability."""
    return Span(float(logs[:, -1].sum()), None, None)


def ranked(found: Iterable[tuple[Span, int]], count: int, margin: float) -> list[tuple[Span, int]]:
    """Return the most likely of the answers in the parts of a passage, each with the number of its part.

    A passage has no answer only if none of its parts has one, so the least likely "no answer" counts. It has to be
    more likely than an answer by `margin` nats.
    """
    found = list(found)
    none = min((entry for entry in found if entry[0].first is None), default=None)
    answers = [entry for entry in found if entry[0].first is not None]
    both = answers if none is None else [*answers, none]
    return sorted(both, key=lambda entry: (margin if entry[0].first is None else 0) - entry[0].score)[:count]

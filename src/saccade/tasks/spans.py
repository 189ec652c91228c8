"""Spans: the best answers in the probabilities of their first and last tokens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Span", "best_spans"]


class Span(NamedTuple):
    """An answer: its log-probability, its first and its last token; None for both if there is no answer."""

    score: float
    first: int | None
    last: int | None


def best_spans(
    logs: NDArray[np.float32], longest: int, count: int, *, first: int | None = None, last: int | None = None
) -> list[Span]:
    """Return the most likely answers, best first.

    logs (2, S + 1): log-probabilities of the first and of the last token; the last position means "no answer".
    `longest`: maximum tokens of an answer. `first` and `last` fix the answer's ends.
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
    found = [Span(float(scores[place]), *divmod(int(place), size)) for place in best if scores[place] > -np.inf]
    if first is None and last is None:
        found.append(Span(float(logs[:, size].sum()), None, None))
    return sorted(found, key=lambda span: -span.score)[:count]

"""Forced alignment: where the predictions of CTC say each token of a known text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["ctc_spans"]

Floats = NDArray[np.float64]


def ctc_spans(logs: NDArray[np.floating], tokens: Sequence[int], blank: int = 0) -> list[tuple[int, int]] | None:
    """Return for each token its first key and the one after its last, on the most likely path of CTC.

    logs (S, V): log-probabilities of tokens at each key. A path is a token or a blank for each key; blanks and
    repetitions collapse to the text. Returns None if the text has more tokens than the keys have room for.
    Paper: Graves et al. 2006, "Connectionist temporal classification", with the maximum instead of the sum.
    """
    states = np.full(2 * len(tokens) + 1, blank)
    states[1::2] = tokens
    # a path may skip the blank between two different tokens
    skips = np.zeros(len(states), bool)
    skips[3::2] = states[3::2] != states[1:-2:2]
    scores = np.asarray(logs, np.float64)[:, states]
    best = np.full(len(states), -np.inf)
    best[:2] = scores[0, :2]
    moves = np.zeros(scores.shape, np.int64)
    for key in range(1, len(scores)):
        before = np.stack([best, _moved(best, 1), np.where(skips, _moved(best, 2), -np.inf)])
        moves[key] = before.argmax(0)
        best = before.max(0) + scores[key]
    state = len(states) - 1
    if len(states) > 1 and best[-2] > best[-1]:
        state -= 1
    if not np.isfinite(best[state]):
        return None
    path = [state]
    for key in range(len(scores) - 1, 0, -1):
        state -= int(moves[key, state])
        path.append(state)
    places = np.array(path[::-1])
    own = [np.flatnonzero(places == 2 * number + 1) for number in range(len(tokens))]
    return [(int(keys[0]), int(keys[-1]) + 1) for keys in own]


def _moved(values: Floats, by: int) -> Floats:
    """Return the values of the state `by` places before, -inf where there is none."""
    return np.concatenate([np.full(by, -np.inf), values])[: len(values)]

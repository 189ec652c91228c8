"""Forced alignment of CTC against all paths, and by hand."""

from itertools import product

import numpy as np
import pytest

from saccade.metrics import ctc_spans


def slow_spans(logs, tokens):
    """The spans of the likeliest of all paths that collapse to the tokens."""
    best, found = -np.inf, None
    for path in product(range(logs.shape[1]), repeat=len(logs)):
        runs = [place for place, token in enumerate(path) if token and (place == 0 or path[place - 1] != token)]
        if [path[place] for place in runs] != tokens:
            continue
        score = sum(logs[place, token] for place, token in enumerate(path))
        if score > best:
            ends = [next((n for n in range(p, len(path)) if path[n] != path[p]), len(path)) for p in runs]
            best, found = score, list(zip(runs, ends, strict=True))
    return found


@pytest.mark.parametrize("tokens", [[], [2], [1, 2], [2, 2], [1, 2, 1], [1, 1, 1]])
def test_the_alignment_is_the_likeliest_path(tokens):
    rng = np.random.default_rng(len(tokens))
    for _ in range(20):
        logs = np.log(rng.dirichlet(np.ones(3), size=5))
        assert ctc_spans(logs, tokens) == slow_spans(logs, tokens)


def test_a_text_that_does_not_fit_has_no_alignment():
    logs = np.log(np.full((2, 3), 1 / 3))
    assert ctc_spans(logs, [1, 1]) is None  # a repeated token needs a blank between
    assert ctc_spans(logs, [1, 2]) == [(0, 1), (1, 2)]

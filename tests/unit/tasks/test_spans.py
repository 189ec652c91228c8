"""The best answers are those with the greatest product of both probabilities, within the limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.spans import Span, best_spans


def reference(logs, longest, first=None, last=None):
    """All answers by two loops, best first."""
    size = logs.shape[1] - 1
    found = [
        Span(float(logs[0, i] + logs[1, j]), i, j)
        for i in range(size)
        for j in range(i, size)
        if (j < i + longest or last is not None) and (first is None or i == first) and (last is None or j == last)
    ]
    if first is None and last is None:
        found.append(Span(float(logs[0, size] + logs[1, size]), None, None))
    return sorted(found, key=lambda span: -span.score)


@given(st.integers(1, 9), st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_equal_to_two_loops(size, longest, count, seed):
    logs = np.random.default_rng(seed).normal(size=(2, size + 1)).astype(np.float32)
    expected, found = reference(logs, longest), best_spans(logs, longest, count)
    assert len(found) == min(count, len(expected))
    assert [span[1:] for span in found] == [span[1:] for span in expected[:count]]
    np.testing.assert_allclose([span.score for span in found], [span.score for span in expected[:count]], rtol=1e-6)


@given(st.integers(3, 8), st.integers(0, 2**32 - 1))
def test_fixed_ends(size, seed):
    logs = np.random.default_rng(seed).normal(size=(2, size + 1)).astype(np.float32)
    assert best_spans(logs, 3, 1, first=1)[0][1:] == reference(logs, 3, first=1)[0][1:]
    assert best_spans(logs, 1, 1, first=0, last=2)[0][1:] == (0, 2)  # an explicit answer may be longer
    assert best_spans(logs, 3, 1, last=1)[0][1:] == reference(logs, 3, last=1)[0][1:]


@pytest.mark.parametrize("null", [0.0, -50.0])
def test_no_answer_is_an_answer_with_its_own_probability(null):
    logs = np.array([[-1.0, -2.0, null], [-1.0, -2.0, null]], np.float32)
    (best,) = best_spans(logs, 5, 1)
    assert (best.first is None) == (null == 0.0)

"""The best answers are those with the greatest product of both probabilities, within the limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.tasks.spans import Span, best_spans, no_answer, ranked


def reference(logs, longest, first=None, last=None):
    """All answers by two loops, best first."""
    size = logs.shape[1] - 1
    found = [
        Span(float(logs[0, i] + logs[1, j]), i, j)
        for i in range(size)
        for j in range(i, size)
        if (j < i + longest or last is not None) and (first is None or i == first) and (last is None or j == last)
    ]
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


def test_no_answer_has_the_probability_of_the_last_position():
    logs = np.array([[-1.0, -2.0, -3.0], [-1.0, -2.0, -4.0]], np.float32)
    assert no_answer(logs) == Span(-7.0, None, None)
    assert all(span.first is not None for span in best_spans(logs, 5, 10))


ONE, OTHER, NONE = Span(-2.0, 0, 1), Span(-3.0, 4, 4), Span(-2.5, None, None)


@pytest.mark.parametrize(
    ("margin", "expected"),
    [(0.0, [ONE, NONE, OTHER]), (1.0, [ONE, OTHER, NONE]), (-0.4, [ONE, NONE, OTHER]), (-0.6, [NONE, ONE, OTHER])],
)
def test_no_answer_must_be_more_likely_by_the_margin(margin, expected):
    found = [(NONE, 0), (OTHER, 0), (ONE, 0)]
    assert [span for span, _ in ranked(found, 3, margin)] == expected
    assert [span for span, _ in ranked(found, 1, margin)] == expected[:1]


def test_a_passage_has_no_answer_only_if_none_of_its_parts_has_one():
    sure, unsure = Span(-0.1, None, None), Span(-4.0, None, None)
    assert ranked([(sure, 0), (unsure, 1), (ONE, 1)], 5, 0.0) == [(ONE, 1), (unsure, 1)]
    assert ranked([(sure, 0), (OTHER, 0), (Span(-0.2, None, None), 1)], 1, 0.0) == [(Span(-0.2, None, None), 1)]

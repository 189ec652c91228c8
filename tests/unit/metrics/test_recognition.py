"""Error rates and word times, by hand and against jiwer."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import DataError
from saccade.metrics import (
    course,
    edit_rate,
    edits,
    error_counts,
    monotonic_path,
    pointing_counts,
    time_error,
    time_error_counts,
    word_spans,
)


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("one two three", "one two three", (0, 0, 0)),
        ("one two three", "one too three", (1, 0, 0)),
        ("one two three", "one three", (0, 1, 0)),
        ("one two three", "one two two three", (0, 0, 1)),
        ("one two", "", (0, 2, 0)),
        ("", "one two", (0, 0, 2)),
        ("", "", (0, 0, 0)),
        ("a b c d", "x a b d", (0, 1, 1)),
    ],
)
def test_edits_by_hand(reference, answer, expected):
    assert edits(reference.split(), answer.split()) == expected


WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=8)


def slow_distance(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(slow_distance(a[1:], b) + 1, slow_distance(a, b[1:]) + 1, slow_distance(a[1:], b[1:]) + (a[0] != b[0]))


@given(st.lists(st.sampled_from("ab"), max_size=5), st.lists(st.sampled_from("ab"), max_size=5))
def test_the_total_is_the_edit_distance(a, b):
    found = edits(a, b)
    assert found.total == slow_distance(a, b)
    assert found.insertions - found.deletions == len(b) - len(a)


@given(WORDS.filter(bool), WORDS)
def test_it_counts_what_jiwer_counts(reference, answer):
    jiwer = pytest.importorskip("jiwer")
    theirs = jiwer.process_words(" ".join(reference), " ".join(answer))
    assert edits(reference, answer).total == theirs.substitutions + theirs.deletions + theirs.insertions
    counts = error_counts([" ".join(reference)], [" ".join(answer)])
    assert edit_rate(counts.sum(0)) == pytest.approx(theirs.wer)


def test_rates_are_over_the_corpus_and_may_exceed_one():
    counts = error_counts(["a b c", "d"], ["a b", "x y z"])
    assert counts.tolist() == [[0, 1, 0, 3], [1, 0, 2, 1]]
    assert edit_rate(counts.sum(0)) == 1.0
    assert edit_rate(error_counts(["a"], ["b c d"])[0]) == 3.0
    assert edit_rate(error_counts(["ab c"], ["ab  d"], characters=True)[0]) == 0.25
    with pytest.raises(DataError, match="2 references for 1 answers"):
        error_counts(["a", "b"], ["a"])


def test_a_path_follows_the_ridge():
    weights = np.full((3, 6), 0.01)
    for row, columns in enumerate([(0, 1), (2,), (3, 4, 5)]):
        weights[row, list(columns)] = 0.9
    path = monotonic_path(weights)
    assert path[0] == (0, 0)
    assert path[-1] == (2, 5)
    assert {(row, column) for row, column in path if weights[row, column] > 0.5} == {
        (0, 0), (0, 1), (1, 2), (2, 3), (2, 4), (2, 5),
    }  # fmt: skip


@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 99))
def test_a_path_is_the_best_of_all(rows, columns, seed):
    weights = np.random.default_rng(seed).random((rows, columns))

    def best(row, column):
        if row < 0 or column < 0:
            return -np.inf
        if row == column == 0:
            return weights[0, 0]
        before = max(best(row - 1, column - 1), best(row - 1, column), best(row, column - 1))
        return before + weights[row, column]

    if rows * columns > 24:
        return
    path = monotonic_path(weights)
    assert sum(weights[place] for place in path) == pytest.approx(best(rows - 1, columns - 1))
    for (a, b), (c, d) in pairwise(path):
        assert (c - a, d - b) in {(0, 1), (1, 0), (1, 1)}


def test_words_have_the_keys_of_their_tokens_without_silence():
    """Two words of two tokens, an end; silence before, between and after."""
    weights = np.full((5, 12), 1e-3)
    for row, columns in enumerate([(2, 3), (4,), (6,), (7, 8), (11,)]):
        weights[row, list(columns)] = 1 / len(columns)
    assert word_spans(weights, [0, 0, 1, 1, 2], 2) == [(2, 5), (6, 9)]


def test_pointing_is_inside_or_outside_by_the_tolerance():
    weights = np.zeros((2, 10))
    weights[0, 3], weights[1, 9] = 1.0, 0.5
    weights[1, 2] = 0.25
    counts = pointing_counts(weights, [(0.38, 0.5), (0.2, 0.3)], 0.1)
    assert counts.tolist() == [2, 1, 1 + 1 / 3]
    with pytest.raises(DataError, match="1 words"):
        pointing_counts(weights[:1], [(0, 1), (1, 2)], 0.1)


def test_the_error_of_times_is_in_milliseconds():
    counts = time_error_counts([(0.1, 0.5), (1.0, 1.5)], [(0.12, 0.5), (1.0, 1.4)])
    np.testing.assert_allclose(counts, [2, 20, 100])
    assert time_error(counts) == pytest.approx(30)
    assert time_error(np.zeros(3)) == 0.0
    with pytest.raises(DataError, match="1 times for 0"):
        time_error_counts([(0, 1)], [])


def test_the_course_of_attention_by_hand():
    peaks = [np.eye(4)[[0, 2, 1]], np.eye(8)[[3, 3, 7, 7]]]  # one of five moves goes back; 3 of 4 keys, 5 of 8
    assert course(peaks) == (pytest.approx(4 / 5), pytest.approx((3 / 4 + 5 / 8) / 2))
    assert course([np.eye(5)[[2]]]) == (1.0, pytest.approx(1 / 5))
    assert course([]) == (1.0, 0.0)

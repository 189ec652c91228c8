"""Edges of words by loudness, worked out by hand; forced alignment spans joined to words; median onset errors."""

import numpy as np
import pytest

from saccade.errors import DataError
from saccade.metrics import joined_spans, loudness, median_onset, onset_counts, ordered, word_edges


def test_words_end_where_it_gets_quiet_and_begin_where_it_gets_loud():
    loud = np.array([0, 0, 1, 1, 1, 0.1, 0, 0, 1, 1, 0, 1, 1, 0, 0])
    assert word_edges([(3, 4), (9, 12)], loud) == [(2, 5), (8, 13)]
    assert word_edges([(0, 4), (5, 12)], loud) == [(2, 5), (8, 13)]  # quiet frames at the ends are left out


def test_words_without_a_pause_are_divided_at_the_least_loud_frame():
    loud = np.array([1, 1, 0.9, 0.5, 0.8, 1, 1])
    assert word_edges([(1, 2), (5, 6)], loud) == [(0, 3), (3, 7)]


def test_anchors_in_silence_still_get_a_frame():
    assert word_edges([(1, 2), (2, 3)], np.zeros(4)) == [(1, 2), (2, 3)]
    assert word_edges([], np.zeros(4)) == []


def test_anchors_are_put_in_order_within_the_recording():
    assert ordered([(4, 8), (0, 0), (2, 5), (90, 99)], 10) == [(4, 8), (8, 9), (9, 10), (9, 10)]


def test_loudness_is_between_silence_and_speech():
    frames = np.concatenate([np.full((10, 3), -2.0), np.full((10, 3), 2.0)])
    found = loudness(frames)
    assert found[:8].max() == 0
    assert found[12:].min() == 1


def test_spans_of_tokens_become_spans_of_words():
    assert joined_spans([(0, 1), (2, 3), (3, 4), (6, 8)], [0, 0, 2, 1], 2) == [(0, 3), (6, 8)]


def test_the_median_onset_error_is_in_steps_of_five_milliseconds():
    counts = onset_counts([(0.1, 1), (1.0, 2), (9.0, 10)], [(0.13, 1), (1.011, 2), (2, 3)])
    assert median_onset(counts) == 30
    assert median_onset(np.zeros(401)) == 0
    with pytest.raises(DataError, match="1 times for 0 gold times"):
        onset_counts([(0, 1)], [])


def test_the_longest_quiet_stretch_divides_two_words():
    loud = np.array([0, 0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 1.0])
    assert word_edges([(5, 6), (12, 13)], loud) == [(3, 7), (9, 13)]


def test_a_quiet_anchor_at_the_end_keeps_one_frame():
    assert word_edges([(1, 2), (3, 4)], np.array([0, 1, 0, 0])) == [(1, 2), (3, 4)]

"""The metrics of replies, with numbers by pencil and paper."""

import numpy as np
import pytest

from saccade.errors import ConfigError, DataError, ShapeError
from saccade.metrics import distinct, dull_share, reply_f1, reply_length, slots_written, turns_pointed_at

REPLIES = ["I do not know .", "I do not know", "Yes , I do", "yes"]


def test_distinct_words_and_bigrams():
    # i do not know, i do not know, yes i do, yes: 12 words, 5 of them different
    assert distinct(REPLIES, 1) == pytest.approx(5 / 12)
    # 3 + 3 + 2 bigrams: i-do, do-not, not-know, yes-i
    assert distinct(REPLIES, 2) == pytest.approx(4 / 8)
    assert distinct(["yes"], 2) == 0


def test_replies_that_come_again_are_dull():
    assert dull_share(REPLIES) == pytest.approx(2 / 4), "the third and the fourth are said once"
    assert dull_share(["a", "b", "a", "b", "a"], commonest=1) == pytest.approx(3 / 5)
    assert dull_share(["a", "b"]) == 0


def test_length_is_the_mean_number_of_words():
    assert reply_length(REPLIES).total().value == pytest.approx(12 / 4)


def test_f1_splits_words_at_punctuation():
    replies = ["i don ' t know .", "The dog !", "", "yes yes"]
    found = reply_f1(replies, ["I don't want the dog .", "a dog", "yes", "Yes , sir"])
    # i don t of 4 and 5 words; dog; nothing; one yes of 2 and 2
    assert found.counts[:, 0] == pytest.approx([100 * 2 * 3 / 9, 100, 0, 50])
    assert found.total().value == pytest.approx(found.counts[:, 0].mean())
    with pytest.raises(DataError, match="there are 4 replies, but 1 references"):
        reply_f1(replies, ["a"])


def test_a_slot_is_right_if_its_word_is_written():
    reference = "Your dog Tulna meets Tulna and Kif ."
    assert slots_written("It is Tulna , not Bo .", reference, {6, 2, 4}) == {2: True, 4: False, 6: False}
    assert slots_written("Tulna Tulna Kif", reference, [2, 4, 6]) == {2: True, 4: True, 6: True}
    assert slots_written("", reference, []) == {}
    with pytest.raises(DataError, match="slot 9 is outside the 8 words"):
        slots_written("a", reference, [9])


def test_attention_points_at_the_turn_with_most_of_it():
    matrix = [[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.2, 0.5, 0.3]]
    assert turns_pointed_at(matrix, {0: {0}, 1: {0, 1}, 2: {0, 1}}) == {0: True, 1: False, 2: True}
    assert turns_pointed_at(matrix, {1: {-1}}) == {1: False}, "a turn that was left out"
    with pytest.raises(ShapeError, match=r"\(words, turns\)"):
        turns_pointed_at(np.zeros(3), {0: {0}})
    with pytest.raises(ShapeError, match="a row for each word"):
        turns_pointed_at(matrix, {3: {0}})


@pytest.mark.parametrize("measure", [lambda replies: distinct(replies, 1), dull_share, reply_length])
def test_one_text_and_no_text_are_refused(measure):
    with pytest.raises(DataError, match="the replies are one text"):
        measure("yes")
    with pytest.raises(DataError, match="there are 0 replies"):
        measure([])


def test_a_bigram_has_two_words_at_least():
    with pytest.raises(ConfigError, match="size is 0"):
        distinct(REPLIES, 0)

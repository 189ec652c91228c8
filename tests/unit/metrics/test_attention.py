"""Statistics of attention, and warnings about it."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import DataError, NumericsError, ShapeError
from saccade.metrics import attention, attention_statistics, complaints


def random_rows(seed, shape, sharpness=3.0):
    scores = sharpness * np.random.default_rng(seed).normal(size=shape)
    weights = np.exp(scores)
    return weights / weights.sum(-1, keepdims=True)


def diagonal(n):
    """A head that reads word by word, with a little weight everywhere."""
    return 0.9 * np.eye(n) + 0.1 / n


def stuck(steps, width, position, seed=0):
    weights = 0.2 * random_rows(seed, (steps, width))
    weights[:, position] += 0.8
    return weights


def test_a_worked_example():
    weights = [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    found = attention_statistics([weights], end_column=-1)
    head = found.heads[0]
    assert head.entropy == pytest.approx(math.log(2) / 2)
    assert head.spread == pytest.approx((0.5 + 0) / 2)  # log 2 is half of log 4
    assert head.end_share == pytest.approx(0.5)
    assert head.coverage == pytest.approx(2 / 3)  # the third word got nothing; the end mark is no word
    assert head.movement == pytest.approx(0.5)  # the average is .25 .25 0 .5: half of each row lies elsewhere
    assert (found.sentences, found.steps, found.source_words) == (1, 2, 3)
    assert (found.entropy, found.spread, found.end_share, found.coverage) == (
        head.entropy,
        head.spread,
        head.end_share,
        head.coverage,
    )


def test_heads_are_kept_apart_and_averaged():
    found = attention_statistics([np.stack([np.eye(4), np.full((4, 4), 0.25)])] * 2, site="decoder.cross")
    assert [head.spread for head in found.heads] == pytest.approx([0.0, 1.0])
    assert found.spread == pytest.approx(0.5)
    assert found.entropy == pytest.approx(math.log(4) / 2)
    assert [head.movement for head in found.heads] == pytest.approx([0.75, 0.0])
    assert found.end_share is None
    assert found.site == "decoder.cross"


@given(st.integers(0, 100), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6))
def test_shares_lie_between_0_and_1(seed, heads, steps, width):
    found = attention_statistics([random_rows(seed, (heads, steps, width))], end_column=-1)
    for head in found.heads:
        shares = [head.spread, head.end_share, head.coverage, head.position_share, head.movement or 0.0]
        assert all(-1e-9 <= share <= 1 + 1e-9 for share in shares)
        assert -1e-9 <= head.entropy <= math.log(width) + 1e-9


@given(st.integers(0, 100), st.randoms())
def test_the_order_of_sentences_changes_nothing(seed, random):
    sentences = [random_rows(seed + n, (2, n + 1, 4 + n)) for n in range(4)]
    before = attention_statistics(sentences, end_column=-1)
    random.shuffle(sentences)
    after = attention_statistics(sentences, end_column=-1)
    for one, other in zip(before.heads, after.heads, strict=True):
        assert vars(one) == pytest.approx(vars(other))


def test_sentences_count_by_their_steps():
    found = attention_statistics([[[1.0, 0.0]], [[0.5, 0.5]] * 3])
    assert found.spread == pytest.approx(3 / 4)


def test_steps_that_see_nothing_are_left_out():
    found = attention_statistics([[[0.0, 0.0], [0.5, 0.5]]])
    assert found.spread == pytest.approx(1.0)
    assert found.heads[0].movement is None  # a single step has no movement
    nothing = attention_statistics([np.zeros((60, 2))])
    head = nothing.heads[0]
    assert (nothing.spread, nothing.coverage, head.position, head.position_share) == (0, 0, 0, 0)


def test_weights_that_do_not_sum_to_1_are_taken_by_their_shares():
    found = attention_statistics([[[0.2, 0.2], [3.0, 1.0]]], end_column=1)
    assert found.end_share == pytest.approx((0.5 + 0.25) / 2)


def test_a_source_of_one_word_leaves_nothing_to_judge():
    found = attention_statistics([np.ones((60, 1))])
    assert (found.spread, found.heads[0].movement, complaints(found)) == (0.0, None, [])
    assert complaints(attention_statistics([np.ones((60, 1))], end_column=0)) != []  # all of it on the end


def test_positions_are_counted_from_where_they_are_steady():
    widths = range(4, 10)
    front = attention_statistics([stuck(10, width, 1) for width in widths]).heads[0]
    back = attention_statistics([stuck(10, width, -2) for width in widths]).heads[0]
    assert (front.position, front.position_share) == (1, 1.0)
    assert (back.position, back.position_share) == (-2, 1.0)


def test_a_position_is_the_commonest_also_where_some_steps_look_elsewhere():
    sentences = [stuck(10, width, -2) for width in range(4, 10)]
    for weights in sentences:
        weights[0] = np.eye(len(weights[0]))[0]
    found = attention_statistics(sentences).heads[0]
    assert (found.position, found.position_share) == (-2, pytest.approx(0.9))


def test_a_single_step_has_a_position():
    found = attention_statistics([np.eye(5)[[2]]]).heads[0]
    assert (found.position, found.position_share) == (2, 1.0)


@pytest.mark.parametrize(
    ("fields", "beyond", "words"),
    [
        ({"spread": attention.UNIFORM}, {"spread": attention.UNIFORM - 1e-6}, "is almost uniform"),
        ({"end_share": attention.TO_THE_END}, {"end_share": attention.TO_THE_END - 1e-6}, "goes to the end mark"),
        ({"position_share": attention.STUCK}, {"position_share": attention.STUCK - 1e-6}, "always attends to the same"),
        ({"coverage": attention.UNSEEN - 1e-6}, {"coverage": attention.UNSEEN}, "covers only 30% of the source words"),
        ({"movement": attention.UNMOVED - 1e-6}, {"movement": attention.UNMOVED}, "attends the same way at every step"),
    ],
)
def test_limits_are_where_they_are_said_to_be(fields, beyond, words):
    well = attention.HeadStatistics(1.0, 0.5, 0.1, 1.0, position=0, position_share=0.5, movement=0.5)
    for changes, expected in ((fields, 1), (beyond, 0)):
        head = dataclasses.replace(well, **changes)
        texts = complaints(attention.AttentionStatistics("x", (head,), sentences=5, steps=50, source_words=100))
        assert sum(words in text for text in texts) == len(texts) == expected


def test_more_source_words_than_twice_the_steps_cannot_all_be_seen():
    head = attention.HeadStatistics(1.0, 0.5, 0.1, 0.0, position=0, position_share=0.5, movement=0.5)
    for words, expected in ((100, 1), (101, 0), (0, 0)):
        found = attention.AttentionStatistics("x", (head,), sentences=5, steps=50, source_words=words)
        assert len(complaints(found)) == expected


def test_good_attention_gives_no_reason_to_complain():
    sentences = [np.stack([diagonal(n), diagonal(n)[::-1]]) for n in range(5, 15)]
    assert complaints(attention_statistics(sentences, end_column=-1)) == []


def test_uniform_attention():
    uniform = attention_statistics([random_rows(n, (2, 10, 8), 0.1) for n in range(6)], site="decoder.cross")
    (text,) = complaints(uniform)
    assert "attention of decoder.cross is almost uniform: its entropy is 1.00 of the greatest" in text


def test_the_threshold_of_uniform_is_what_its_comment_says():
    for heavy, uniform in ((0.26, True), (0.28, False)):
        rows = np.full((60, 10), (1 - heavy) / 9)
        rows[np.arange(60), np.arange(60) % 10] = heavy
        assert bool(complaints(attention_statistics([rows]))) == uniform


def test_one_uniform_head_among_others():
    sentences = [np.stack([diagonal(n), np.full((n, n), 1 / n)]) for n in range(6, 14)]
    (text,) = complaints(attention_statistics(sentences, site="decoder.1.cross"))
    assert text.startswith("head 1 of decoder.1.cross is almost uniform: its entropy is 1.00")


def test_attention_to_the_end_mark():
    sentences = [0.38 * diagonal(n) + 0.62 * np.eye(n)[-1] for n in [12] * 10]
    (text,) = complaints(attention_statistics(sentences, site="decoder.cross", end_column=-1))
    assert text.startswith("65% of the attention of decoder.cross goes to the end mark")
    assert not any("end mark" in text for text in complaints(attention_statistics(sentences)))


def test_some_attention_to_the_end_mark_is_well():
    found = attention_statistics([0.7 * diagonal(12) + 0.3 * np.eye(12)[-1]] * 10, end_column=-1)
    assert 0.3 < found.end_share < 0.4
    assert complaints(found) == []


def test_a_dead_head_is_named_with_its_position():
    sentences = [np.stack([diagonal(n), diagonal(n), diagonal(n), stuck(n, n, 1)]) for n in range(5, 15)]
    (text,) = complaints(attention_statistics(sentences, site="decoder.1.cross"))
    assert text.startswith("head 3 of decoder.1.cross always attends to the same position, the 2nd")
    assert "100% of the steps" in text


@pytest.mark.parametrize(
    ("position", "words"),
    [(0, "the first:"), (-1, "the last:"), (-3, "the 3rd from the end:"), (10, "the 11th:"), (21, "the 22nd:")],
)
def test_positions_in_words(position, words):
    sentences = [np.stack([diagonal(n), stuck(n, n, position)]) for n in range(24, 28)]
    (text,) = complaints(attention_statistics(sentences))
    assert words in text


def test_a_head_that_never_moves_is_dead_wherever_it_looks():
    sentences = []
    for n in range(8, 16):  # the same two or three words in a sentence, others in the next
        row = np.full(n, 0.01)
        row[[n % 5, (n + 3) % 7]] = 0.5
        sentences.append(np.stack([diagonal(n), np.tile(row / row.sum(), (n, 1))]))
    (text,) = complaints(attention_statistics(sentences, site="x"))
    assert text.startswith("head 1 of x attends the same way at every step: only 0.0% of its weight moves")


def test_a_single_head_needs_no_number():
    texts = complaints(attention_statistics([stuck(30, 6, 0)] * 2, site="x"))
    assert any(text.startswith("attention of x always attends to the same position") for text in texts)


def test_words_left_out():
    sentences = []
    for _ in range(6):  # three of twelve words are read in turn
        weights = np.zeros((12, 12))
        weights[np.arange(12), np.arange(12) % 3] = 1
        sentences.append(weights)
    (text,) = complaints(attention_statistics(sentences, site="x"))
    assert "attention of x covers only 25% of the source words (a total weight of 0.5 or more)" in text


def test_a_short_output_cannot_see_every_word():
    sentences = [np.eye(40)[:10]] * 6  # ten steps over forty words
    assert complaints(attention_statistics(sentences)) == []


def test_a_few_steps_are_not_judged():
    assert complaints(attention_statistics([np.full((49, 4), 0.25)])) == []
    assert complaints(attention_statistics([np.full((50, 4), 0.25)])) != []


def test_no_sentences_are_refused():
    with pytest.raises(DataError, match="0 sentences with attention of 'x'"):
        attention_statistics([], site="x")


def test_other_shapes_are_refused():
    with pytest.raises(ShapeError, match=r"'x' for sentence 1 is \(3,\), but must be \(H, T, S\)"):
        attention_statistics([np.ones((2, 2)), np.ones(3)], site="x")
    with pytest.raises(ShapeError, match=r"sentence 0 is \(0, 2\)"):
        attention_statistics([np.ones((0, 2))])
    with pytest.raises(ShapeError, match="sentence 0 has rows that differ"):
        attention_statistics([[[1.0], [0.5, 0.5]]])
    with pytest.raises(ShapeError, match="have 2 and 3 heads of 'x'"):
        attention_statistics([np.ones((3, 2, 2)), np.ones((2, 2, 2))], site="x")
    with pytest.raises(ShapeError, match=r"end_column is 4, but sentence 0 of 'x' has 4 columns"):
        attention_statistics([np.ones((2, 4))], site="x", end_column=4)


def test_nan_is_refused():
    with pytest.raises(NumericsError, match="'x' for sentence 0 has NaN"):
        attention_statistics([[[1.0, math.nan]]], site="x")


def test_without_an_end_mark_every_column_is_a_word():
    found = attention_statistics([np.eye(4)[:2], np.eye(3)])
    assert (found.source_words, found.steps, found.coverage) == (7, 5, pytest.approx(5 / 7))


def test_the_end_mark_may_stand_in_any_column():
    weights = [[0.1, 0.2, 0.3, 0.4]]
    shares = [attention_statistics([weights], end_column=column).end_share for column in (-4, -1, 0, 3)]
    assert shares == pytest.approx([0.1, 0.4, 0.1, 0.4])
    with pytest.raises(ShapeError, match=r"end_column is -5, but sentence 0 of 'attention' has 4 columns"):
        attention_statistics([weights], end_column=-5)


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (1, "2nd"),
        (2, "3rd"),
        (3, "4th"),
        (9, "10th"),
        (11, "12th"),
        (12, "13th"),
        (13, "14th"),
        (20, "21st"),
        (22, "23rd"),
        (100, "101st"),
        (110, "111th"),
        (112, "113th"),
        (-2, "2nd from the end"),
        (-11, "11th from the end"),
        (-21, "21st from the end"),
    ],
)
def test_positions_are_counted_as_people_count(position, words):
    head = attention.HeadStatistics(1.0, 0.5, None, 1.0, position=position, position_share=0.98, movement=0.5)
    (text,) = complaints(attention.AttentionStatistics("x", (head,), sentences=5, steps=50, source_words=100))
    assert (
        text == f"attention of x always attends to the same position, the {words}: it is heaviest in 98% of the steps."
    )

"""Accuracy, F1 and confusion counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import DataError
from saccade.metrics import accuracy, classification_score, classification_statistics, macro_f1

GOLD = ["cat", "cat", "cat", "dog", "dog", "owl"]
SAID = ["cat", "cat", "dog", "dog", "cat", "dog"]
labelled = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), min_size=1, max_size=12)


def test_a_worked_example():
    score = classification_score(SAID, GOLD)
    assert score.accuracy == 3 / 6
    assert [each.label for each in score.classes] == ["cat", "dog", "owl"]
    assert score.confusion == ((2, 1, 0), (1, 1, 0), (0, 1, 0))  # rows gold, columns predicted
    cat, dog, owl = score.classes
    assert (cat.precision, cat.recall, cat.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (dog.precision, dog.recall, dog.f1) == pytest.approx((1 / 3, 1 / 2, 2 / 5))
    assert (owl.precision, owl.recall, owl.f1) == (0, 0, 0)
    assert (cat.gold, cat.predicted, owl.gold, owl.predicted) == (3, 3, 1, 0)
    assert score.macro_f1 == pytest.approx((2 / 3 + 2 / 5 + 0) / 3)
    assert score.examples == 6


def test_labels_that_do_not_occur_are_shown_but_not_averaged():
    score = classification_score(["b", "a"], ["b", "b"], labels=["b", "unheard", "a"])
    assert [each.label for each in score.classes] == ["b", "unheard", "a"]
    assert score.classes[1].f1 == 0
    assert score.macro_f1 == pytest.approx((2 / 3 + 0) / 2)


@given(labelled)
def test_f1_is_the_harmonic_mean_counted_by_hand(pairs):
    said, gold = zip(*pairs, strict=True)
    score = classification_score(said, gold)
    for each in score.classes:
        both = sum(a == b == each.label for a, b in pairs)
        precision, recall = both / max(said.count(each.label), 1), both / max(gold.count(each.label), 1)
        assert (each.precision, each.recall) == (precision, recall)
        assert each.f1 == pytest.approx(2 * precision * recall / (precision + recall) if both else 0)
    assert score.accuracy == pytest.approx(sum(a == b for a, b in pairs) / len(pairs))
    assert score.macro_f1 == pytest.approx(sum(each.f1 for each in score.classes) / len(score.classes))
    assert sum(map(sum, score.confusion)) == len(pairs)


@given(labelled, st.randoms())
def test_the_order_of_examples_changes_nothing(pairs, random):
    before = classification_score(*zip(*pairs, strict=True))
    random.shuffle(pairs)
    assert classification_score(*zip(*pairs, strict=True)) == before


@given(labelled)
def test_summed_statistics_give_the_scores(pairs):
    said, gold = zip(*pairs, strict=True)
    score = classification_score(said, gold)
    sums = classification_statistics(said, gold, labels="abcd").sum(0)
    assert accuracy(sums) == score.accuracy
    assert macro_f1(sums) == pytest.approx(score.macro_f1)


@given(st.lists(st.sampled_from("abcd"), min_size=1))
def test_right_answers_are_perfect(gold):
    score = classification_score(gold, gold)
    assert (score.accuracy, score.macro_f1) == (1, 1)


def test_unequal_numbers_are_refused():
    with pytest.raises(DataError, match="1 predicted labels for 2 gold"):
        classification_score(["a"], ["a", "b"])
    with pytest.raises(DataError, match="0 labels"):
        classification_score([], [])


def test_labels_outside_the_list_are_refused():
    with pytest.raises(DataError, match=r"example 1: predicted label 'dgo' .*Did you mean 'dog'"):
        classification_score(["cat", "dgo"], ["cat", "dog"], labels=["cat", "dog"])
    with pytest.raises(DataError, match="example 0: gold label 'x'"):
        classification_score(["cat"], ["x"], labels=["cat"])
    with pytest.raises(DataError, match="label 'a' is listed 2 times"):
        classification_score(["a"], ["a"], labels=["a", "a"])

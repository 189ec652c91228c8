"""Map: valid and invalid arguments."""

import dataclasses

import numpy as np
import pytest

from saccade.errors import NumericsError, ShapeError
from saccade.look import Map
from saccade.look.map import check_cells


def test_lists_arrays_and_tuples_make_equal_maps():
    rows = [[0.25, 0.75], [1.0, 0.0]]
    one = Map(["a", "b"], ["c", "d"], rows)
    assert one == Map(("a", "b"), ("c", "d"), np.array(rows, dtype=np.float32))
    assert one.weights == ((0.25, 0.75), (1.0, 0.0))


def test_a_map_does_not_change():
    rows = [[1.0]]
    one = Map(["a"], ["b"], rows)
    rows[0][0] = 0.0
    assert one.weights == ((1.0,),)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.source = ("x",)


def test_strongest_puts_the_earlier_of_equals_first():
    one = Map(["a", "b", "c"], ["d"], [[0.3, 0.4, 0.3]])
    assert one.strongest(0) == [1]
    assert one.strongest(0, 3) == [1, 0, 2]


def test_a_row_for_each_word_written():
    with pytest.raises(ShapeError, match=r"weights have 1 rows, but there are 2 target words"):
        Map(["a"], ["b", "c"], [[1.0]])


def test_a_number_for_each_word_read():
    with pytest.raises(ShapeError, match=r"row 1 of weights \('c'\) has 3 numbers, but there are 2 source words"):
        Map(["a", "a"], ["b", "c"], [[1.0, 0.0], [1.0, 0.0, 0.0]])


@pytest.mark.parametrize(("weights", "was"), [(np.zeros((1, 1, 1)), r"\(1, 1, 1\)"), (np.zeros(2), r"\(2,\)")])
def test_weights_have_two_axes(weights, was):
    with pytest.raises(ShapeError, match=rf"rows of numbers, .* but are {was}: choose one sentence and one head"):
        Map(["a"], ["b"], weights)


def test_weights_are_numbers():
    with pytest.raises(ShapeError, match=r"rows of numbers, .* but are list"):
        Map(["a"], ["b"], [["much"]])


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_weights_are_finite(weight):
    with pytest.raises(NumericsError, match=rf"from 'c' \(row 1\) to 'b' \(column 1\) is {weight}"):
        Map(["a", "b"], ["b", "c"], [[1, 0], [0, weight]])


@pytest.mark.parametrize("link", [(2, 0), (0, 1), (-1, 0)])
def test_gold_links_lie_inside(link):
    with pytest.raises(ShapeError, match=rf"link {link[0]}-{link[1]} lies outside 2 source and 1 target positions"):
        Map(["a", "b"], ["c"], [[1, 0]], gold=[link])


def test_a_sentence_is_not_a_list_of_words():
    with pytest.raises(ShapeError, match="source is one string, 'two words'"):
        Map("two words", ["b"], [[1.0]])


def test_marks_are_found_unless_they_are_given():
    one = Map(["<bos>", "a", ",", "…b"], ["x", "."], [[0.25] * 4] * 2)
    assert one.marks == ({0, 2}, {1})
    given = Map(one.source, one.target, one.weights, marks=([3], []))
    assert given.marks.source == {3}
    assert given.marks.target == frozenset()


@pytest.mark.parametrize(
    ("marks", "told"),
    [(([2], []), "the source has a mark at 2, but 2 words"), (([], [-1]), "the target has a mark at -1")],
)
def test_marks_lie_inside(marks, told):
    with pytest.raises(ShapeError, match=told):
        Map(["a", "b"], ["c"], [[1, 0]], marks=marks)


def test_a_map_of_the_words_alone():
    one = Map(["a", ",", "b"], ["x", "y", "."], np.arange(9).reshape(3, 3), gold=[(0, 0), (1, 1), (2, 1)])
    assert one.without_marks() == Map(["a", "b"], ["x", "y"], [[0, 2], [3, 5]], gold=[(0, 0), (1, 1)])
    assert Map([",", "."], ["a"], [[1, 0]]).without_marks().source == (",", "."), "nothing else would be left"


def test_more_weights_than_a_picture_can_show():
    check_cells(2_097_152)
    names = ["w"] * 1449
    with pytest.raises(ShapeError, match=r"shows at most 2,097,152 weights, but here are 2,099,601\."):
        Map(names, names, [])

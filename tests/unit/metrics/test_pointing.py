"""Attention against gold boxes: numbers by hand, property tests, errors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from saccade.errors import DataError, NumericsError, ShapeError
from saccade.metrics import mass_inside, pointing_accuracy, pointing_score, pointing_statistics, sums_interval

GRID = [[0.1, 0.2], [0.6, 0.1]]
LOWER_LEFT = (0.0, 0.5, 0.5, 1.0)

edges = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted).filter(lambda pair: pair[1] - pair[0] > 1e-3)
boxes = st.builds(lambda across, down: (across[0], down[0], across[1], down[1]), edges, edges)
shapes = st.tuples(st.integers(1, 7), st.integers(1, 7))
grids = shapes.flatmap(lambda shape: arrays.arrays(np.float64, shape, elements=st.floats(0, 1)))


def row(grid, box):
    return dict(
        zip(
            ["words", "hit", "mass", "by chance", "area", "reachable"],
            pointing_statistics([[grid]], [[box]])[0].tolist(),
            strict=True,
        )
    )


def test_rows_run_down_and_columns_to_the_right():
    assert row(GRID, LOWER_LEFT) == {
        "words": 1,
        "hit": 1,
        "mass": pytest.approx(0.6),
        "by chance": 0.25,
        "area": 0.25,
        "reachable": 1,
    }
    assert row(GRID, (0.5, 0.0, 1.0, 0.5)) == pytest.approx(
        {"words": 1, "hit": 0, "mass": 0.2, "by chance": 0.25, "area": 0.25, "reachable": 1}
    )


def test_cells_count_by_the_share_that_the_box_covers():
    # Right half of the left column and left half of the right one, all rows: half of everything.
    assert row(GRID, (0.25, 0.0, 0.75, 1.0))["mass"] == pytest.approx(0.5)
    # A quarter of the upper left cell and nothing else, without its centre.
    small = row(GRID, (0.0, 0.0, 0.2, 0.3125))
    assert small["mass"] == pytest.approx(0.1 * 0.4 * 0.625)
    assert (small["by chance"], small["reachable"]) == (0, 0)


@pytest.mark.parametrize("box", [(0.25, 0.75, 0.3, 0.8), (0.2, 0.7, 0.25, 0.75)])
def test_the_edges_belong_to_the_box(box):
    # The peak's centre, (0.25, 0.75), is a corner of the box: the upper left one, then the lower right one.
    found = row(GRID, box)
    assert (found["hit"], found["by chance"], found["reachable"]) == (1, 0.25, 1)


def test_grids_need_not_be_square():
    grid = [[0, 0, 0, 5], [0, 0, 0, 0]]  # nor sum to 1; the peak at (0.875, 0.25)
    assert row(grid, (0.75, 0.0, 1.0, 0.5)) == {
        "words": 1,
        "hit": 1,
        "mass": 1,
        "by chance": 1 / 8,
        "area": 1 / 8,
        "reachable": 1,
    }
    assert row(grid, (0.0, 0.0, 0.75, 1.0))["hit"] == 0


def test_equal_peaks_share_the_hit():
    assert row([[0.4, 0.4], [0.2, 0.0]], (0.0, 0.0, 0.5, 1.0))["hit"] == 0.5


def test_attention_that_looks_nowhere_hits_nothing():
    found = row([[0, 0], [0, 0]], (0, 0, 1, 1))
    assert (found["words"], found["hit"], found["mass"]) == (1, 0, 0)


@given(shapes, boxes)
def test_attention_that_is_equal_everywhere_scores_as_chance(shape, box):
    found = row(np.full(shape, 0.3), box)
    assert found["hit"] == pytest.approx(found["by chance"])
    assert found["mass"] == pytest.approx(found["area"])


@given(grids)
def test_the_whole_picture_is_always_right(grid):
    found = row(grid, (0, 0, 1, 1))
    looks = float(grid.sum() > 0)
    assert (found["hit"], found["mass"]) == (looks, pytest.approx(looks))
    assert (found["by chance"], found["area"], found["reachable"]) == (1, 1, 1)


@given(grids, st.floats(0.01, 0.99))
def test_two_halves_have_all_the_mass(grid, cut):
    left, right = row(grid, (0, 0, cut, 1)), row(grid, (cut, 0, 1, 1))
    assert left["mass"] + right["mass"] == pytest.approx(row(grid, (0, 0, 1, 1))["mass"])


@given(grids, boxes)
def test_a_turned_picture_scores_the_same(grid, box):
    left, top, right, bottom = box
    assert row(grid.T, (top, left, bottom, right)) == pytest.approx(row(grid, box))


@given(grids, boxes)
def test_shares_are_shares(grid, box):
    found = row(grid, box)
    assert all(-1e-9 <= value <= 1 + 1e-9 for value in found.values())
    assert found["hit"] <= found["reachable"]


def test_words_without_a_box_are_left_out():
    attentions = [[GRID, GRID, GRID], [GRID], []]
    gold = [[LOWER_LEFT, None, (0.5, 0.0, 1.0, 0.5)], [None], []]
    counts = pointing_statistics(attentions, gold)
    assert counts[:, 0].tolist() == [2, 0, 0]
    score = pointing_score(attentions, gold)
    assert (score.accuracy, score.mass) == (0.5, pytest.approx(0.4))
    assert (score.chance_accuracy, score.chance_mass, score.best_accuracy) == (0.25, 0.25, 1)
    assert (score.words, score.examples) == (2, 3)


def test_shares_are_of_the_words_that_have_a_box():
    sums = np.array([8.0, 2.0, 4.0, 0, 0, 0])
    assert (pointing_accuracy(sums), mass_inside(sums)) == (0.25, 0.5)
    no_hit = np.array([8.0, 0.0, 4.0, 0, 0, 0])
    assert (pointing_accuracy(no_hit), mass_inside(no_hit)) == (0, 0.5)
    assert (pointing_accuracy(np.zeros(6)), mass_inside(np.zeros(6))) == (0, 0)
    nothing_counted = np.array([0.0, 3.0, 3.0, 0, 0, 0])
    assert (pointing_accuracy(nothing_counted), mass_inside(nothing_counted)) == (0, 0)


def test_the_formulas_take_summed_rows_and_resamples_of_them():
    counts = pointing_statistics([[GRID, GRID], [GRID]], [[LOWER_LEFT, (0.5, 0.0, 1.0, 0.5)], [None]])
    assert pointing_accuracy(counts.sum(0)) == 0.5
    assert mass_inside(counts.sum(0)) == pytest.approx(0.4)
    assert pointing_accuracy(np.zeros(6)) == mass_inside(np.zeros(6)) == 0
    for formula in (pointing_accuracy, mass_inside):
        assert sums_interval(counts, formula, samples=20).score == formula(counts.sum(0))


def test_rounding_past_the_edge_is_forgiven():
    assert row(GRID, (-1e-9, 0.0, 1 + 1e-9, 1.0))["area"] == 1
    assert row(GRID, (0.0, -1e-9, 1.0, 1 + 1e-9))["area"] == 1


@pytest.mark.parametrize("edge", range(4))
def test_every_edge_must_lie_in_the_picture(edge):
    for wrong in (-0.1, 1.1):
        box = [0.2, 0.2, 0.8, 0.8]
        box[edge] = wrong
        with pytest.raises(DataError, match=r"example 0, word 0: the box \(.*\) must be"):
            pointing_statistics([[GRID]], [[tuple(box)]])


@pytest.mark.parametrize(
    "box", [(10, 20, 50, 60), (0.5, 0.0, 0.5, 1.0), (0.6, 0.0, 0.4, 1.0), (0.0, 0.9, 1.0, 0.1), (float("nan"), 0, 1, 1)]
)
def test_boxes_outside_of_the_picture_are_refused(box):
    with pytest.raises(DataError, match=r"example 0, word 1: the box \(.*\) must be \(left, top, right, bottom\)"):
        pointing_statistics([[GRID, GRID]], [[None, box]])


def test_numbers_that_do_not_go_together_are_refused():
    with pytest.raises(DataError, match="2 attentions for the boxes of 1 examples"):
        pointing_statistics([[GRID], [GRID]], [[LOWER_LEFT]])
    with pytest.raises(DataError, match="0 examples with boxes"):
        pointing_statistics([], [])
    with pytest.raises(DataError, match=r"example 0 has attention for 2 words and 1 boxes.*end mark"):
        pointing_statistics([[GRID, GRID]], [[LOWER_LEFT]])
    with pytest.raises(DataError, match="words of 1 examples have 0 gold boxes"):
        pointing_score([[GRID]], [[None]])


def test_what_is_no_grid_is_refused():
    with pytest.raises(ShapeError, match=r"example 0: the attention is \(2, 2\), but must be \(T, rows, columns\)"):
        pointing_statistics([GRID], [[LOWER_LEFT, None]])
    with pytest.raises(ShapeError, match=r"the attention is \(1, 0, 2\)"):
        pointing_statistics([np.zeros((1, 0, 2))], [[LOWER_LEFT]])
    with pytest.raises(ShapeError, match="example 0: the grids of attention differ in size"):
        pointing_statistics([[[[1, 2], [3]]]], [[LOWER_LEFT]])


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -0.1])
def test_weights_that_are_no_weights_are_refused(wrong):
    with pytest.raises(NumericsError, match="example 0: the attention has weights that are NaN, infinite or below"):
        pointing_statistics([[[[wrong, 1.0]]]], [[LOWER_LEFT]])

"""Answers that are positions of points: by pencil and paper."""

import numpy as np
import pytest

from saccade.errors import DataError
from saccade.metrics import order_counts, order_ratio
from saccade.metrics.orders import is_simple, polygon_area, trip_length

SQUARE = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [2.0, 1.0]])


def scores(answer, found, wanted):
    points = [SQUARE] * len(found)
    return {name: order_ratio(part.sum(0)) for name, part in order_counts(answer, points, found, wanted).items()}


def test_a_sequence_is_right_or_wrong():
    assert scores("sequence", [[0, 1], [1, 0], [0, 1, 2]], [[0, 1]] * 3) == {"exact": pytest.approx(1 / 3)}


def test_a_hull_may_begin_anywhere_but_not_run_backwards():
    found = scores("hull", [[1, 2, 3, 0], [3, 2, 1, 0]], [[0, 1, 2, 3]] * 2)
    assert found == {"exact": 0.5, "valid": 1.0, "area": 1.0}


def test_the_area_of_a_hull_counts_if_it_is_a_simple_polygon():
    wanted = [0, 1, 2, 3]
    assert scores("hull", [[0, 1, 2]], [wanted]) == {"exact": 0.0, "valid": 1.0, "area": 0.5}
    crossed = scores("hull", [[0, 1, 3, 2], [0, 1, 2]], [wanted] * 2)
    assert crossed == {"exact": 0.0, "valid": 0.5, "area": 0.5}
    assert scores("hull", [[], [1]], [wanted] * 2) == {"exact": 0.0, "valid": 0.0, "area": 0.0}


def test_a_tour_may_run_backwards():
    assert scores("tour", [[0, 3, 2, 1, 4]], [[0, 4, 1, 2, 3]])["exact"] == 1.0
    assert scores("tour", [[2, 1, 4, 0, 3]], [[0, 4, 1, 2, 3]])["exact"] == 1.0


def test_the_length_of_tours_is_compared_with_the_shortest():
    best, longer = [0, 4, 1, 2, 3], [0, 1, 4, 2, 3]
    lengths = [4 + 4 + 4 + 2 * 5**0.5, 4 + 5**0.5 + 13**0.5 + 4 + 4]
    assert trip_length(SQUARE[best]) == pytest.approx(lengths[0])
    found = scores("tour", [best, longer, [0, 1, 2, 3]], [best] * 3)
    assert found["valid"] == pytest.approx(2 / 3)
    assert found["tour_length"] == pytest.approx(sum(lengths) / (2 * lengths[0]))


@pytest.mark.parametrize(
    ("corners", "simple"),
    [
        ([(0, 0), (1, 0), (0, 1)], True),
        ([(0, 0), (1, 0)], False),
        ([(0, 0), (1, 0), (0, 0)], False),
        ([(0, 0), (2, 0), (1, 0)], False),
        ([(0, 0), (2, 2), (2, 0), (0, 2)], False),
        ([(0, 0), (4, 0), (4, 4), (2, 0), (0, 4)], False),
        ([(0, 0), (4, 0), (4, 4), (2, 1), (0, 4)], True),
        ([(0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (3, 0), (3, 2), (0, 2)], True),
        ([(0, 0), (1, 0), (2, 0), (1, 2)], True),
        ([(0, 0), (4, 0), (4, 4), (0, 0), (0, 4), (-4, 4)], False),
    ],
)
def test_simple_polygons(corners, simple):
    corners = np.array(corners, float)
    assert is_simple(corners) is simple
    assert is_simple(corners[::-1]) is simple
    assert is_simple(np.roll(corners, 1, 0)) is simple


def test_areas():
    assert polygon_area(SQUARE[:4]) == polygon_area(SQUARE[:4][::-1]) == 16
    assert polygon_area(SQUARE[[0, 1, 4]]) == 2


def test_as_many_answers_as_references():
    with pytest.raises(DataError, match="there are 1 examples, 1 answers and 2 references"):
        order_counts("hull", [SQUARE], [[0]], [[0], [1]])

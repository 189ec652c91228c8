"""sorting, convex-hull and salesman: the answers agree with slow references."""

import math
from itertools import islice, permutations

import numpy as np
import pytest

from saccade.corpora import CORPORA
from saccade.corpora.geometry import convex_hulls
from saccade.corpora.stream import split_of

NAMES = ("sorting", "convex-hull", "salesman")


def made(name, size=200, split="valid", **options):
    for example in CORPORA[name].generate(split, size, **options):
        points = [tuple(map(float, word.split(","))) for word in example.source.split()]
        yield points, [int(word) - 1 for word in example.target.split()]


def turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def length(points, trip):
    return sum(math.dist(points[here], points[there]) for here, there in zip(trip, [*trip[1:], trip[0]], strict=True))


def test_numbers_are_sorted():
    for points, order in made("sorting", max_length=20):
        assert sorted(points) == [points[place] for place in order]
        assert len(set(points)) == len(points)


def test_hulls_are_convex_and_have_all_points_inside():
    for points, hull in made("convex-hull", min_length=3):
        ends = [*hull[1:], hull[0]]
        assert hull[0] == min(hull)
        for a, b in zip(hull, ends, strict=True):
            others = [point for place, point in enumerate(points) if place not in (a, b)]
            assert all(turn(points[a], points[b], point) > -1e-12 for point in others)


def test_a_point_on_an_edge_is_no_corner():
    square = [(0, 0), (2, 0), (4, 0), (4, 4), (0, 4), (4, 2), (1, 1)]
    padding = [(9, 9)] * 2
    ((*hull,),) = convex_hulls(np.array([[*square, *padding]]), [len(square)])
    assert hull == [0, 2, 3, 4]
    ((*turned,),) = convex_hulls(np.array([[*square[3:], *square[:3]]]), [len(square)])
    assert turned == [0, 1, 4, 6]


def test_trips_are_the_shortest_and_run_counter_clockwise_from_the_first():
    for points, trip in made("salesman", 60, min_length=3, max_length=7):
        assert sorted(trip) == list(range(len(points)))
        assert trip[0] == 0
        shortest = min(length(points, (0, *rest)) for rest in permutations(range(1, len(points))))
        assert length(points, trip) == pytest.approx(shortest)
        corners = [points[place] for place in trip]
        assert sum(turn((0, 0), a, b) for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)) > 0


@pytest.mark.parametrize("name", NAMES)
def test_lengths_splits_and_sizes(name):
    generate = CORPORA[name].generate
    few = list(generate("train", 30, 1, min_length=4, max_length=6))
    assert {len(example.source.split()) for example in few} == {4, 5, 6}
    assert few == list(islice(generate("train", None, 1, min_length=4, max_length=6), 30))
    assert few != list(generate("train", 30, 2, min_length=4, max_length=6))
    for split in ("train", "valid", "test"):
        assert {split_of(example.source) for example in generate(split, 20)} == {split}


def test_points_are_uniform():
    numbers = [number for points, _ in made("convex-hull", 400) for point in points for number in point]
    assert np.histogram(numbers, 10, (0, 1))[0] / len(numbers) == pytest.approx(0.1, abs=0.01)

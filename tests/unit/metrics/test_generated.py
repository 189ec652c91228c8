"""Distances between the features of generated and of real images, worked out by hand."""

import numpy as np
import pytest

from saccade.errors import ShapeError
from saccade.metrics.generated import covered, frechet_distance, kernel_distance, nearest, precision_recall, spread


def test_the_frechet_distance_of_two_lines_of_points():
    first = np.array([[-1.0], [1.0]])  # variance 2
    second = 3 + 2 * first  # mean 3, variance 8
    assert frechet_distance(first, second) == pytest.approx(3**2 + 2 + 8 - 2 * 4)
    assert frechet_distance(first, first) == pytest.approx(0)


def test_the_frechet_distance_needs_no_common_axes():
    first = np.array([[1.0, 0], [-1, 0], [0, 0.5], [0, -0.5]])
    second = first[:, ::-1]  # variances 2/3 and 1/6, exchanged
    assert frechet_distance(first, second) == pytest.approx(2 * (2 / 3 + 1 / 6 - 2 * np.sqrt(2 / 3 / 6)))


def test_the_kernel_distance_leaves_out_pairs_of_an_image_with_itself():
    first, second = np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    # kernels (x y + 1)³: within 1 and 27, between 1, 1, 8 and 27
    assert kernel_distance(first, second) == pytest.approx(1 + 27 - 2 * (1 + 1 + 8 + 27) / 4)


def test_precision_and_recall_by_the_reach_of_neighbors():
    real = np.arange(8.0)[:, None]
    generated = np.array([[0.5], [1.5], [2.5], [3.5], [100.0]])  # only the first half, and one far away
    precision, recall = precision_recall(generated, real)
    assert precision == pytest.approx(4 / 5)
    assert recall == pytest.approx(1.0)  # the far image reaches all of them
    assert precision_recall(generated[:4], real)[1] == pytest.approx(7 / 8)  # 3.5 reaches 3 to the right


def test_coverage_neighbors_and_spread():
    assert covered(np.array([0, 2, 2]), 4) == 0.5
    white, half = np.full((1, 2, 2, 1), 255, np.uint8), np.array([255, 255, 0, 0], np.uint8).reshape(1, 2, 2, 1)
    assert nearest(np.concatenate([white, half]), half).tolist() == pytest.approx([255 / np.sqrt(2), 0])
    assert spread(np.array([[1.0, 0], [3.0, 0]])) == 1.0


def test_features_of_other_widths_are_refused():
    with pytest.raises(ShapeError, match=r"features are \(2, 1\) and \(3, 2\)"):
        frechet_distance(np.zeros((2, 1)), np.zeros((3, 2)))

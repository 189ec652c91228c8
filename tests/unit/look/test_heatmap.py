"""The heatmap: smooth, mean-preserving, and transparent where attention is high."""

import numpy as np
import pytest

from saccade.look.heatmap import COLOUR, heatmap, light, smooth

GRIDS = [(8, 8), (14, 14), (2, 3), (1, 1), (1, 5), (7, 2)]


def one_at(row, column, rows=8, columns=8):
    weights = np.zeros((rows, columns))
    weights[row, column] = 1
    return weights


@pytest.mark.parametrize("grid", GRIDS)
def test_what_is_equal_everywhere_stays_so(grid):
    np.testing.assert_allclose(smooth(np.full(grid, 0.25), 30, 41), 0.25, rtol=1e-12)


@pytest.mark.parametrize("grid", GRIDS)
def test_nothing_is_lost_or_made(grid):
    """The map has the mean of the weights, in the corners too."""
    chance = np.random.default_rng(1).random(grid)
    made = smooth(chance, 6 * grid[0], 4 * grid[1])
    assert made.mean() == pytest.approx(chance.mean(), rel=1e-12)
    assert made.min() >= 0


@pytest.mark.parametrize("place", [(0, 0), (3, 5), (7, 7), (7, 0), (0, 4)])
def test_one_region_is_brightest_where_it_lies(place):
    made = smooth(one_at(*place), 64, 64)
    row, column = np.unravel_index(made.argmax(), made.shape)
    assert (row // 8, column // 8) == place
    around = made.reshape(8, 8, 8, 8).mean((1, 3))
    assert around.argmax() == 8 * place[0] + place[1]
    assert around.max() > 0.35


def test_a_sum_of_looks_is_the_sum_of_their_maps():
    one, other = one_at(1, 2), 3 * one_at(5, 5)
    np.testing.assert_allclose(smooth(one + other, 20, 20), smooth(one, 20, 20) + smooth(other, 20, 20))


def test_light_is_in_shares_of_the_most():
    assert light(1e-3 * one_at(2, 2), 40, 40).max() == 1
    assert light(np.zeros((3, 3)), 9, 9).max() == 0


def test_the_heatmap_is_clear_where_was_looked_and_thick_elsewhere():
    made = heatmap(one_at(3, 3), 160, 160)
    assert made.shape == (160, 160, 4)
    assert made.dtype == np.uint8
    assert made[70, 70, 3] < 5
    assert made[70, 150, 3] > 190
    assert tuple(made[150, 10]) == (*COLOUR, round(255 * 0.8)) == (17, 21, 34, 204)


def test_the_edge_goes_round_what_is_looked_at_and_nowhere_else():
    made = heatmap(one_at(3, 3), 160, 160).astype(int)
    yellow = (made[..., 0] > 200) & (made[..., 2] < 160)
    rows, columns = np.nonzero(yellow)
    assert 40 < yellow.sum() < 400
    assert np.hypot(rows - 69.5, columns - 69.5).max() < 20
    assert not ((heatmap(np.full((8, 8), 0.1), 160, 160)[..., 0] > 200).any()), "what is equal everywhere has no edge"
    assert not ((heatmap(np.zeros((8, 8)), 160, 160)[..., 0] > 200).any())


@pytest.mark.parametrize("place", [(3, 3), (0, 0), (0, 4), (7, 7), (7, 2), (5, 0), (5, 7)])
@pytest.mark.parametrize("edge", [1.0, 1.5, 3.0])
def test_the_edge_is_closed_where_the_picture_ends(place, edge):
    """Every path out of the attended region crosses the contour line."""
    made = heatmap(one_at(*place), 160, 160, edge=edge).astype(int)
    free = np.pad((made[..., 0] < 150) | (made[..., 3] < 60), 1, constant_values=True)
    reached = np.zeros_like(free)
    reached[1 + 20 * place[0] + 10, 1 + 20 * place[1] + 10] = True
    for _ in range(60):
        near = reached.copy()
        near[1:] |= reached[:-1]
        near[:-1] |= reached[1:]
        near[:, 1:] |= reached[:, :-1]
        near[:, :-1] |= reached[:, 1:]
        reached = near & free
    assert 100 < reached.sum() < 1000


def test_flat_regions_are_lit_evenly():
    shine = light([[1.0, 0.5], [0.0, 0.25]], 6, 4, flat=True)
    np.testing.assert_array_equal(shine[:3, :2], 1.0)
    np.testing.assert_array_equal(shine[3:, 2:], 0.25)
    assert light([[1.0, 0.5], [0.0, 0.25]], 6, 4)[2, 1] < 1.0

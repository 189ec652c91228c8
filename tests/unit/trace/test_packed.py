"""Packed arrays: they round-trip within the quantization error, and invalid ones are rejected."""

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from pydantic import ValidationError

from saccade.errors import DataError
from saccade.trace import Packed, pack
from saccade.trace.packed import MOST, MOST_TOTAL, check_total

NUMBERS = arrays.arrays(
    np.float64, arrays.array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.floats(-1e6, 1e6)
)


@given(NUMBERS, st.sampled_from([63, 255, 65535]))
def test_numbers_come_back_within_half_a_level(values, levels):
    packed = pack(values, levels)
    reach = values.max() - values.min()
    assert packed.shape == list(values.shape)
    smallest = np.finfo(np.float32).tiny  # subnormal numbers may become 0
    allowed = 0.51 * reach / levels + 1e-6 * np.abs(values).max() + smallest
    np.testing.assert_allclose(packed.unpack(), values, atol=allowed)


@given(NUMBERS)
def test_what_is_not_finite_is_a_hole(values):
    values = values.copy()
    values.flat[0] = -np.inf
    back = pack(values, 65535).unpack()
    assert np.isnan(back.flat[0])
    assert np.isfinite(back.flat[1:]).all()


def test_nothing_and_holes_alone():
    assert pack(np.zeros((2, 0, 3)), 255).unpack().shape == (2, 0, 3)
    assert np.isnan(pack(np.full((2, 2), np.nan), 255).unpack()).all()


def test_numbers_without_a_hole_need_not_say_so():
    described = pack(np.array([0.0, 1.0]), 255).model_dump(exclude={"holes"})
    np.testing.assert_array_equal(Packed(**described).unpack(), [0, 1])


def test_bounds_that_are_given_are_kept():
    packed = pack(np.array([0.25, 2.0]), 255, low=0, high=1)
    assert (packed.low, packed.high) == (0, 1)
    np.testing.assert_allclose(packed.unpack(), [0.25, 1.0], atol=0.002)
    below = pack(np.array([-3.0, -0.5, 2.0]), 255, low=-1, high=0)
    assert (below.low, below.high) == (-1, 0)
    np.testing.assert_allclose(below.unpack(), [-1, -0.5, 0], atol=0.002)


def test_bounds_of_no_numbers_are_nothing():
    assert [(packed.low, packed.high) for packed in (pack(np.array([np.nan]), 255), pack(np.zeros(0), 255))] == [
        (0, 0),
        (0, 0),
    ]


@pytest.mark.parametrize("levels", [2, 63, 255, 256, 65535])
def test_every_level_comes_back_where_nothing_is_missing(levels):
    values = np.arange(levels + 1, dtype=np.float64) / levels
    np.testing.assert_allclose(pack(values, levels).unpack(), values, atol=1e-6)


def test_arrays_may_have_as_many_numbers_as_are_allowed_and_not_one_more(monkeypatch):
    monkeypatch.setattr("saccade.trace.packed.MOST", 4)
    assert pack(np.zeros((2, 2)), 255).unpack().shape == (2, 2)
    with pytest.raises(ValidationError, match=r"shape is \[5\], which is more than 4 numbers"):
        pack(np.zeros(5), 255)


@pytest.mark.parametrize("levels", [2, 3, 63, 255, 256, 257, 65535])
def test_numbers_beside_holes_come_back_exactly_where_a_level_is(levels):
    """With holes, one level is reserved."""
    values = np.arange(levels, dtype=np.float64) / (levels - 1)
    back = pack(np.append(values, np.nan), levels).unpack()
    np.testing.assert_allclose(back[:-1], values, atol=1e-6)
    assert np.isnan(back[-1])


def raw(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": raw(b"123")}, r"data has 3 bytes, but the shape \[2\] needs 2"),
        ({"data": raw(bytes(10**7))}, r"data has 3 bytes"),
        ({"shape": [10**30]}, "more than 16,777,216 numbers"),
        ({"high": 1e300}, "less than or equal to 1000"),
        ({"data": "not base64!"}, "data cannot be unpacked"),
        ({"data": base64.b64encode(b"not zlib").decode()}, "data cannot be unpacked"),
        ({"data": base64.b64encode(zlib.compress(b"12")[:-1]).decode()}, "data is cut short or goes on behind its end"),
        (
            {"data": base64.b64encode(zlib.compress(b"12") + b"3").decode()},
            "data is cut short or goes on behind its end",
        ),
        ({"data": raw(b"12")[:4] + "!" + raw(b"12")[4:]}, "data cannot be unpacked"),
        ({"shape": [-1]}, "sizes are 0 or more"),
        ({"shape": [2, -1]}, "sizes are 0 or more"),
        ({"levels": 1}, "greater than or equal to 2"),
        ({"low": 2.0}, "low is 2.0, which is above high"),
        ({"levels": 70000}, "less than or equal to 65535"),
        ({"low": float("nan")}, "finite"),
    ],
)
def test_arrays_that_cannot_be(changes, message):
    good = {"shape": [2], "low": 0.0, "high": 1.0, "levels": 255, "data": raw(b"12")}
    Packed(**good)
    with pytest.raises(ValidationError, match=message):
        Packed(**(good | changes))


def test_arrays_that_are_too_many_together():
    check_total([[MOST]] * 8, "Fewer.")
    assert MOST_TOTAL == 8 * MOST
    with pytest.raises(
        DataError, match=r"at most 134,217,728 numbers.*there are 134,217,729, and 16,777,216 in one\. Few"
    ):
        check_total([*[[MOST]] * 8, [1, 1]], "Fewer.")
    with pytest.raises(DataError, match=r"there are 16,777,217, and 16,777,217 in one"):
        check_total([[MOST + 1]], "Fewer.")
    with pytest.raises(DataError, match=r"there are 16,777,218, and 16,777,217 in one"):
        check_total([[1], [MOST + 1]], "Fewer.")
    check_total([], "None.")

"""Input images and their PNG encoding."""

import io

import numpy as np
import pytest

from saccade.errors import ShapeError
from saccade.look.picture import Picture, data_address, png


@pytest.mark.parametrize("channels", [3, 4])
@pytest.mark.parametrize("size", [(1, 1), (5, 7), (64, 64)])
def test_a_png_opens_as_it_was(size, channels):
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    pixels = np.random.default_rng(0).integers(0, 256, (*size, channels), dtype=np.uint8)
    opened = image.open(io.BytesIO(png(pixels)))
    assert opened.mode == ("RGB" if channels == 3 else "RGBA")
    np.testing.assert_array_equal(np.asarray(opened), pixels)


def test_smooth_pictures_become_small_files():
    ramp = np.add.outer(np.arange(128), np.arange(128)).astype(np.uint8)[..., None].repeat(3, 2)
    assert len(png(ramp)) < 2000


def test_an_address_holds_the_file():
    assert data_address(np.zeros((2, 2, 3), np.uint8)).startswith("data:image/png;base64,iVBORw0KGgo")


def test_regions_in_reading_order():
    picture = Picture(np.zeros((4, 6, 3), np.uint8), 2, 3)
    assert picture.regions == 6
    assert picture.region(0) == (0, 0, 1 / 3, 1 / 2)
    assert picture.region(5) == (2 / 3, 1 / 2, 1, 1)


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 4), (0, 6, 3)])
def test_what_is_no_picture(shape):
    with pytest.raises(ShapeError, match=r"bytes of \(height, width, 3\)"):
        Picture(np.zeros(shape, np.uint8), 2, 3)
    with pytest.raises(ShapeError, match="but is float64"):
        Picture(np.zeros((4, 6, 3)), 2, 3)
    with pytest.raises(ShapeError, match="0 × 3 are given"):
        Picture(np.zeros((4, 6, 3), np.uint8), 0, 3)


@pytest.mark.parametrize("shape", [(1, 17, 3), (17, 1, 3)])
def test_pictures_that_are_too_narrow(shape):
    Picture(np.zeros((1, 16, 3), np.uint8), 1, 1)
    with pytest.raises(ShapeError, match="is too narrow to be shown: one side may be 16 times the other"):
        Picture(np.zeros(shape, np.uint8), 1, 1)

"""Images of every kind are decoded alike, and errors name the image."""

import struct
import sys
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from helpers.images import BLUE, GREEN, RED, WHITE, encoded, png, put_picture, quarters
from saccade.data.pictures import Frame, fit, frame, open_picture
from saccade.errors import ConfigError, DataError, ShapeError


def opened(picture, form="PNG", **options):
    return open_picture(encoded(picture, form, **options), name="it")


@pytest.mark.parametrize("form", ["PNG", "BMP", "GIF", "TIFF", "PPM"])
def test_a_picture_comes_back_as_it_was(form):
    np.testing.assert_array_equal(opened(quarters(), form), quarters())


@pytest.mark.parametrize("form", ["JPEG", "WEBP"])
def test_forms_that_lose_a_little_come_back_nearly(form):
    found = opened(quarters(64, 64), form, quality=95)
    assert np.abs(found.astype(int)[8:24, 8:24] - RED).max() < 12


def test_the_content_decides_what_a_file_is_not_its_name(tmp_path):
    path = put_picture(tmp_path / "really a png.jpg")
    np.testing.assert_array_equal(open_picture(path), quarters())


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_pictures_stand_as_their_camera_says(orientation, form):
    """An image with an EXIF orientation is returned upright."""
    upright = Image.fromarray(quarters(8, 12))
    back = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    stored = upright if back is None else upright.transpose(back)
    exif = Image.Exif()
    exif[0x0112] = orientation
    np.testing.assert_array_equal(opened(stored, form, exif=exif), quarters(8, 12))


def test_what_is_transparent_is_laid_over_white():
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    half = Image.new("RGBA", (4, 4), (255, 0, 0, 128))
    assert (opened(clear) == 255).all()
    assert np.abs(opened(half).astype(int) - (255, 127, 127)).max() <= 1
    assert np.abs(opened(Image.new("LA", (4, 4), (0, 128))).astype(int) - 127).max() <= 1


def test_palettes_and_their_transparent_colour():
    image = Image.fromarray(quarters()).quantize(4)
    np.testing.assert_array_equal(opened(image), quarters())
    number = image.getpixel((0, 0))
    found = opened(image, transparency=number)
    assert (found[0, 0] == 255).all()
    assert tuple(found[0, -1]) == GREEN
    assert (opened(image, transparency=bytes(0 if n == number else 255 for n in range(4)))[0, 0] == 255).all()


def test_grey_of_one_eight_and_sixteen_bits():
    grey = np.array([[0, 128], [255, 64]], np.uint8)
    for image in (Image.fromarray(grey), Image.fromarray(grey.astype(np.uint16) * 257)):
        np.testing.assert_array_equal(opened(image), np.repeat(grey[..., None], 3, 2))
    assert sorted(np.unique(opened(Image.fromarray(grey > 100)))) == [0, 255]


def test_grey_of_numbers():
    deep = Image.fromarray(np.array([[0, 65535]], np.int32))
    assert opened(deep, "TIFF")[0, :, 0].tolist() == [0, 255]
    assert opened(Image.fromarray(np.array([[0, 0.5, 1]], np.float32)), "TIFF")[0, :, 1].tolist() == [0, 128, 255]
    assert opened(Image.fromarray(np.array([[0, 300.0, 7]], np.float32)), "TIFF")[0, :, 1].tolist() == [0, 255, 7]


def grey_png(bits, values, clear):
    """A line of grey numbers of so many bits, one of which is transparent."""
    line = int("".join(f"{value:0{bits}b}" for value in values), 2).to_bytes(bits * len(values) // 8, "big")
    return png(len(values), 1, bits=bits, kind=0, line=line, clear=[clear])


@pytest.mark.parametrize(
    ("bits", "values", "clear", "seen"),
    [
        (16, [0, 0x0A80, 0x0A81, 0x8080, 65535], 0x0A80, [0, 255, 10, 128, 255]),
        (16, [0, 1, 257, 65535], 0, [255, 0, 1, 255]),
        (8, [0, 20, 21], 20, [0, 255, 21]),
        (4, [0, 5, 10, 15], 5, [0, 255, 170, 255]),
        (2, [0, 1, 2, 3], 0, [255, 85, 170, 255]),
        (2, [0, 1, 2, 3], 2, [0, 85, 255, 255]),
        (1, [0, 1, 0, 1, 0, 1, 0, 1], 0, [255] * 8),
    ],
)
def test_one_transparent_grey_is_laid_over_white_and_the_others_are_left(bits, values, clear, seen):
    assert open_picture(grey_png(bits, values, clear))[0, :, 0].tolist() == seen


def test_one_transparent_colour():
    found = open_picture(png(2, 1, line=bytes((1, 2, 3, 4, 5, 6)), clear=[1, 2, 3]))
    assert found[0].tolist() == [[255, 255, 255], [4, 5, 6]]
    deep = bytes((0x0A, 0x80) * 3 + (0x80, 0x80) * 3)
    assert open_picture(png(2, 1, bits=16, line=deep))[0, :, 0].tolist() == [10, 128]
    with pytest.raises(
        DataError, match=r"^it has 16 bits per channel and one transparent color, .* Save it with 8 bits or"
    ):
        open_picture(png(2, 1, bits=16, line=deep, clear=[0x0A80] * 3), name="it")


@pytest.mark.parametrize("packed", ["raw", "tiff_lzw"])
@pytest.mark.parametrize(
    "values",
    [
        np.array([[0, 10, 100, 255]], np.uint8),
        np.array([[0, 2570, 25700, 65535]], np.uint16),
        np.array([[0, 10 / 255, 100 / 255, 1]], np.float32),
    ],
)
def test_tiffs_whose_numbers_mean_darkness(values, packed):
    data = encoded(values, "TIFF", compression=packed)
    assert open_picture(data)[0, :, 0].tolist() == [0, 10, 100, 255]
    meaning = struct.pack("<HHI", 262, 3, 1)
    dark = data.replace(meaning + b"\1", meaning + b"\0")
    assert dark != data
    assert open_picture(dark)[0, :, 0].tolist() == [255, 245, 155, 0]


def test_a_tiff_of_twelve_bits():
    data = encoded(np.frombuffer(b"\x00\x08\x00\xff\xf0\x00", np.uint16).reshape(1, 3), "TIFF")
    bits = struct.pack("<HHI", 258, 3, 1)
    short = data.replace(bits + b"\x10", bits + b"\x0c")  # the same bytes are now 0, 2048 and 4095
    assert short != data
    assert open_picture(short)[0, :, 0].tolist() == [0, 128, 255]


def test_numbers_that_are_none_are_no_error():
    found = opened(Image.fromarray(np.array([[np.nan, np.inf, -np.inf, 7]], np.float32)), "TIFF")
    assert found[0, :, 0].tolist() == [0, 255, 0, 7]


def test_colours_for_print():
    found = opened(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=95)
    assert np.abs(found.astype(int) - RED).max() < 12


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"none\.png does not exist"):
        open_picture(tmp_path / "none.png")


def test_an_empty_file(tmp_path):
    (tmp_path / "no.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"no\.png is empty: it has no bytes. Copy"):
        open_picture(tmp_path / "no.png")


def test_something_else_than_a_picture(tmp_path):
    (tmp_path / "text.png").write_text("hello, I am a sentence")
    with pytest.raises(DataError, match=r"text\.png is not an image that can be opened.* Save it as PNG or JPEG"):
        open_picture(tmp_path / "text.png")


def test_formats_that_call_other_programs_are_not_opened():
    with pytest.raises(DataError, match="the drawing is not an image that can be opened"):
        open_picture(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", name="the drawing")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "BMP", "WEBP"])
def test_a_file_that_was_cut(tmp_path, form):
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    data = encoded(noise, form)
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    with pytest.raises(DataError, match=r"cut\.png is (cut or damaged and cannot be decoded|not an image)"):
        open_picture(tmp_path / "cut.png")


@given(st.binary(max_size=200), st.sampled_from(["PNG", "JPEG", "GIF"]), st.integers(0, 400))
def test_damage_anywhere_is_a_data_error_or_none(noise, form, at):
    data = encoded(quarters(16, 16), form)
    with suppress(DataError):
        assert open_picture(data[:at] + noise + data[at + len(noise) :], name="it").shape[2] == 3


@pytest.mark.parametrize("data", [b"GIF89a\0\0\0\0\0\0\0;", b"P6\n0 5\n255\n", png(0, 4)])
def test_a_picture_without_pixels(data):
    with pytest.raises(DataError, match=r"it is not an image that can be opened: .* or declares no pixels"):
        open_picture(data, name="it")


@pytest.mark.parametrize(
    ("wide", "high", "said"),
    [(8000, 8000, "8000 × 8000 pixels, more"), (10000, 10000, "far more pixels"), (60000, 60000, "far more pixels")],
)
def test_pictures_too_large_to_decode_are_refused_by_their_header(wide, high, said):
    with pytest.raises(DataError, match=f"it has {said} than the 50 million that are decoded. Make it smaller"):
        open_picture(png(wide, high), name="it")


def test_files_too_large_to_open(tmp_path):
    path = put_picture(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"a\.png has more than 5e-05 MB, the most that is opened. Save it smaller"):
        open_picture(path, max_bytes=50)
    with pytest.raises(DataError, match="the image has more than"):
        open_picture(path.read_bytes(), max_bytes=50)


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    with pytest.raises(ConfigError, match=r"opening it needs the extra 'images'\. .* -e '\.\[images\]'"):
        open_picture(b"data", name="it")


def test_a_crop_is_the_middle():
    wide = np.zeros((40, 120, 3), np.uint8)
    wide[:, 40:80] = RED
    assert (fit(wide, 10)[:, 1:-1] == RED).all()
    assert (fit(wide.transpose(1, 0, 2).copy(), 10)[1:-1] == RED).all()


def test_padding_keeps_all_in_its_shape():
    found = fit(np.full((20, 40, 3), RED, np.uint8), 16, "pad")
    assert (found[4:12] == RED).all()
    assert (found[:4] == 128).all()
    assert (found[12:] == 128).all()
    assert fit(np.zeros((1, 900, 3), np.uint8), 8, "pad").shape == (8, 8, 3)


def test_squashing_fills_the_square():
    found = fit(quarters(20, 60), 10, "squash")
    corners = [tuple(found[y, x].tolist()) for y in (0, -1) for x in (0, -1)]
    assert corners == [RED, GREEN, BLUE, WHITE]


def test_fine_patterns_become_grey_when_made_smaller():
    """An image resized without antialiasing would stay black or white."""
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[::2] = 255
    assert np.abs(fit(stripes, 8).astype(int) - 127).max() < 12


def test_a_picture_that_fits_stays_as_it_is():
    picture = quarters(8, 8)
    assert fit(picture, 8, "pad") is picture


@pytest.mark.parametrize("how", ["crop", "pad", "squash"])
@pytest.mark.parametrize("shape", [(60, 100), (100, 60), (50, 50)])
def test_boxes_go_where_the_picture_goes(how, shape):
    """A red spot, fitted, lies where its box says."""
    picture = np.zeros((*shape, 3), np.uint8)
    top, left = shape[0] // 2 - 10, shape[1] // 2 - 5
    picture[top : top + 20, left : left + 20] = RED
    box = (left / shape[1], top / shape[0], (left + 20) / shape[1], (top + 20) / shape[0])
    placed = frame(shape, 200, how)
    x0, y0, x1, y1 = (value * 200 for value in placed.box(box))
    rows, columns = np.nonzero(fit(picture, 200, how)[..., 0] > fit(picture, 200, how)[..., 1].astype(int) + 100)
    assert [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1] == pytest.approx([x0, y0, x1, y1], abs=1.5)
    assert placed.back(placed.box(box)) == pytest.approx(box)


def test_boxes_outside_are_gone_and_those_on_the_edge_are_cut():
    placed = frame((50, 100), 10, "crop")
    assert placed.box((0.0, 0.1, 0.2, 0.9)) is None
    assert placed.box((0.0, 0.0, 0.5, 1.0)) == pytest.approx((0, 0, 0.5, 1))
    assert frame((50, 100), 100, "pad").back((0.1, 0.0, 0.9, 0.2)) is None
    assert frame((9, 9), 3, "pad") == Frame((1.0, 1.0), (0.0, 0.0))


@pytest.mark.parametrize("wrong", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_what_is_no_picture_cannot_be_fitted(wrong):
    with pytest.raises(ShapeError, match=r"an image must be bytes of \(height, width, 3\), but is"):
        fit(wrong, 4)


def test_ways_and_sizes_that_do_not_exist():
    with pytest.raises(ConfigError, match=r"cannot be fitted by 'stretch'. Choose crop, pad or squash"):
        fit(quarters(), 4, "stretch")
    with pytest.raises(ConfigError, match=r"images of 0 × 0 pixels are asked for. Ask for 1 or more"):
        fit(quarters(), 0)


def test_a_picture_may_be_as_large_as_the_limits():
    data = encoded(quarters(8, 12))
    limits = {"max_bytes": len(data), "max_pixels": 8 * 12}
    np.testing.assert_array_equal(open_picture(data, **limits), quarters(8, 12))
    with pytest.raises(DataError, match=r"the image has 12 × 8 pixels, more than the 9\.5e-05 million"):
        open_picture(data, **limits | {"max_pixels": 8 * 12 - 1})
    with pytest.raises(DataError, match="the image has more than"):
        open_picture(data, **limits | {"max_bytes": len(data) - 1})


@pytest.mark.parametrize(("values", "seen"), [([0, 7, 255], [0, 7, 255]), ([0, 257, 65535], [0, 1, 255])])
def test_whole_numbers_up_to_255_are_bytes_and_larger_ones_are_not(values, seen):
    assert opened(Image.fromarray(np.array([values], np.int32)), "TIFF")[0, :, 0].tolist() == seen


@pytest.mark.parametrize("how", ["crop", "pad", "squash"])
def test_a_picture_may_become_one_pixel(how):
    assert fit(np.full((3, 3, 3), RED, np.uint8), 1, how).tolist() == [[list(RED)]]


def test_a_box_that_only_touches_the_square_is_gone():
    placed = frame((50, 100), 10, "crop")  # the middle half of it
    assert placed.box((0.0, 0.0, 0.25, 1.0)) is None
    assert placed.box((0.75, 0.0, 1.0, 1.0)) is None
    assert frame((100, 50), 10, "crop").box((0.0, 0.0, 1.0, 0.25)) is None

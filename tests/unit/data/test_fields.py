"""Fields: images on larger ones, among parts of others; and the files of MNIST."""

import gzip
import struct

import numpy as np
import pytest

from saccade.data.field_feature import ink_of_images
from saccade.data.fields import Fields, FieldsConfig, uniform
from saccade.data.idx_files import read_idx
from saccade.data.public.mnist import convert_mnist
from saccade.errors import DataError

FOUR = np.arange(4)


def squares(count=4, side=6):
    """Black squares of 2 × 3 pixels at the same place."""
    ink = np.zeros((count, side, side), np.uint8)
    ink[:, 1:3, 2:5] = 255
    return ink


def test_an_image_lies_where_its_box_says():
    fields, boxes = Fields(squares(), FieldsConfig(size=20), "valid").draw(FOUR, FOUR)
    assert fields.shape == (4, 20, 20)
    for field, box in zip(fields, (boxes * 20).round().astype(int), strict=True):
        left, top, right, bottom = box[1]
        assert box[0].tolist() == [left - 2, top - 1, left + 4, top + 5]
        assert (right - left, bottom - top) == (3, 2)
        assert (field[top:bottom, left:right] == 255).all()
        assert field.sum() == 6 * 255
    assert len({tuple(box) for box in boxes[:, 1]}) == 4, "at different places"


def test_a_field_depends_on_its_number_and_split_alone():
    config = FieldsConfig(size=20, clutter=3, clutter_size=3)
    whole, _ = Fields(squares(), config, "train").draw(FOUR, FOUR)
    part, _ = Fields(squares(), config, "train").draw(FOUR[2:], FOUR[2:])
    other, _ = Fields(squares(), config, "test").draw(FOUR, FOUR)
    np.testing.assert_array_equal(whole[2:], part)
    assert (whole != other).any()


def test_clutter_adds_parts_and_hides_nothing():
    plain, boxes = Fields(squares(), FieldsConfig(size=20), "train").draw(FOUR, FOUR)
    filled, same = Fields(squares(), FieldsConfig(size=20, clutter=4, clutter_size=4), "train").draw(FOUR, FOUR)
    assert filled.astype(int).sum() > plain.astype(int).sum()
    assert same.shape == boxes.shape
    inside = (same[:, 1] * 20).round().astype(int)
    for field, (left, top, right, bottom) in zip(filled, inside, strict=True):
        assert (field[top:bottom, left:right] == 255).all()


def test_training_images_are_bent_and_others_are_not():
    config = FieldsConfig(turn=20.0, zoom=0.2, shift=1.0)
    assert (Fields(squares(), config, "train").draw(FOUR, FOUR)[0] != squares()).any()
    np.testing.assert_array_equal(Fields(squares(), config, "valid").draw(FOUR, FOUR)[0], squares())


def test_random_numbers_are_even():
    found = uniform("name", np.arange(20000), 3)
    assert 0 <= found.min() < found.max() < 1
    np.testing.assert_allclose(found.mean(0), 0.5, atol=0.01)
    np.testing.assert_allclose(np.corrcoef(found.T), np.eye(3), atol=0.03)


def test_ink_is_what_the_border_is_not():
    light = np.full((1, 6, 6, 3), 250, np.uint8)
    light[:, 2:4, 2:4] = 10
    np.testing.assert_array_equal(ink_of_images(light)[0, 1:3, 1:3], [[5, 5], [5, 245]])
    np.testing.assert_array_equal(ink_of_images(255 - light)[0, 1:3, 1:3], [[5, 5], [5, 245]])


def idx(path, array, kind=8):
    data = bytes([0, 0, kind, array.ndim]) + struct.pack(f">{array.ndim}i", *array.shape) + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def test_mnist_is_converted_with_a_part_for_validation(tmp_path):
    images, labels = np.arange(40 * 4, dtype=np.uint8).reshape(40, 2, 2), np.arange(40, dtype=np.uint8)
    idx(tmp_path / "train-images-idx3-ubyte.gz", images)
    idx(tmp_path / "train-labels-idx1-ubyte", labels)
    files = convert_mnist(tmp_path, tmp_path)
    assert [file.name for file in files] == ["train.npz", "valid.npz"]
    train, valid = (np.load(file) for file in files)
    assert sorted([*train["labels"], *valid["labels"]]) == [*range(40)]
    assert len(valid["labels"]) == 5
    np.testing.assert_array_equal(train["images"], images[train["labels"]])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:-1], "has 159"),
        (lambda data: data + b"1", "has more"),
        (lambda data: b"\1" + data[1:], "is no IDX file"),
        (lambda data: data[:4] + struct.pack(">i", 2**30) + data[8:], "claims 4.3 GB"),
        (lambda data: b"", "is no IDX file"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, change, said):
    path = idx(tmp_path / "images", np.zeros((40, 2, 2), np.uint8))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=said):
        read_idx(path, 3)


def test_a_damaged_archive_and_missing_files_are_refused(tmp_path):
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(b"123")[:-4])
    with pytest.raises(DataError, match="damaged"):
        read_idx(path, 3)
    with pytest.raises(DataError, match="lacks train-images"):
        convert_mnist(tmp_path, tmp_path)

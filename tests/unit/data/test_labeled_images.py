"""Labeled images: folders of folders and .npz files, and files that are not what they claim."""

import io
import zipfile

import numpy as np
import pytest

from helpers.tasks import write_drawings
from saccade.corpora import alphabets
from saccade.data.labeled_images import LABELED_IMAGES, PixelArray
from saccade.data.npz_files import read_arrays
from saccade.errors import ConfigError, DataError


def test_a_folder_of_folders_is_read_in_order(tmp_path):
    support = write_drawings(tmp_path, 3, 2)
    (support / "letter1" / "notes.txt").write_text("no image")
    (support / "empty").mkdir()
    found = list(LABELED_IMAGES.read([support]))
    assert [example.label for example in found] == [f"letter{number}" for number in (1, 1, 2, 2, 3, 3)]
    assert found[0].image.load().shape == (28, 28, 3)
    nested = list(LABELED_IMAGES.read([tmp_path]))
    assert nested[0].label == "support/letter1", "as Omniglot's alphabet/character"


def test_what_is_written_is_read_back(tmp_path):
    examples = list(alphabets("test", 25))
    (path,) = LABELED_IMAGES.write(examples, tmp_path, "drawn", ())
    found = list(LABELED_IMAGES.read([path]))
    assert [each.label for each in found] == [each.label for each in examples]
    for one, other in zip(found, examples, strict=True):
        assert np.array_equal(one.image.load(), other.image.load())


def test_booleans_are_white_where_true_and_axes_may_be_several(tmp_path):
    images = np.zeros((2, 3, 4, 4), bool)
    images[1, 2] = True
    np.savez(tmp_path / "all.npz", images=images, labels=np.array([[7] * 3, [9] * 3]))
    found = list(LABELED_IMAGES.read([tmp_path / "all.npz"]))
    assert [each.label for each in found] == ["7"] * 3 + ["9"] * 3
    assert found[-1].image.load().min() == 255
    assert found[0].image.load().max() == 0


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"labels": np.zeros(3)}, "has no array 'images'. It has: labels"),
        ({"images": np.zeros((3, 4, 4), np.float32), "labels": np.zeros(3)}, "images are bytes or booleans"),
        ({"images": np.zeros((3, 4, 4), np.uint8), "labels": np.zeros(2)}, "and labels"),
        ({"images": np.zeros((3, 4, 4, 2), np.uint8), "labels": np.zeros(3)}, r"they are \(height, width"),
        ({"images": np.zeros((3, 4), np.uint8), "labels": np.zeros(3)}, r"they are \(height, width"),
        ({"images": np.array([{}, {}]), "labels": np.zeros(2)}, "Python objects"),
    ],
)
def test_other_arrays_are_refused(tmp_path, arrays, why):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=why):
        list(LABELED_IMAGES.read([tmp_path / "a.npz"]))


def test_files_that_are_cut_or_lie_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"no whole \.npz file"):
        list(LABELED_IMAGES.read([path]))
    with pytest.raises(DataError, match=r"none\.npz"):
        list(LABELED_IMAGES.read([tmp_path / "none.npz"]))
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**12, 28, 28)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images.npy", header.getvalue())
    with pytest.raises(DataError, match="claims 784,000"):
        read_arrays(path, ["images"], 10**9)


def test_what_is_no_place_of_images_is_refused(tmp_path):
    with pytest.raises(DataError, match="has no folders with images"):
        list(LABELED_IMAGES.read([tmp_path]))
    with pytest.raises(ConfigError, match="from one place, but given is nothing"):
        LABELED_IMAGES.read([])
    with pytest.raises(ConfigError, match="have no columns"):
        LABELED_IMAGES.read([tmp_path], columns=["a"])


def test_images_of_several_sizes_cannot_be_written(tmp_path):
    examples = [
        *alphabets("test", 1),
        *(type(each)(label="x", image=PixelArray("x", np.zeros((5, 5), np.uint8))) for each in alphabets("test", 1)),
    ]
    with pytest.raises(DataError, match=r"have one size, but there are \(28, 28\) and \(5, 5\)"):
        LABELED_IMAGES.write(examples, tmp_path, "drawn", ())
    assert not list(tmp_path.iterdir())

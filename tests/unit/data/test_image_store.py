"""Prepared images: created once, complete or not at all, with a note of what was left out."""

import threading

import numpy as np
import pytest

from helpers.images import put_picture, quarters
from saccade.data.image_store import ImageStore, Skipped
from saccade.data.picture_files import PictureFile
from saccade.data.pictures import fit
from saccade.errors import ConfigError, DataError


class Plain:
    """An image of one brightness, which fails if it is loaded while forbidden."""

    def __init__(self, value, shape=(6, 9), forbidden=False):
        self.value, self.shape, self.forbidden = value, shape, forbidden
        self.name = f"plain {value}"

    def load(self):
        assert not self.forbidden, "the image was opened"
        if self.value < 0:
            raise DataError(f"{self.name} is broken.")
        return np.full((*self.shape, 3), self.value, np.uint8)

    def stamp(self):
        return [self.value]


def plain(*values, **options):
    return [Plain(value, **options) for value in values]


def test_rows_in_any_order(tmp_path):
    store = ImageStore.open(tmp_path, plain(10, 20, 30), 4)
    assert len(store) == 3
    found = store.rows([2, 0, 2])
    assert found.shape == (3, 4, 4, 3)
    assert found.dtype == np.uint8
    assert found[:, 1, 1, 0].tolist() == [30, 10, 30]
    assert store.rows(np.array([1], np.int64))[0, 0, 0, 2] == 20
    assert isinstance(store.images, np.memmap)


def test_pictures_are_fitted(tmp_path):
    picture = PictureFile(put_picture(tmp_path / "a.png", quarters(20, 60)))
    for how in ("crop", "pad", "squash"):
        store = ImageStore.open(tmp_path / "cache", [picture], 10, how)
        np.testing.assert_array_equal(store.rows([0])[0], fit(quarters(20, 60), 10, how))
        assert (store.size, store.how) == (10, how)
    assert store.shapes.tolist() == [[20, 60]]
    assert ImageStore.open(tmp_path / "cache", [picture], 10).frame(0).box((0.4, 0, 0.5, 1)) == pytest.approx(
        (0.2, 0, 0.5, 1)
    )


def test_a_store_is_used_again_while_nothing_changed(tmp_path):
    ImageStore.open(tmp_path, plain(10, 20), 4)
    again = ImageStore.open(tmp_path, plain(10, 20, forbidden=True), 4)
    assert again.rows([1])[0, 0, 0, 0] == 20


def test_other_pictures_sizes_and_ways_make_other_stores(tmp_path):
    ImageStore.open(tmp_path, plain(10, 20), 4)
    assert len(ImageStore.open(tmp_path, plain(10), 4)) == 1
    assert ImageStore.open(tmp_path, plain(10, 20), 5).size == 5
    assert ImageStore.open(tmp_path, plain(10, 20, shape=(4, 12)), 4, "pad").rows([0])[0, 0, 0, 0] == 128
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_that_changed_makes_another_store(tmp_path):
    picture = PictureFile(put_picture(tmp_path / "a.png"))
    before = ImageStore.open(tmp_path / "cache", [picture], 4).rows([0])
    put_picture(tmp_path / "a.png", np.zeros((5, 5, 3), np.uint8))
    assert (ImageStore.open(tmp_path / "cache", [picture], 4).rows([0]) != before).any()


def test_a_key_stands_for_the_stamps(tmp_path):
    ImageStore.open(tmp_path, plain(10), 4, key="one")
    assert ImageStore.open(tmp_path, plain(99, forbidden=True), 4, key="one").rows([0])[0, 0, 0, 0] == 10


def test_broken_pictures_are_left_out_with_a_note(tmp_path):
    for _ in range(2):  # the note is kept with the store
        store = ImageStore.open(tmp_path, plain(10, *range(-8, -1), 20), 4)
        assert store.whole.tolist() == [True, *[False] * 7, True]
        assert (store.skipped.count, store.skipped.total, len(store.skipped.first)) == (7, 9, 5)
        assert store.skipped.note.startswith("7 of 9 images were left out: plain -8 is broken. plain -7 is broken.")
        assert store.skipped.note.endswith("plain -4 is broken. And 2 more.")
        assert store.rows([0, 8])[:, 0, 0, 0].tolist() == [10, 20]
    assert Skipped(0, 9, ()).note is None
    assert Skipped(1, 9, ("it is broken.",)).note == "1 of 9 images were left out: it is broken."


def test_a_missing_file_is_left_out(tmp_path):
    pictures = [PictureFile(tmp_path / "none.png"), PictureFile(put_picture(tmp_path / "a.png"))]
    store = ImageStore.open(tmp_path / "cache", pictures, 4)
    assert store.whole.tolist() == [False, True]
    assert "none.png does not exist" in store.skipped.note


def test_nothing_that_can_be_used_is_an_error(tmp_path):
    with pytest.raises(
        DataError, match=r"none of the 2 images can be used. plain -2 is broken. plain -1 is broken. Check that"
    ):
        ImageStore.open(tmp_path, plain(-2, -1), 4)
    with pytest.raises(DataError, match="there is no image to prepare"):
        ImageStore.open(tmp_path, [], 4)
    with pytest.raises(ConfigError, match="images of 0 × 0 pixels"):
        ImageStore.open(tmp_path, plain(3, forbidden=True), 0)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_store_is_made_anew(tmp_path):
    ImageStore.open(tmp_path, plain(10), 4)
    (folder,) = tmp_path.iterdir()
    (folder / "images.npy").write_bytes(b"short")
    assert ImageStore.open(tmp_path, plain(10), 4).rows([0])[0, 0, 0, 0] == 10


def test_several_may_make_the_same_at_once(tmp_path):
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(ImageStore.open(tmp_path, plain(*range(40)), 4))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.rows([39])[0, 0, 0, 0] for store in found] == [39] * 4
    assert len(list(tmp_path.iterdir())) == 1


def test_many_pictures_in_their_order(tmp_path, monkeypatch):
    monkeypatch.setattr("saccade.data.image_store._CHUNK", 7)
    store = ImageStore.open(tmp_path, plain(*range(100)), 2)
    assert store.images[:, 0, 0, 0].tolist() == list(range(100))

"""Omniglot as published, in folders or as arrays, becomes what its recipes read."""

import numpy as np
import pytest

pytest.importorskip("PIL", reason="needs Pillow")

from PIL import Image

from saccade.data.labeled_images import LABELED_IMAGES
from saccade.data.public.omniglot import convert_omniglot
from saccade.errors import DataError


def paper(characters=10, drawers=2):
    """True is paper; character n has a line of ink at row 10 n + 4."""
    images = np.ones((characters, drawers, 105, 105), bool)
    for number in range(characters):
        images[number, :, 10 * number + 4 : 10 * number + 10] = False
    return images


def inked(example):
    return int(example.image.load()[..., 0].mean(1).argmin())


def test_arrays_are_split_by_character(tmp_path):
    np.savez_compressed(tmp_path / "images_background.npz", images=paper(), labels=np.zeros((10, 2)))
    written = convert_omniglot(tmp_path, tmp_path / "out")
    assert [path.name for path in written] == ["train.npz", "valid.npz", "test.npz"]
    parts = [list(LABELED_IMAGES.read([path])) for path in written]
    assert [len(part) for part in parts] == [16, 2, 2]
    labels = [{one.label for one in part} for part in parts]
    assert not labels[0] & (labels[1] | labels[2])
    assert not labels[1] & labels[2]
    first, last = parts[0][0], parts[2][0]
    assert first.image.load().shape == (28, 28, 3)
    assert inked(first) == 1
    assert inked(last) == 25
    assert first.image.load().max() == 255


def test_folders_give_the_same_pictures(tmp_path):
    for number, drawings in enumerate(paper()):
        alphabet = ("Abc", "Kana", "Zulu")[(number > 7) + (number > 8)]
        place = tmp_path / "images_background" / alphabet / f"character{number:02}"
        place.mkdir(parents=True)
        for drawer, drawing in enumerate(drawings):
            Image.fromarray(drawing).save(place / f"{drawer}.png")
    np.savez_compressed(tmp_path / "images_background.npz", images=paper())
    folders = convert_omniglot(tmp_path, tmp_path / "one")
    (tmp_path / "images_background").rename(tmp_path / "elsewhere")
    arrays = convert_omniglot(tmp_path, tmp_path / "two")
    for one, other in zip(folders, arrays, strict=True):
        first, second = (list(LABELED_IMAGES.read([path])) for path in (one, other))
        assert all(np.array_equal(a.image.load(), b.image.load()) for a, b in zip(first, second, strict=True))
        assert first[0].label.startswith(("Abc/character", "Kana/character", "Zulu/character"))


def test_alphabets_are_not_split(tmp_path):
    """Eight and nine tenths of 20 lie within alphabets, which go to the split before."""
    for number, alphabet in enumerate(["Abc"] * 17 + ["Kana"] * 2 + ["Zulu"]):
        place = tmp_path / "images_background" / alphabet / f"character{number:02}"
        place.mkdir(parents=True)
        Image.fromarray(np.zeros((105, 105), bool)).save(place / "0.png")
    parts = [LABELED_IMAGES.read([path]) for path in convert_omniglot(tmp_path, tmp_path / "out")]
    assert [{str(one.label).partition("/")[0] for one in part} for part in parts] == [{"Abc"}, {"Kana"}, {"Zulu"}]


@pytest.mark.parametrize(("images", "why"), [(paper(3), "too few to split"), (np.ones((4, 9)), "but needs")])
def test_what_is_not_omniglot_is_refused(tmp_path, images, why):
    np.savez_compressed(tmp_path / "images_background.npz", images=images)
    with pytest.raises(DataError, match=why):
        convert_omniglot(tmp_path, tmp_path / "out")


def test_a_folder_without_it_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"has neither images_background\.npz nor a folder images_background"):
        convert_omniglot(tmp_path, tmp_path / "out")

"""Flickr8k as published becomes what its recipe reads."""

import pytest

pytest.importorskip("PIL", reason="needs Pillow")

from helpers.images import put_picture
from saccade.data.captions import captions
from saccade.data.public.flickr8k import convert_flickr8k
from saccade.errors import DataError

LISTS = {"train": "a.jpg\nc.jpg\n", "dev": "b.jpg\n", "test": "d.jpg\n"}


@pytest.fixture
def published(tmp_path):
    text = tmp_path / "Flickr8k_text"
    for name in "abcd":
        put_picture(tmp_path / "Flicker8k_Dataset" / f"{name}.jpg", form="JPEG")
    text.mkdir()
    lines = [f"{name}.jpg#{n}\tA {name} , number {n} .\n" for name in "abcd" for n in range(2)]
    (text / "Flickr8k.token.txt").write_text("".join(lines), encoding="utf-8")
    for split, names in LISTS.items():
        (text / f"Flickr_8k.{split}Images.txt").write_text(names, encoding="utf-8")
    return tmp_path


def test_parts_have_their_pictures_with_all_captions(published, tmp_path):
    written = convert_flickr8k(published, tmp_path / "out")
    assert [path.name for path in written] == ["train.captions.tsv", "valid.captions.tsv", "test.captions.tsv"]
    train, valid, _ = (list(captions([path])) for path in written)
    assert [example.target for example in train] == [f"A {name} , number {n} ." for name in "ac" for n in range(2)]
    assert len(valid) == 2
    assert all(example.image.load().shape[2] == 3 for example in (*train, *valid))


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("Flickr8k_text/Flickr8k.token.txt", "has no Flickr8k.token.txt"),
        ("Flickr8k_text/Flickr_8k.devImages.txt", "has no Flickr_8k.devImages.txt"),
    ],
)
def test_what_is_missing_is_named(published, missing, told):
    (published / missing).unlink()
    with pytest.raises(DataError, match=told):
        convert_flickr8k(published, published / "out")


def test_lists_name_pictures_that_have_captions(published):
    (published / "Flickr8k_text" / "Flickr_8k.testImages.txt").write_text("z.jpg\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"lists z\.jpg"):
        convert_flickr8k(published, published / "out")


def test_pictures_must_be_there(tmp_path):
    with pytest.raises(DataError, match="no folder of images"):
        convert_flickr8k(tmp_path, tmp_path / "out")

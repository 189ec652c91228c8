"""Captions in every layout, their images, and every error in them."""

import json
import zipfile

import numpy as np
import pytest

from helpers.data import SUFFIXES, put
from helpers.images import encoded, put_picture, quarters
from saccade.data.captions import by_picture, caption_lines, captions, coco, flickr, named
from saccade.data.example import Example
from saccade.data.forms import CAPTIONS
from saccade.data.picture_files import PictureFile, PicturePlace
from saccade.errors import ConfigError, DataError

DOGS = ("a dog runs", "one dog")
DOG, CAT = "dog.png", "cat.png"


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "pictures.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"deep/{DOG}", encoded(quarters()))
        file.writestr(CAT, encoded(quarters(4, 4)))
        file.writestr("notes.png", "not a picture")
    return path


def told(found):
    """Return image name, caption and references of each example."""
    return [(example.image.path.name, example.target, example.references) for example in found]


EXPECTED = [(DOG, DOGS[0], DOGS), (DOG, DOGS[1], DOGS), (CAT, "a cat", ("a cat",))]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_and_captions(tmp_path, suffix):
    path = put(tmp_path / f"c.tsv{suffix}", f"{DOG}\ta  dog runs\n{CAT}\ta cat \n{DOG}\tone dog\n")
    assert told(named(path)) == told(captions([path])) == told(CAPTIONS.read([path])) == EXPECTED


def test_names_with_numbers(tmp_path):
    path = put(tmp_path / "Flickr8k.token.txt", f"{DOG}#0\ta dog runs\n{DOG}#1\tone dog\n{CAT}#0\ta cat\n")
    assert told(flickr(path)) == told(captions([path])) == EXPECTED


def test_json_lines(tmp_path):
    rows = [{"image": f"in/{DOG}", "captions": DOGS}, {"image": CAT, "captions": ["a cat"], "license": 3}]
    path = put(tmp_path / "c.jsonl", "\n".join(map(json.dumps, rows)))
    assert told(caption_lines(path)) == told(captions([path])) == EXPECTED
    assert next(captions([path])).image == PictureFile(tmp_path / "in" / DOG)
    (tmp_path / "in").mkdir()
    assert next(captions([path, tmp_path / "in"])).image == PictureFile(tmp_path / "in" / "in" / DOG)
    assert told(captions([put(tmp_path / "c.json", path.read_text())])) == EXPECTED


def test_boxes_of_words(tmp_path):
    box = [0, 0.25, 0.5, 1]
    row = {"image": DOG, "captions": DOGS, "boxes": [[None, box, box], None]}
    first, second = caption_lines(put(tmp_path / "c.jsonl", json.dumps(row)))
    assert first.boxes == (None, tuple(box), tuple(box))
    assert second.boxes is None


@pytest.mark.parametrize("indent", [None, 2])
def test_coco(tmp_path, indent):
    whole = {
        "info": {},
        "images": [{"id": 7, "file_name": DOG}, {"id": 9, "file_name": "alone.png"}, {"id": 8, "file_name": CAT}],
        "annotations": [
            {"image_id": 7, "id": 1, "caption": "a dog runs\n"},
            {"image_id": 8, "id": 2, "caption": "a cat"},
            {"image_id": 7, "id": 3, "caption": " one dog"},
        ],
    }
    path = put(tmp_path / "captions_val.json", json.dumps(whole, indent=indent))
    assert told(coco(path)) == told(captions([path])) == EXPECTED


@pytest.mark.parametrize("place", ["train.images", "images", "Images", "train"])
def test_pictures_are_found_beside_their_captions(tmp_path, place):
    put_picture(tmp_path / place / DOG)
    (example,) = captions([put(tmp_path / "train.captions.tsv.xz", f"{DOG}\ta dog\n")])
    assert example.image.path == tmp_path / place / DOG
    np.testing.assert_array_equal(example.image.load(), quarters())


@pytest.mark.parametrize("name", ["train.images.zip", "images.zip", "train.zip"])
def test_archives_are_found_beside_their_captions(tmp_path, archive, name):
    archive.rename(tmp_path / name)
    found = list(captions([put(tmp_path / "train.captions.tsv", f"{DOG}\ta dog\n{CAT}\ta cat\n")]))
    assert [example.image.load().shape for example in found] == [(8, 12, 3), (4, 4, 3)]
    assert found[0].image.inside == f"deep/{DOG}"


def test_a_folder_or_an_archive_may_be_named(tmp_path, archive):
    path = put(tmp_path / "c.tsv", f"{CAT}\ta cat\n")
    assert next(captions([path, archive])).image == PictureFile(archive, CAT)
    put_picture(tmp_path / "else" / CAT)
    assert next(captions([path, tmp_path / "else"])).image.load().shape == (8, 12, 3)


def test_names_that_two_members_share_must_be_whole(tmp_path):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/x.png", encoded(quarters()))
        file.writestr("b/x.png", encoded(quarters(4, 4)))
    assert PicturePlace(path).picture("b/x.png").load().shape == (4, 4, 3)
    with pytest.raises(DataError, match=r"p\.zip holds no image named 'x\.png'. Check the name, or leave"):
        PicturePlace(path).picture("x.png").load()


def test_what_is_wrong_with_a_member_is_told(archive):
    with pytest.raises(DataError, match=r"notes\.png in .*pictures\.zip is not an image"):
        PictureFile(archive, "notes.png").load()


def test_a_damaged_member(archive):
    data = bytearray(archive.read_bytes())
    data[60:80] = b"?" * 20
    archive.write_bytes(data)
    with pytest.raises(DataError, match=rf"deep/{DOG} in .* is damaged \(.*\). Copy or download the archive again"):
        PictureFile(archive, f"deep/{DOG}").load()


def test_a_member_that_is_locked(archive):
    data = bytearray(archive.read_bytes())
    data[6] |= 1
    entry = data.index(b"PK\x01\x02")
    data[entry + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(DataError, match=r"cannot be unpacked \(.*encrypted.*\). Pack the archive again without that"):
        PictureFile(archive, f"deep/{DOG}").load()


def test_a_member_that_would_grow_too_large(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zeros.png", b"\0" * (33 * 10**6))
    with pytest.raises(DataError, match=r"zeros\.png in .*bomb\.zip has more than 32 MB"):
        PictureFile(path, "zeros.png").load()


def test_an_archive_that_changed_is_opened_again(archive):
    assert PictureFile(archive, CAT).load().shape == (4, 4, 3)
    before = PictureFile(archive, CAT).stamp()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(CAT, encoded(quarters(6, 20)))
    assert PictureFile(archive, CAT).load().shape == (6, 20, 3)
    assert PictureFile(archive, CAT).stamp() != before


def test_places_that_hold_no_pictures(tmp_path, archive):
    with pytest.raises(DataError, match=r"none\.zip does not exist"):
        PicturePlace(tmp_path / "none.zip")
    with pytest.raises(DataError, match=r"c\.tsv holds no images: it is neither a folder nor a whole \.zip archive"):
        PicturePlace(put(tmp_path / "c.tsv", "text"))
    with pytest.raises(ConfigError, match=r"pictures\.zip holds images, not captions. Name the file of captions first"):
        captions([archive])
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK")
    with pytest.raises(DataError, match=r"broken\.zip is not a whole \.zip archive .* Copy or download it again"):
        PictureFile(broken, "a.png").load()


def test_too_few_or_many_files(tmp_path):
    for paths, said in (([], "nothing"), ([tmp_path] * 3, f"{tmp_path}, ")):
        with pytest.raises(ConfigError, match=f"a folder or .zip of images; given is {said}.*Name one or two"):
            captions(paths)


def test_columns_are_fixed(tmp_path):
    with pytest.raises(ConfigError, match=r"files of captions have fixed columns and keys. Leave columns and keys out"):
        CAPTIONS.read([tmp_path / "c.tsv"], columns=("target",))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("c.tsv", f"{DOG}\ta dog\n{DOG} a dog\n", r"c\.tsv, line 2 is 'dog.png a dog', but must be an image name"),
        ("c.tsv", "\ta dog\n", r"line 1 is .*, but must be an image name"),
        ("c.tsv", f"{DOG}\t \n", r"line 1 has an empty caption. Write one, or leave it out"),
        ("c.tsv", "", r"c\.tsv is empty"),
        ("c.txt", f"{DOG}#0\ta dog\n{DOG}\ta dog\n", r"line 2 is .*, but must be name.jpg#0, a tab, and a caption"),
        ("c.jsonl", "{\n", r"line 1 is not JSON: '{'. Every line must be one whole object"),
        ("c.jsonl", "[3]\n", r"line 1 is '\[3\]', but must be an object with image and captions"),
        ("c.jsonl", '{"captions": ["a"]}', r"line 1 has no 'image' with the path of an image. It has: captions"),
        ("c.jsonl", '{"image": 3, "captions": ["a"]}', r"line 1 has no 'image' with the path of an image. It"),
        ("c.jsonl", '{"image": "", "captions": ["a"]}', r"line 1 has no 'image' with the path of an image"),
        ("c.jsonl", '{"image": "a.png", "captions": "a"}', r"line 1 has no 'captions', a list of at least one text"),
        ("c.jsonl", '{"image": "a.png", "caption": "a"}', r"line 1 has no 'captions', a list.* It has: image, caption"),
        ("c.jsonl", '{"image": "a.png", "captions": []}', r"line 1 has no 'captions', a list of at least one text"),
        ("c.jsonl", '{"image": "a.png", "captions": ["a", 3]}', r"line 1, caption 2 must be text, but is '3'"),
        ("c.jsonl", '{"image": "a.png", "captions": ["\\ud800"]}', r"line 1, caption 1 holds half a character"),
        ("c.json", '{"images": [],\n"annotations": ]}', r"c\.json, line 2 is not JSON \(.*\). Copy or download"),
        ("c.json", "[]", r"c\.json must be one object with 'images' and 'annotations'"),
        ("c.json", "[" * 100_000, r"c\.json is nested too deeply to be read"),
        ("c.json", '{"annotations": []}', r"has no list 'images', which captions in COCO's layout need. It has: annot"),
        ("c.json", '{"images": [{"id": 3}], "annotations": []}', r"images 1 must be an object with id and file_name"),
        ("c.json", '{"images": [{"id": [], "file_name": "a"}], "annotations": []}', r"images 1: its id must be"),
        ("c.json", '{"images": [3], "annotations": []}', r"images 1 must be an object with id and file_name"),
        ("c.json", '{"image": "a.png", "annotations": []}', r"has no list 'images'.* It has: image, annotations"),
        ("c.json", '{"info": "a.png"}', r"has no list 'images'.* It has: info"),
        ("c.json", "{}", r"has no list 'images'.* It has: nothing"),
        ("c.json", '{"images": [], "annotations": []}', r"has no annotations. A corpus needs at least one caption"),
        (
            "c.json",
            '{"images": [], "annotations": [{"image_id": 7, "caption": "a"}]}',
            r"annotations 1 is about image 7, which 'images' does not list",
        ),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_read(tmp_path, name, content, said):
    with pytest.raises(DataError, match=said):
        list(captions([put(tmp_path / name, content)]))


@pytest.mark.parametrize(
    ("boxes", "said"),
    [
        ("[]", "line 1: 'boxes' must be a list with an entry for each of the 1 captions"),
        ("[[null]]", "line 1, caption 1: its boxes must be a list with a box or null for each of its 2 words"),
        ("[[null, 3]]", r"caption 1, word 2 \('dog'\): '3' is no box. Write \[x0, y0, x1, y1\] in fractions"),
        ("[[null, [0, 0, 1]]]", "is no box"),
        ("[[null, [0.5, 0, 0.5, 1]]]", "is no box"),
        ("[[null, [0, 0, 1, 1.5]]]", "is no box"),
        ("[[null, [0, 0.5, 1, 0.5]]]", "is no box"),
        ("[[null, [0, 0, 1.5, 1]]]", "is no box"),
        ("[[null, [-0.5, 0, 1, 1]]]", "is no box"),
        ("[[null, [0, -0.5, 1, 1]]]", "is no box"),
        ("[[null, [0, 0, 1, 1, 1]]]", "is no box"),
        ("[[null, [0, 0, 1, NaN]]]", "is no box"),
        ("[3]", "caption 1: its boxes must be a list with a box or null for each of its 2 words"),
        ("3", "line 1: 'boxes' must be a list with an entry for each of the 1 captions"),
        ('[[null, [0, 0, 1, "1"]]]', "is no box"),
    ],
)
def test_boxes_that_cannot_be(tmp_path, boxes, said):
    path = put(tmp_path / "c.jsonl", f'{{"image": "a.png", "captions": ["a dog"], "boxes": {boxes}}}')
    with pytest.raises(DataError, match=said):
        list(captions([path]))


def test_a_box_may_be_the_whole_picture(tmp_path):
    row = {"image": DOG, "captions": ["dog"], "boxes": [[[0, 0, 1, 1]]]}
    (example,) = caption_lines(put(tmp_path / "c.jsonl", json.dumps(row)))
    assert example.boxes == ((0.0, 0.0, 1.0, 1.0),)


def test_examples_are_numbered_by_their_pictures(tmp_path):
    path = put(tmp_path / "c.tsv", f"{DOG}\ta\n{CAT}\tb\n{DOG}\tc\n")
    assert [(number, example.target) for number, example in by_picture(captions([path]))] == [
        (0, "a"),
        (0, "c"),
        (1, "b"),
    ]
    with pytest.raises(DataError, match="example 1 has no image, which this task needs"):
        list(by_picture([Example(target="a")]))


def test_captions_of_a_picture_on_several_lines_belong_together(tmp_path):
    path = tmp_path / "c.jsonl"
    lines = [
        {"image": "a.png", "captions": ["one"]},
        {"image": "b.png", "captions": ["x"]},
        {"image": "a.png", "captions": ["two"]},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = list(caption_lines(path))
    assert [example.target for example in found] == ["one", "two", "x"]
    assert found[0].references == ("one", "two")


@pytest.mark.parametrize("indent", [None, 1])
def test_one_object_is_read_up_to_a_size(tmp_path, monkeypatch, indent):
    whole = {"images": [{"id": 1, "file_name": "a.png"}], "annotations": [{"image_id": 1, "caption": "a cat"}]}
    path = put(tmp_path / "a.json", json.dumps(whole, indent=indent).encode())
    size = sum(map(len, path.read_text().splitlines()))
    monkeypatch.setattr("saccade.data.json_files._LARGEST", size)
    assert len(list(captions([path]))) == 1
    monkeypatch.setattr("saccade.data.json_files._LARGEST", size - 1)
    with pytest.raises(DataError, match=r"a\.json.* has more than"):
        list(captions([path]))


@pytest.mark.parametrize("name", ["a\0.png", "\ud800.png"])
def test_a_name_that_no_picture_can_have_is_missing(tmp_path, name):
    path = put(tmp_path / "a.jsonl", json.dumps({"image": name, "captions": ["a cat"]}).encode())
    (example,) = captions([path])
    assert example.image.stamp()[2:] == []
    with pytest.raises(DataError, match="cannot be the name of a file"):
        example.image.load()

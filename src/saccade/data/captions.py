"""Images with captions, read from files: JSON lines, tab-separated names and captions, or one COCO JSON object.

Every caption becomes an Example. The examples of an image are consecutive, wherever its captions stand in the file,
and each has all captions of the image as references. This module does not open images. Missing or broken ones are
skipped with a note when the images are prepared (see `image_store`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.data.example import Box, Example, Picture
from saccade.data.json_files import first_object, listed, whole_object
from saccade.data.picture_files import PictureFile, PicturePlace
from saccade.data.text import COMPRESSIONS, check_encodable, numbered, shorten, stem_suffix
from saccade.errors import ConfigError, DataError

__all__ = ["by_picture", "caption_lines", "captions", "coco", "flickr", "named"]

Boxes = tuple[Box | None, ...]
_NUMBERED = re.compile(r"(.+)#(\d+)")
"""An image name with a caption number, as in Flickr8k."""
_BESIDE = ("{stem}.images.zip", "{stem}.images", "{stem}.zip", "{stem}", "images.zip", "images", "Images", "")
"""Where images are searched for, next to the captions; the last is the folder of the captions."""


def captions(paths: Sequence[Path]) -> Iterator[Example]:
    """Read examples from a file of captions, whose format is detected, and from a folder or .zip of images.

    Without the latter, images are searched for next to the captions. For train.captions.tsv, these places include
    train.images.zip, the folders train.images and images, and finally the folder of the file itself.
    """
    if not 1 <= len(paths) <= 2:
        given = ", ".join(map(str, paths)) or "nothing"
        raise ConfigError(
            f"captioning reads a file of captions and optionally a folder or .zip of images; given is {given}. Name "
            "one or two."
        )
    path, images = paths[0], paths[1] if len(paths) == 2 else None
    if path.suffix.lower() == ".zip" or path.is_dir():
        raise ConfigError(f"{path} holds images, not captions. Name the file of captions first.")
    suffix = stem_suffix(path)
    if suffix in (".json", ".jsonl"):
        return coco(path, images) if suffix == ".json" and _is_coco(path) else caption_lines(path, images)
    first = next(iter(numbered(path)))[1].split("\t")[0]
    return flickr(path, images) if _NUMBERED.fullmatch(first) else named(path, images)


def caption_lines(path: Path, images: Path | None = None) -> Iterator[Example]:
    """Read JSON lines: {"image": "dogs/7.jpg", "captions": ["a dog", "one dog"], "boxes": [...]}.

    Image paths are relative to the folder of the file, or to `images`. `boxes` is optional. It has a list for each
    caption, with an entry for each word: [x0, y0, x1, y1] in fractions of the image, or null.
    """
    place = PicturePlace(images) if images is not None else None
    every: dict[str, tuple[list[str], list[Boxes | None]]] = {}
    for number, line in numbered(path):
        where = f"{path}, line {number}"
        record = _object(line, where)
        name, texts = record.get("image"), record.get("captions")
        if not isinstance(name, str) or not name:
            raise DataError(f"{where} has no 'image' with the path of an image. It has: {listed(record)}.")
        if not isinstance(texts, list) or not texts:
            raise DataError(f"{where} has no 'captions', a list of at least one text. It has: {listed(record)}.")
        found = [_caption(text, f"{where}, caption {n}") for n, text in enumerate(texts, 1)]
        gathered, boxes = every.setdefault(name, ([], []))
        gathered += found
        boxes += _boxes(record.get("boxes"), found, where) or [None] * len(found)
    for name, (gathered, boxes) in every.items():
        picture = PictureFile(path.parent / name) if place is None else place.picture(name)
        yield from _examples(picture, gathered, boxes)


def flickr(path: Path, images: Path | None = None) -> Iterator[Example]:
    """Read Flickr8k's layout: `name.jpg#0`, a tab and a caption; the number after # is that of the caption."""
    return _table(path, images, numbers=True)


def named(path: Path, images: Path | None = None) -> Iterator[Example]:
    """Read lines of an image name, a tab and a caption; an image may have several lines."""
    return _table(path, images, numbers=False)


def coco(path: Path, images: Path | None = None) -> Iterator[Example]:
    """Read COCO's layout: one JSON object with `images` (id, file_name) and `annotations` (image_id, caption)."""
    place = _place(path, images)
    whole = whole_object(path, "'images' and 'annotations'")
    names = {entry[0]: entry[1] for entry in _entries(whole, "images", ("id", "file_name"), path)}
    found: dict[Any, list[str]] = {}
    for number, (key, text) in enumerate(_entries(whole, "annotations", ("image_id", "caption"), path), 1):
        where = f"{path}, annotations {number}"
        if key not in names:
            raise DataError(f"{where} is about image {key!r}, which 'images' does not list. Add it, or leave this out.")
        found.setdefault(key, []).append(_caption(text, where))
    if not found:
        raise DataError(f"{path} has no annotations. A corpus needs at least one caption.")
    for key, texts in found.items():
        yield from _examples(place.picture(str(names[key])), texts)


def by_picture(examples: Iterable[Example]) -> Iterator[tuple[int, Example]]:
    """Yield each example with its image number, from 0; consecutive examples with the same image share it."""
    number, last = -1, None
    for position, example in enumerate(examples, 1):
        if example.image is None:
            raise DataError(f"example {position} has no image, which this task needs. Add it.")
        if number < 0 or (example.image is not last and example.image != last):
            number, last = number + 1, example.image
        yield number, example


def _table(path: Path, images: Path | None, numbers: bool) -> Iterator[Example]:
    place = _place(path, images)
    found: dict[str, list[str]] = {}
    for number, line in numbered(path):
        where = f"{path}, line {number}"
        name, tab, text = line.partition("\t")
        match = _NUMBERED.fullmatch(name) if numbers else None
        if not tab or not name or (numbers and match is None):
            form = "name.jpg#0" if numbers else "an image name"
            raise DataError(f"{where} is {shorten(line)}, but must be {form}, a tab, and a caption.")
        found.setdefault(match[1] if match else name, []).append(_caption(text, where))
    for name, texts in found.items():
        yield from _examples(place.picture(name), texts)


def _examples(picture: Picture, texts: Sequence[str], boxes: Sequence[Boxes | None] = ()) -> Iterator[Example]:
    references = tuple(texts)
    for number, text in enumerate(texts):
        yield Example(target=text, image=picture, references=references, boxes=boxes[number] if boxes else None)


def _place(path: Path, images: Path | None) -> PicturePlace:
    if images is not None:
        return PicturePlace(images)
    stem = path.name
    while Path(stem).suffix.lower() in (*COMPRESSIONS, ".tsv", ".txt", ".json", ".captions", ".token"):
        stem = Path(stem).stem
    places = [path.parent / name.format(stem=stem) for name in _BESIDE]
    there = (place for place in places if place.is_dir() or (place.suffix == ".zip" and place.exists()))
    return PicturePlace(next(there, path.parent))


def _caption(text: object, where: str) -> str:
    """Return a caption with single spaces between its words."""
    if not isinstance(text, str):
        raise DataError(f"{where} must be text, but is {shorten(json.dumps(text))}.")
    check_encodable(text, where)
    clean = " ".join(text.split())
    if not clean:
        raise DataError(f"{where} has an empty caption. Write one, or leave it out.")
    return clean


def _boxes(value: object, texts: Sequence[str], where: str) -> list[Boxes | None]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) != len(texts):
        raise DataError(f"{where}: 'boxes' must be a list with an entry for each of the {len(texts)} captions.")
    return [_word_boxes(entry, texts[n], f"{where}, caption {n + 1}") for n, entry in enumerate(value)]


def _word_boxes(value: object, text: str, where: str) -> Boxes | None:
    if value is None:
        return None
    words = text.split()
    if not isinstance(value, list) or len(value) != len(words):
        raise DataError(f"{where}: its boxes must be a list with a box or null for each of its {len(words)} words.")
    return tuple(_box(entry, f"{where}, word {n} ({words[n - 1]!r})") for n, entry in enumerate(value, 1))


def _box(value: object, where: str) -> Box | None:
    if value is None:
        return None
    good = isinstance(value, list) and len(value) == 4
    if good and isinstance(value, list):
        good = all(isinstance(edge, int | float) and math.isfinite(edge) for edge in value)
        if good and 0 <= value[0] < value[2] <= 1 and 0 <= value[1] < value[3] <= 1:
            return float(value[0]), float(value[1]), float(value[2]), float(value[3])
    raise DataError(
        f"{where}: {shorten(json.dumps(value))} is no box. Write [x0, y0, x1, y1] in fractions of the image, left "
        "and top first, or null."
    )


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON: {shorten(line)}. Every line must be one whole object.") from error
    if not isinstance(record, dict):
        raise DataError(f"{where} is {shorten(line)}, but must be an object with image and captions.")
    return record


def _is_coco(path: Path) -> bool:
    """Return whether a .json file is one COCO object; otherwise, it has one object per line."""
    first = first_object(path)
    return first is None or "annotations" in first or "image" not in first


def _entries(whole: Mapping[str, Any], name: str, keys: tuple[str, str], path: Path) -> Iterator[tuple[Any, Any]]:
    """Yield two values of every entry of a list in COCO's object."""
    entries = whole.get(name)
    if not isinstance(entries, list):
        raise DataError(f"{path} has no list {name!r}, which captions in COCO's layout need. It has: {listed(whole)}.")
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, dict) or any(key not in entry for key in keys):
            raise DataError(f"{path}, {name} {number} must be an object with {keys[0]} and {keys[1]}.")
        if not isinstance(entry[keys[0]], int | str):
            raise DataError(f"{path}, {name} {number}: its {keys[0]} must be a number or text.")
        yield entry[keys[0]], entry[keys[1]]

"""Flickr8k as published: captions in one file, the image names of each split in others."""

from __future__ import annotations

from pathlib import Path

from saccade.data.captions import flickr
from saccade.data.text import find_file, lines
from saccade.errors import DataError
from saccade.files import writing

__all__ = ["convert_flickr8k"]

_CAPTIONS = "Flickr8k.token.txt"
_LISTS = {"train": "Flickr_8k.trainImages.txt", "valid": "Flickr_8k.devImages.txt", "test": "Flickr_8k.testImages.txt"}
_IMAGE_FOLDERS = ("Flicker8k_Dataset", "Flickr8k_Dataset", "Images", "images")


def convert_flickr8k(origin: Path, out: Path) -> list[Path]:
    """Write train, valid and test.captions.tsv, which refer to the images in their place."""
    pictures = next((origin / name for name in _IMAGE_FOLDERS if (origin / name).is_dir()), None)
    if pictures is None:
        raise DataError(
            f"{origin} has no folder of images: {' or '.join(_IMAGE_FOLDERS[:2])}. Unpack both archives there."
        )
    captions: dict[str, list[str]] = {}
    for example in flickr(_published(origin, _CAPTIONS), pictures.resolve()):
        assert example.image is not None
        captions.setdefault(Path(example.image.name).name, []).append(f"{example.image.name}\t{example.target}\n")
    written = []
    for split, name in _LISTS.items():
        path = _published(origin, name)
        listed = [line.strip() for line in lines(path) if line.strip()]
        if unknown := [picture for picture in listed if picture not in captions]:
            raise DataError(f"{path} lists {unknown[0]}, of which {_CAPTIONS} has no caption. Unpack the text again.")
        written.append(out / f"{split}.captions.tsv")
        with writing(written[-1]) as file:
            file.writelines(line for picture in listed for line in captions[picture])
    return written


def _published(origin: Path, name: str) -> Path:
    """Return a file of the text archive, from `origin` or from the archive's own folder in it."""
    there = [find_file(folder / name) for folder in (origin, origin / "Flickr8k_text")]
    found = next((path for path in there if path.exists()), None)
    if found is None:
        raise DataError(f"{origin} has no {name}. Unpack Flickr8k_text.zip there.")
    return found

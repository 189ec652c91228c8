"""Labeled images, read from a folder of folders, or from one .npz file of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.example import Example
from saccade.data.forms import Form
from saccade.data.npz_files import read_arrays, write_arrays
from saccade.data.picture_files import PictureFile
from saccade.errors import ConfigError, DataError

__all__ = ["LABELED_IMAGES", "LabeledImageForm", "PixelArray", "image_names", "read_folder"]

_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm"}
_MOST_BYTES = 4 * 10**9
"""Maximum bytes of all images in a .npz file."""


@dataclass(frozen=True, eq=False)
class PixelArray:
    """An image in memory: gray (height, width) or color (height, width, 3) bytes."""

    name: str
    pixels: NDArray[np.uint8] = field(repr=False)

    def load(self) -> NDArray[np.uint8]:
        """Return the image as (height, width, 3)."""
        return self.pixels if self.pixels.ndim == 3 else np.repeat(self.pixels[..., None], 3, -1)

    def stamp(self) -> list[Any]:
        """Return the name, and a hash of the pixels."""
        return [self.name, list(self.pixels.shape), blake2b(self.pixels.tobytes(), digest_size=16).hexdigest()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PixelArray) and self.stamp() == other.stamp()

    def __hash__(self) -> int:
        return hash(self.name)


class LabeledImageForm(Form):
    """Images, each with a label."""

    title = "labeled images"

    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        """Read a folder with a folder of images for each label, or a .npz file with the arrays images and labels."""
        if columns is not None or keys is not None:
            raise ConfigError("labeled images have no columns or keys. Leave columns and keys out.")
        if len(paths) != 1:
            given = ", ".join(map(str, paths)) or "nothing"
            raise ConfigError(f"labeled images are read from one place, but given is {given}. {_HELP}")
        return read_folder(paths[0]) if paths[0].is_dir() else _read_npz(paths[0])

    def write(self, examples: Iterable[Example], folder: Path, name: str, sides: tuple[str, ...]) -> list[Path]:
        """Write NAME.npz; all images must have one size."""
        images, labels = [], []
        for number, example in enumerate(examples, 1):
            if example.image is None or example.label is None:
                raise DataError(f"example {number} has no image or no label. Add it.")
            images.append(example.image.load())
            labels.append(example.label)
            if images[-1].shape != images[0].shape:
                shapes = f"{images[0].shape[:2]} and {images[-1].shape[:2]}"
                raise DataError(f"images of one .npz file have one size, but there are {shapes}. Resize them.")
        pixels = np.array(images, np.uint8)
        gray = bool(pixels.size) and bool((pixels == pixels[..., :1]).all())
        return [write_arrays(folder / f"{name}.npz", {"images": pixels[..., 0] if gray else pixels, "labels": labels})]


LABELED_IMAGES = LabeledImageForm()


def read_folder(folder: Path) -> Iterator[Example]:
    """Yield the images of a folder of folders, sorted; the label is the path of the folder that holds the image."""
    found = False
    for place, names in image_names(folder):
        for name in names:
            found = True
            yield Example(label=place.relative_to(folder).as_posix(), image=PictureFile(place / name))
    if not found:
        raise DataError(f"{folder} has no folders with images. {_HELP}")


def image_names(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the folders below a folder that hold images, sorted, with the names of the images."""
    for place in sorted(path for path in folder.rglob("*") if path.is_dir()):
        names = sorted(each.name for each in place.iterdir() if each.suffix.lower() in _SUFFIXES and each.is_file())
        if names:
            yield place, names


def _read_npz(path: Path) -> Iterator[Example]:
    """Yield the images of a .npz file: `images` (..., height, width[, 3]) bytes or booleans, `labels` (...)."""
    arrays = read_arrays(path, ("images", "labels"), _MOST_BYTES)
    images, labels = arrays["images"], arrays["labels"]
    if images.dtype == np.bool_:
        images = images.view(np.uint8) * np.uint8(255)
    axes = labels.ndim
    if images.dtype != np.uint8 or images.shape[:axes] != labels.shape or not images.size:
        raise DataError(
            f"{path} has images of {images.dtype} {images.shape} and labels {labels.shape}, but images are bytes or "
            "booleans of (N, height, width) or (N, height, width, 3), and labels (N)."
        )
    if images.ndim != axes + 2 and images.shape[axes + 2 :] != (3,):
        raise DataError(f"{path} has images of {images.shape[axes:]} each, but they are (height, width[, 3]).")
    flat = images.reshape(-1, *images.shape[axes:])
    for number, label in enumerate(labels.ravel().tolist()):
        yield Example(label=str(label), image=PixelArray(f"image {number + 1} of {path}", flat[number]))


_HELP = (
    "Name a folder with a folder of images for each class, or a .npz file with the arrays images (N, height, width) "
    "and labels (N)."
)

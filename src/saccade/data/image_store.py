"""ImageStore: the images of a corpus, all of one size, in a memory-mapped file that is created once.

    store = ImageStore.open(cache, [example.image for example in examples], size=64)
    store.rows([3, 1, 2])  # (3, 64, 64, 3) bytes

A missing or broken image is reported in a note. Its row is gray, and its entry in `whole` is False.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.example import Example, Picture
from saccade.data.pictures import Fitting, Frame, fit, frame
from saccade.data.store import fingerprint
from saccade.errors import DataError
from saccade.files import writing_folder

__all__ = ["NAMED", "ImageStore", "Skipped"]

_CHUNK = 256
NAMED = 5
"""Maximum images that the note on left-out images names."""
_GREY = 128


@dataclass(frozen=True)
class Skipped:
    """The images of a corpus that could not be used."""

    count: int
    total: int
    first: tuple[str, ...]
    """Error messages of the first of them."""

    @property
    def note(self) -> str | None:
        """A sentence for the log; None if all images could be used."""
        if not self.count:
            return None
        more = f" And {self.count - len(self.first)} more." if self.count > len(self.first) else ""
        return f"{self.count} of {self.total} images were left out: {' '.join(self.first)}{more}"


def load_images(examples: Sequence[Example]) -> tuple[list[NDArray[np.uint8]], list[str], list[str]]:
    """Return the images of labeled examples, their labels, and notes on images that cannot be read.

    Raise DataError if there are examples, but none can be read.
    """
    images, labels, faults = [], [], []
    for example in examples:
        assert example.image is not None, "see Task.testable"
        try:
            images.append(example.image.load())
        except DataError as error:
            faults.append(str(error))
        else:
            labels.append(example.label or "")
    note = Skipped(len(faults), len(examples), tuple(faults[:NAMED])).note
    if examples and not images:
        raise DataError(f"no image can be evaluated: {note}")
    return images, labels, [] if note is None else [note]


class ImageStore:
    """Images as bytes (N, size, size, 3), in the order given."""

    def __init__(self, folder: Path) -> None:
        about: dict[str, Any] = json.loads((folder / "about.json").read_text())
        self.size: int = about["size"]
        self.how: Fitting = about["how"]
        self.images: NDArray[np.uint8] = np.load(folder / "images.npy", mmap_mode="r")
        self.shapes: NDArray[np.int32] = np.load(folder / "shapes.npy")
        """(N, 2): original height and width; 0 where the image was left out."""
        self.skipped = Skipped(about["skipped"], len(self.images), tuple(about["first"]))

    def __len__(self) -> int:
        return len(self.images)

    @property
    def whole(self) -> NDArray[np.bool_]:
        """(N,): which images can be used."""
        return self.shapes[:, 0] > 0

    def rows(self, numbers: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return some images, (len(numbers), size, size, 3), in memory."""
        return np.asarray(self.images[np.asarray(numbers, np.int64)])

    def frame(self, number: int) -> Frame:
        """Return the crop and scale of an image, to map box coordinates to the square."""
        return frame(tuple(self.shapes[number].tolist()), self.size, self.how)

    @classmethod
    def open(
        cls, cache: Path, pictures: Sequence[Picture], size: int, how: Fitting = "crop", *, key: str | None = None
    ) -> ImageStore:
        """Open the store of these images; create it if the cache does not have it yet.

        `key` identifies the corpus. The default is a hash of the stamps of all images, so that a changed image makes
        a new store. Several processes may create the same store at once: the first to finish wins.
        """
        if not pictures:
            raise DataError("there is no image to prepare. A corpus needs at least one.")
        key = key or fingerprint([picture.stamp() for picture in pictures])
        folder = cache / fingerprint("images", key, size, how)
        if folder.exists():
            try:
                return cls(folder)
            except (OSError, ValueError, KeyError):  # damaged later: a folder is renamed only when complete
                shutil.rmtree(folder)
        with writing_folder(folder, replace=False) as draft:
            _write(draft, pictures, size, how)
        return cls(folder)


def _write(folder: Path, pictures: Sequence[Picture], size: int, how: Fitting) -> None:
    frame((1, 1), size, how)  # checks the settings before any work
    shapes = np.zeros((len(pictures), 2), np.int32)
    faults: list[str] = []
    count = 0
    with (folder / "images.npy").open(
        "wb"
    ) as file:  # plain writes raise OSError on a full disk; a memory map would crash
        shape = (len(pictures), size, size, 3)
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
        for number, (image, original, fault) in enumerate(_prepared(pictures, size, how)):
            shapes[number] = original
            if fault is not None:
                count += 1
                faults = [*faults, fault][:NAMED]
            file.write(image.tobytes())
    if count == len(pictures):
        raise DataError(
            f"none of the {count} images can be used. {' '.join(faults)} Check that the images are where the data say."
        )
    np.save(folder / "shapes.npy", shapes)
    about = {"size": size, "how": how, "skipped": count, "first": faults}
    (folder / "about.json").write_text(json.dumps(about))


Prepared = tuple[NDArray[np.uint8], tuple[int, int], str | None]


def _prepared(pictures: Sequence[Picture], size: int, how: Fitting) -> Iterator[Prepared]:
    """Yield every image in order; decoding and resizing release the GIL, so threads share the work."""
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        waiting = iter(pictures)
        while chunk := list(islice(waiting, _CHUNK)):  # bounds the results that are held in memory
            yield from pool.map(lambda picture: _prepare(picture, size, how), chunk)


def _prepare(picture: Picture, size: int, how: Fitting) -> Prepared:
    try:
        image = picture.load()
    except DataError as error:
        return np.full((size, size, 3), _GREY, np.uint8), (0, 0), str(error)
    return fit(image, size, how), (image.shape[0], image.shape[1]), None

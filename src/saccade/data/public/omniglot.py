"""Omniglot: all characters in one .npz file, split by character."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.labeled_images import LABELED_IMAGES
from saccade.data.npz_files import read_arrays, write_arrays
from saccade.data.pictures import fit
from saccade.data.text import find_file
from saccade.errors import DataError

__all__ = ["SPLITS", "convert_omniglot"]

SPLITS = {"train": 0.8, "valid": 0.1, "test": 0.1}
"""Shares of the characters, in order. With names of alphabets, splits share none; with numbers alone, they may share
the alphabet at a border, since the characters of an alphabet have consecutive numbers."""
_FILE = "images_background.npz"
_FOLDER = "images_background"
_SIZE = 28
_MOST_BYTES = 10**9


def convert_omniglot(origin: Path, out: Path) -> list[Path]:
    """Write train, valid and test.npz: ink black on white, 28 × 28 pixels, splits without a common character."""
    file = find_file(origin / _FILE)
    names, images = _of_folder(origin / _FOLDER) if (origin / _FOLDER).is_dir() else _of_file(file)
    bounds = _bounds(names)
    written = []
    for split, begin, end in zip(SPLITS, bounds, bounds[1:], strict=False):
        if begin == end:
            raise DataError(f"{origin} has {len(names)} characters, too few to split. Copy or download it again.")
        labels = np.concatenate(
            [[name] * len(part) for name, part in zip(names[begin:end], images[begin:end], strict=True)]
        )
        written.append(
            write_arrays(out / f"{split}.npz", {"images": np.concatenate(images[begin:end]), "labels": labels})
        )
    return written


def _bounds(names: list[str]) -> list[int]:
    """Return where splits begin and end; an alphabet that lies across a border belongs to the split before it."""
    bounds, share = [0], 0.0
    for part in [*SPLITS.values()][:-1]:
        share += part
        border = round(share * len(names))
        while 0 < border < len(names) and _alphabet(names[border - 1]) == _alphabet(names[border]):
            border += 1
        bounds.append(border)
    return [*bounds, len(names)]


def _alphabet(name: str) -> str:
    """Return the alphabet in the name of a character; without one, the name itself."""
    alphabet, slash, _ = name.rpartition("/")
    return alphabet if slash else name


def _of_file(path: Path) -> tuple[list[str], list[NDArray[np.uint8]]]:
    """Return names of characters, and their drawings, from the arrays images and labels (characters, drawers)."""
    if not path.exists():
        raise DataError(f"{path.parent} has neither {_FILE} nor a folder {_FOLDER}. Unpack Omniglot there.")
    images: NDArray[Any] = read_arrays(path, ("images",), _MOST_BYTES)["images"]
    if images.ndim != 4 or images.dtype not in (np.bool_, np.uint8):
        raise DataError(f"{path} has {images.dtype} images of {images.shape}, but needs (characters, drawers, H, W).")
    white = 255 if images.dtype == np.bool_ else 1
    names = [f"character {number:04}" for number in range(1, len(images) + 1)]
    return names, [np.stack([_small(each.astype(np.uint8) * np.uint8(white)) for each in drawn]) for drawn in images]


def _of_folder(folder: Path) -> tuple[list[str], list[NDArray[np.uint8]]]:
    """Return the same from the published folders, alphabet/character/drawing.png."""
    drawn: dict[str, list[NDArray[np.uint8]]] = {}
    for example in LABELED_IMAGES.read([folder]):
        assert example.image is not None
        drawn.setdefault(str(example.label), []).append(_small(example.image.load()[..., 0]))
    return [*drawn], [np.stack(part) for part in drawn.values()]


def _small(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return fit(np.repeat(image[..., None], 3, -1), _SIZE)[..., 0]

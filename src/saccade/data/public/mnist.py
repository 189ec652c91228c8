"""MNIST: handwritten digits, from IDX files to .npz files with a part set aside for validation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from saccade.data.idx_files import read_idx
from saccade.data.npz_files import write_arrays
from saccade.errors import DataError

__all__ = ["convert_mnist"]

_SHARE, _MOST = 8, 5000
"""One of this many training images is for validation, and at most this many in all."""
_PARTS = {"train": "train", "test": "t10k"}


def convert_mnist(origin: Path, out: Path) -> list[Path]:
    """Write train.npz and valid.npz from the training images, and test.npz if the test images are there."""
    found = {}
    for split, prefix in _PARTS.items():
        names = f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"
        files = [
            next((path for path in (origin / name, origin / f"{name}.gz") if path.exists()), None) for name in names
        ]
        if None not in files:
            images, labels = read_idx(files[0], 3), read_idx(files[1], 1)  # type: ignore[arg-type]
            if len(images) != len(labels):
                raise DataError(f"{origin} has {len(images)} {split} images, but {len(labels)} labels. Copy it again.")
            found[split] = images, labels
        elif split == "train":
            raise DataError(f"{origin} lacks {names[0]}.gz or {names[1]}.gz. Download both there.")
    images, labels = found.pop("train")
    order = np.random.default_rng(1).permutation(len(images))
    held = min(len(images) // _SHARE, _MOST)
    found = {
        "train": (images[order[held:]], labels[order[held:]]),
        "valid": (images[order[:held]], labels[order[:held]]),
        **found,
    }
    return [
        write_arrays(out / f"{split}.npz", {"images": pixels, "labels": digits})
        for split, (pixels, digits) in found.items()
    ]

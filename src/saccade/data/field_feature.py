"""FieldFeature: fields drawn from the labeled images of a split, and their pixels in a Batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade.batch import NO_LABEL
from saccade.data.batch_sampler import Rows
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.fields import Fields, FieldsConfig
from saccade.data.image_store import ImageStore
from saccade.data.store import Column, Numbered
from saccade.errors import DataError

__all__ = ["FieldFeature", "ink_of_images"]


class FieldFeature(Feature):
    """Fields by number. The rows of the store are fields, not images: training has `count` of them, each image often.

    A row has one position of three numbers: the index of the image, its class and the number of the field.
    """

    name, dtype, sized, width = "field", np.int32, True, 3

    def __init__(self, images: ImageStore, config: FieldsConfig, labels: Sequence[str], split: str) -> None:
        self.images, self.config, self.labels, self.split = images, config, labels, split
        self._chosen: list[tuple[int, int]] = []

    def keep(self, examples: Iterable[Example]) -> Iterable[Example]:
        whole, codes = self.images.whole, {label: code for code, label in enumerate(self.labels)}
        found = [(number, codes.get(example.label or "")) for number, example in enumerate(examples) if whole[number]]
        self._chosen = [(number, code) for number, code in found if code is not None]
        if not self._chosen:
            raise DataError(f"the {self.split} data have no image of a class that the training data have. Add some.")
        count = max(self.config.count, len(self._chosen)) if self.split == "train" else len(self._chosen)
        return repeat(Example(), count)

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [[*self._chosen[number % len(self._chosen)], number] for number, _ in chunk]

    @cached_property
    def fields(self) -> Fields:
        """The fields of all images."""
        return Fields(ink_of_images(self.images.images), self.config, self.split)

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        chosen, labels, numbers = column.rows(rows)[0].reshape(-1, 3).T
        ink, _ = self.fields.draw(chosen, numbers)
        places = np.arange(count) % len(rows)  # padding repeats fields, since batch norm counts them; it has no labels
        known = np.where(np.arange(count) < len(rows), labels[places], NO_LABEL)
        return {"pictures": torch.from_numpy(255 - ink[places])[..., None], "labels": torch.from_numpy(known)}

    def fingerprint(self) -> Any:
        whole = np.packbits(self.images.whole).tobytes().hex()
        return [self.name, self.config.model_dump(), [*self.labels], self.split, self.images.size, whole]


def ink_of_images(images: Any) -> Any:
    """Return ink (N, H, W), 0 = paper, of images (N, H, W, 3); the mean of the border decides which of both is dark."""
    found = np.empty(images.shape[:3], np.uint8)
    for start in range(0, len(images), _CHUNK):  # in chunks: the mean is float64
        gray = images[start : start + _CHUNK].mean(-1)
        border = np.concatenate([gray[:, 0], gray[:, -1], gray[:, :, 0], gray[:, :, -1]], 1).mean(1)
        light = (border >= 128)[:, None, None]
        found[start : start + _CHUNK] = np.where(light, 255 - gray, gray).round()
    return found


_CHUNK = 1024

"""ImageFeature: the number of each example's image in an ImageStore, and its pixels in a Batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade.data.batch_sampler import Rows
from saccade.data.captions import by_picture
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.image_store import ImageStore
from saccade.data.store import Column, Numbered

__all__ = ["ImageFeature", "OnlyImageFeature"]


class ImageFeature(Feature):
    """The images of captions. Examples whose image cannot be opened are left out."""

    name = "picture"
    mixed = True  # length buckets let batch norm leak caption length

    def __init__(self, images: ImageStore) -> None:
        self.images = images
        self._numbers: list[int] = []

    def keep(self, examples: Iterable[Example]) -> list[Example]:
        whole = self.images.whole
        kept = [(number, example) for number, example in by_picture(examples) if whole[number]]
        self._numbers = [number for number, _ in kept]
        return [example for _, example in kept]

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [[self._numbers[number - 1]] for number, _ in chunk]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return (count, size, size, 3) bytes; padding rows repeat the images, since batch norm counts them too."""
        numbers = column.rows(rows)[0]
        return {"pictures": torch.from_numpy(self.images.rows(numbers[np.arange(count) % len(numbers)]))}

    def fingerprint(self) -> Any:
        return [self.name, self.images.size, self.images.how, np.packbits(self.images.whole).tobytes().hex()]


class OnlyImageFeature(ImageFeature):
    """Images that are the only input of their examples, so that a batch is measured by its number of images."""

    sized = True

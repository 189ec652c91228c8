"""SoundFeature: the frames of recordings as a column, and padded into a Batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.batch_sampler import Rows
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.log_mel import log_mel
from saccade.data.sound_config import AugmentConfig, SoundConfig
from saccade.data.store import Column, Numbered
from saccade.errors import DataError

__all__ = ["SoundFeature", "padded_frames"]


class SoundFeature(Feature):
    """The log-mel frames of an example's sound: `source` (B, S, D), and its mask."""

    name, dtype, sized = "frames", np.float16, True

    def __init__(self, config: SoundConfig) -> None:
        self.config, self.width = config, config.width

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[NDArray[np.float16]]:
        return [self._frames(*one).astype(np.float16).ravel() for one in chunk]

    def _frames(self, number: int, example: Example) -> NDArray[np.float32]:
        if example.sound is None:
            raise DataError(f"example {number} has no sound, which this task needs. Add it.")
        sound = example.sound.load()
        try:
            return log_mel(sound.samples, sound.rate, self.config)
        except DataError as error:
            raise DataError(f"example {number}, {example.sound.name}: {error}") from error

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        parts = np.split(values.reshape(-1, self.width), np.cumsum(sizes // self.width)[:-1])
        return padded_frames(parts, count, positions)

    def fingerprint(self) -> Any:
        # augmentation happens in training, not in the store
        return [self.name, unaugmented(self.config).model_dump()]


def unaugmented(config: SoundConfig) -> SoundConfig:
    """Return the settings without augmentation."""
    return config.model_copy(update={"augment": AugmentConfig()})


def padded_frames(parts: Sequence[NDArray[Any]], count: int, positions: int = 0) -> dict[str, Tensor]:
    """Pad recordings (frames, D) to `source` and `source_mask`.

    There are `count` rows, of which the added ones are one frame of zeros, and at least `positions` frames.
    """
    source = np.zeros((count, max(positions, *map(len, parts)), parts[0].shape[1]), np.float32)
    mask = np.zeros(source.shape[:2], bool)
    mask[len(parts) :, 0] = True
    for row, part in enumerate(parts):
        source[row, : len(part)], mask[row, : len(part)] = part, True
    return {"source": torch.from_numpy(source), "source_mask": torch.from_numpy(mask)}

"""SoundFeature: the frames of recordings as a column, and padded into a Batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.batch_sampler import Rows
from saccade.data.example import Example, Time
from saccade.data.features import Feature, texts_of
from saccade.data.log_mel import log_mel
from saccade.data.sound_config import AugmentConfig, SoundConfig
from saccade.data.store import Column, Numbered
from saccade.data.tokenizer import Encoded, Tokenizer
from saccade.errors import DataError

__all__ = ["HeardLinks", "SoundFeature", "heard_spans", "padded_frames"]


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


class HeardLinks(Feature):
    """Gold attention of target tokens to the frames in which their words are said: `links` (B, T, S).

    Rows sum to 1, or to 0 without a time.

    Words of a translation are linked to the times of the spoken words that they translate.
    """

    name, dtype = "links", np.int32

    def __init__(self, target: Tokenizer, config: SoundConfig) -> None:
        self.target, self.config = target, config

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        written = self.target.encode_all(texts_of(chunk, "target"))
        return [self._places(example, row) for (_, example), row in zip(chunk, written, strict=True)]

    def _places(self, example: Example, written: Encoded) -> list[int]:
        """Return token, first frame and last frame of each time in which a token's word is said."""
        spans, one = heard_spans(example), self.config.seconds(1)
        return [
            number
            for token, word in enumerate(written.words)
            for begin, end in spans.get(word, ())
            for number in (token, int(begin / one), max(int(begin / one), int(end / one) - 1))
        ]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        gold = np.zeros((count, made["target"].shape[1] - 1, made["source"].shape[1]), np.float32)
        places = iter(values.reshape(-1, 3).tolist())
        for row, size in enumerate(sizes):
            for token, first, last in islice(places, int(size) // 3):
                gold[row, token, first : last + 1] = 1.0
        return {"links": torch.from_numpy(gold / np.maximum(gold.sum(-1, keepdims=True), 1.0))}

    def fingerprint(self) -> Any:
        return [self.name, self.config.seconds(1)]


def heard_spans(example: Example) -> dict[int, list[Time]]:
    """Return the times in which each target word is said; of a translation, those of the words it is linked to."""
    if example.source is None:
        return {word: [time] for word, time in enumerate(example.times)}
    found: dict[int, list[Time]] = {}
    for source, target in sorted(example.links.sure) if example.links and example.times else ():
        found.setdefault(target, []).append(example.times[source])
    return found


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

"""EpisodeFeature: the images and label codes of an episode, and their pixels in an EpisodeBatch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.batch import NO_LABEL
from saccade.data.batch_sampler import Rows
from saccade.data.episodes import Episode, EpisodePlan, Setting, members_of, turned
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.image_store import ImageStore
from saccade.data.store import Column, Numbered

__all__ = ["EpisodeFeature", "padded_episodes", "pixels_of"]


class EpisodeFeature(Feature):
    """Episodes of a split, drawn from its labeled images by number.

    The rows of the store are episodes, not images: `keep` takes the labels of the images, and returns an empty example
    for each episode. A position of a row is an image and the code of its label; the last positions are the queries.
    """

    name, dtype, sized, width = "episode", np.int32, True, 2
    mixed = True  # buckets of one size let batch norm see one kind of episode at a time

    def __init__(
        self,
        images: ImageStore,
        plan: EpisodePlan,
        settings: Sequence[Setting],
        count: int,
        *,
        color: bool,
        rotated: bool,
    ) -> None:
        """Take an empty plan, whose classes `keep` fills in; episode n has the setting n % len(settings)."""
        self.images, self.plan, self.settings, self.count = images, plan, settings, count
        self.color, self.rotated = color, rotated

    def keep(self, examples: Iterable[Example]) -> Iterable[Example]:
        labels = [example.label or "" for example in examples]
        members = members_of(labels, self.images.whole, rotated=self.rotated)
        self.plan = EpisodePlan(members, self.plan.codes, self.plan.queries, self.plan.seed, self.plan.name)
        for setting in self.settings:
            self.plan.check(setting, f"the {self.plan.name} data")
        return repeat(Example(), self.count)

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [_row(self.plan.draw(number, self.settings[number % len(self.settings)])) for number, _ in chunk]

    @cached_property
    def pixels(self) -> NDArray[np.uint8]:
        """All images in memory: (N, size, size, 1 or 3)."""
        return pixels_of(self.images.images, color=self.color)

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        parts = np.split(values.reshape(-1, 2), np.cumsum(sizes // 2)[:-1])
        asked = self.plan.queries
        episodes = [Episode(*part[:-asked].T, *part[-asked:].T) for part in parts]
        return padded_episodes(self.pixels, episodes, count, positions - asked)

    def fingerprint(self) -> Any:
        plan = [self.plan.codes, self.plan.queries, self.plan.seed, self.plan.name]
        whole = np.packbits(self.images.whole).tobytes().hex()
        return [
            self.name,
            plan,
            [list(one) for one in self.settings],
            self.count,
            self.rotated,
            self.images.size,
            whole,
        ]


def pixels_of(images: NDArray[np.uint8], *, color: bool) -> NDArray[np.uint8]:
    """Return images (N, H, W, 3) as they are, or gray (N, H, W, 1)."""
    if color:
        return np.asarray(images)
    found = np.empty((*images.shape[:3], 1), np.uint8)
    for start in range(0, len(images), _CHUNK):  # in chunks: the mean is float64
        found[start : start + _CHUNK, ..., 0] = images[start : start + _CHUNK].mean(-1).round()
    return found


def padded_episodes(
    pixels: NDArray[np.uint8], episodes: Sequence[Episode], count: int, positions: int = 0
) -> dict[str, Tensor]:
    """Return the fields of an EpisodeBatch. Padding repeats images, because batch norm counts them, without labels.

    There are `count` rows, and at least `positions` labeled images in each.
    """
    size = max(positions, *(len(one.support) for one in episodes))
    rows = [episodes[row % len(episodes)] for row in range(count)]
    places = np.arange(size)
    support = np.stack([one.support[places % len(one.support)] for one in rows])
    queries = np.stack([one.queries for one in rows])
    mask = places < np.array([len(one.support) for one in rows])[:, None]
    codes = np.stack([one.given[places % len(one.given)] for one in rows]) * mask
    labels = np.stack([one.labels for one in rows])
    labels[len(episodes) :] = NO_LABEL
    images = turned(pixels, np.concatenate([support, queries], 1).ravel())
    images = images.reshape(count, -1, *pixels.shape[1:])
    made = {
        "source": codes,
        "source_mask": mask,
        "labels": labels,
        "support": images[:, :size],
        "queries": images[:, size:],
    }
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in made.items()}


def _row(episode: Episode) -> list[int]:
    """Interleave images and codes, the support first."""
    images = np.concatenate([episode.support, episode.queries])
    codes = np.concatenate([episode.given, episode.labels])
    row: list[int] = np.stack([images, codes], 1).ravel().tolist()
    return row


_CHUNK = 1024

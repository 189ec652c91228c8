"""Episodes of few-shot learning: a support of labeled images and queries, drawn from classes by number.

An episode depends on its number and the seed alone, so a resumed run draws the episodes that the interrupted one would
have drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from saccade.config import Config, Count, Seed
from saccade.errors import DataError

__all__ = ["TURNS", "Episode", "EpisodePlan", "EpisodesConfig", "Setting", "members_of", "turned"]

TURNS = 4
"""Quarter turns of an image. A class turned by each of them is four classes."""
_Few = Annotated[int, Field(ge=1, le=1000)]
_Ways = Annotated[int, Field(ge=2, le=1000)]


class Setting(NamedTuple):
    """How many classes an episode has, and how many labeled images of each."""

    ways: int
    shots: int

    def __str__(self) -> str:
        return f"{self.ways}-way {self.shots}-shot"


class EpisodesConfig(Config):
    """For few-shot learning: what an episode is."""

    ways: Annotated[tuple[_Ways, _Ways], Field(strict=False)] = (5, 5)
    """Least and most classes of a training episode."""
    shots: Annotated[tuple[_Few, _Few], Field(strict=False)] = (1, 5)
    """Least and most labeled images of each class in a training episode."""
    queries: _Few = 5
    """Images to classify in each episode; they share the labeled images."""
    count: Count = 20000
    """Number of different training episodes."""
    tests: Annotated[list[Annotated[tuple[_Ways, _Few], Field(strict=False)]], Field(min_length=1, max_length=20)] = (
        Field(default_factory=lambda: [(5, 1), (5, 5)])
    )
    """Classes, and labeled images of each, of the episodes in evaluation."""
    tested: Count = 600
    """Episodes of each kind in evaluation; validation has a fifth of them."""
    rotations: Literal["none", "train", "all"] = "none"
    """Which data have each class four times, turned by 0, 90, 180 and 270 degrees."""
    seed: Seed = 1

    @model_validator(mode="after")
    def _rise(self) -> EpisodesConfig:
        for name in ("ways", "shots"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} are {low} to {high}, but must be [least, most]")
        return self

    @property
    def codes(self) -> int:
        """The most classes of any episode: the width of the model's output."""
        return max(self.ways[1], *(ways for ways, _ in self.tests))


class Episode(NamedTuple):
    """Indices of images (with their turn: see `turned`), and codes of their labels, below the plan's `codes`."""

    support: NDArray[np.int64]
    given: NDArray[np.int64]
    queries: NDArray[np.int64]
    labels: NDArray[np.int64]


@dataclass(frozen=True)
class EpisodePlan:
    """Draws episodes from classes.

    members: for each class, the indices of its images. codes: the number of label codes. Each episode gives
    its classes random codes, so that a model cannot learn labels by heart. The name says what the episodes are for.
    """

    members: Sequence[NDArray[np.int64]]
    codes: int
    queries: int
    seed: int
    name: str

    def draw(self, number: int, setting: Setting) -> Episode:
        """Draw the episode with this number."""
        chance = np.random.default_rng([self.seed, number, *self.name.encode()])
        ways, shots = setting
        chosen = chance.choice(len(self.members), ways, replace=False)
        codes = chance.permutation(self.codes)[:ways]
        asked = np.bincount(chance.integers(ways, size=self.queries), minlength=ways)
        rows = [self._of_class(chance, chosen[way], shots, int(asked[way])) for way in range(ways)]
        support = np.concatenate([row[:shots] for row in rows])
        order = chance.permutation(len(support))
        queries = np.concatenate([row[shots:] for row in rows])
        mixed = chance.permutation(len(queries))
        given, labels = np.repeat(codes, shots), np.repeat(codes, asked)
        return Episode(support[order], given[order], queries[mixed], labels[mixed])

    def _of_class(self, chance: np.random.Generator, chosen: int, shots: int, asked: int) -> NDArray[np.int64]:
        """Return different images of a class; in a class with few images, queries may repeat."""
        images = chance.permutation(self.members[chosen])
        rest = images[shots:]
        return np.concatenate([images[:shots], rest[np.arange(asked) % len(rest)]])

    def check(self, setting: Setting, where: str) -> None:
        """Raise DataError if there are too few classes, or too few images of one."""
        ways, shots = setting
        if len(self.members) < ways:
            raise DataError(
                f"{where} has {len(self.members)} classes, but a {setting} episode needs {ways}. Add classes, or lower "
                "episodes.ways or episodes.tests."
            )
        least = min(map(len, self.members))
        if least <= shots:
            raise DataError(
                f"{where} has a class of {least} images, but a {setting} episode needs {shots} and a query. "
                "Add images, or lower episodes.shots or episodes.tests."
            )


def members_of(labels: Sequence[str], whole: NDArray[np.bool_], *, rotated: bool) -> list[NDArray[np.int64]]:
    """Return the indices of each class's images, without broken ones; with `rotated`, each class in four turns."""
    places: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        if whole[number]:
            places.setdefault(label, []).append(number)
    classes = [np.array(found, np.int64) * TURNS for _, found in sorted(places.items())]
    return [found + turn for turn in range(TURNS if rotated else 1) for found in classes]


def turned(images: NDArray[np.uint8], numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return images by index, 4 · place + quarter turns."""
    places, turns = np.divmod(numbers, TURNS)
    found = np.asarray(images[places])
    for turn in range(1, TURNS):
        if len(rows := np.flatnonzero(turns == turn)):
            found[rows] = np.rot90(found[rows], turn, (1, 2))
    return found

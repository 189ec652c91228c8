"""Endless streams of sentences, in splits that share no sentence.

A stable hash of its text decides a sentence's split, whatever the seed and the lengths. So keeping train, valid and
test apart needs no memory, even for ten million sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from random import Random
from typing import Protocol, TypeVar

from saccade.data.example import Example
from saccade.errors import ConfigError, DataError, unknown_name

__all__ = ["LONGEST", "SHORTEST", "Dice", "Draft", "Item", "Writer", "check_request", "split_of", "stream"]

SHORTEST, LONGEST = 3, 80
"""Fewest and most words of a sentence."""
_SPLITS = ("train", "valid", "test")
_SLACK = 2  # words by which a sentence may miss the requested length
_PATIENCE = 20_000  # duplicates in a row after which the split counts as exhausted

Item = TypeVar("Item")


class Dice:
    """A seeded random generator with the same numbers on every machine and Python version."""

    def __init__(self, seed: str | Dice) -> None:
        # Random hashes a string with SHA-512, so similar seeds give unrelated streams.
        self.random: Callable[[], float] = seed.random if isinstance(seed, Dice) else Random(seed).random

    def pick(self, items: list[Item] | tuple[Item, ...]) -> Item:
        """Return one of the items, uniformly at random."""
        return items[int(self.random() * len(items))]

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.random() < probability

    def between(self, low: int, high: int) -> int:
        """Return a random integer from `low` to `high`, both included; `low` if the range is empty."""
        return low + int(self.random() * (high - low + 1)) if high > low else low


class Draft(Protocol):
    """A composed sentence, before it is accepted or rejected."""

    @property
    def length(self) -> int:
        """Words of the side whose length counts."""

    @property
    def target(self) -> str:
        """The text that decides the split."""

    def example(self) -> Example:
        """Return the finished example."""


Writer = Callable[[Dice], Callable[[int], Draft | None]]


def split_of(text: str) -> str:
    """Return the split of a sentence, train for six eighths of all; final punctuation does not count."""
    return _split(_digest(text))


def check_request(
    corpus: str,
    split: str,
    size: int | None,
    low: int,
    high: int,
    bounds: tuple[int, int] = (SHORTEST, LONGEST),
    unit: str = "words",
) -> None:
    """Raise ConfigError for arguments that no corpus supports."""
    if split not in _SPLITS:
        raise unknown_name(f"{corpus}: split", split, _SPLITS)
    if low > high:
        raise ConfigError(f"{corpus}: min_length is {low}, but max_length only {high}. Make it {low} or more.")
    if low < bounds[0] or high > bounds[1]:
        raise ConfigError(
            f"{corpus}: lengths {low} to {high} are asked for, but its texts have {bounds[0]} to {bounds[1]} {unit}. "
            "Stay between these."
        )
    if size is not None and size < 0:
        raise ConfigError(f"{corpus}: size is {size}. Ask for 0 sentences or more, or None for no end.")


def stream(
    corpus: str,
    writer: Writer,
    split: str,
    size: int | None,
    seed: int,
    low: int,
    high: int,
    *,
    bounds: tuple[int, int] = (SHORTEST, LONGEST),
    slack: int = _SLACK,
    unit: str = "words",
) -> Iterator[Example]:
    """Generate the sentences of a split, with uniform lengths of `low` to `high` words; check arguments immediately.

    writer(dice)(length) composes a sentence of about that length, or returns None. A sentence that misses the length by
    more than `slack` words is rejected. bounds: the lengths that the writer can compose. unit: what lengths count.
    """
    check_request(corpus, split, size, low, high, bounds, unit)
    sentences = _sentences(corpus, writer, split, seed, low, high, slack)
    return sentences if size is None else _first(sentences, size)


def _first(sentences: Iterator[Example], size: int) -> Iterator[Example]:
    for _ in range(size):
        yield next(sentences)


def _sentences(
    corpus: str, writer: Writer, split: str, seed: int, low: int, high: int, slack: int
) -> Iterator[Example]:
    dice = Dice(f"{corpus} {split} {seed} {low} {high}")
    compose = writer(dice)
    # Only valid and test, which are small, are free of duplicates.
    seen: set[bytes] | None = None if split == "train" else set()
    wanted, old = dice.between(low, high), 0
    while True:
        draft = compose(wanted)
        if draft is None or not low <= draft.length <= high or abs(draft.length - wanted) > slack:
            continue  # keep the requested length, or difficult lengths would be rare
        digest = _digest(draft.target)
        if _split(digest) == split:
            if seen is None or digest not in seen:
                old = 0
                if seen is not None:
                    seen.add(digest)
                yield draft.example()
            elif (old := old + 1) > _PATIENCE:
                raise DataError(
                    f"{corpus} has no more than {len(seen)} different {split} sentences of {low} to {high} words. "
                    "Ask for fewer of them or for longer ones."
                )
        wanted = dice.between(low, high)


def _digest(text: str) -> bytes:
    return blake2b(text.rstrip(" .?!").encode(), digest_size=12).digest()


def _split(digest: bytes) -> str:
    return {0: "valid", 1: "test"}.get(digest[0] & 7, "train")

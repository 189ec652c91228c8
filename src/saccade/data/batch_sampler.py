"""BatchSampler: plan batches from lengths, seed and epoch alone, so that training can resume at any batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.batch import round_up
from saccade.errors import ConfigError, DataError

__all__ = ["BatchSampler", "Cursor", "shard"]

Rows = NDArray[np.int64]

_WINDOW = 128
"""Number of batches sorted by length together: large enough for little padding, small enough to stay shuffled."""


class Cursor(NamedTuple):
    """Position in training: the epoch, and how many of its batches are done."""

    epoch: int = 0
    batch: int = 0


@dataclass(frozen=True)
class BatchSampler:
    """Batches of sentences of similar length, with at most `tokens` tokens on each side, padding included.

    Every epoch shuffles all sentences, sorts windows of them by length, cuts the windows into batches and shuffles
    the batches. lengths (N, sides): the tokens of each sentence on each side.

    With `rounded`, batches have few distinct shapes. Both sides are padded to a length from `round_up`, and the batch
    to as many sentences as fit at that length. This costs some padding, but lets a GPU replay the CUDA graph of an
    earlier batch of the same shape.
    """

    lengths: NDArray[np.integer[Any]]
    tokens: int
    seed: int = 1
    shuffle: bool = True
    rounded: bool = False
    room: int | None = None
    """Maximum tokens per side that the model has positions for; rounding does not exceed it."""
    mixed: bool = False
    """Whether batches mix sentences of all lengths, which costs padding; see `runs.training`."""

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ConfigError(f"tokens_per_batch is {self.tokens}, but a batch needs room for at least 1 token.")
        if len(self.lengths) == 0:
            raise DataError("there are no sentences to make batches of. Check the data.")

    def epoch(self, number: int) -> Iterator[Rows]:
        """Yield the batches of an epoch, each as the row numbers of its sentences."""
        if not self.shuffle:
            yield from self._cut(np.arange(len(self.lengths)))
            return
        chance = np.random.default_rng([self.seed, number])
        count = len(self.lengths)
        order = np.arange(count, dtype=np.int32 if count < 2**31 else np.int64)  # int32 halves the memory
        chance.shuffle(order)
        size = self._window()
        for start in range(0, count, size):
            batches = list(self._cut(self._sorted(order[start : start + size].astype(np.int64))))
            for place in chance.permutation(len(batches)):
                yield batches[place]

    def from_place(self, place: Cursor) -> Iterator[tuple[Cursor, Rows]]:
        """Yield all batches from a cursor on, forever, each with the cursor after it."""
        epoch, skipped = place
        while True:
            number = 0
            for number, rows in enumerate(self.epoch(epoch), 1):
                if number > skipped:
                    yield Cursor(epoch, number), rows
            if number < skipped:
                raise DataError(
                    f"training cannot resume after batch {skipped} of epoch {epoch}, which has {number} batches. The "
                    "training data differ from those that the run started with: restore them, or start a new run in "
                    "another --out."
                )
            epoch, skipped = epoch + 1, 0

    def shape(self, rows: Rows) -> tuple[int, ...]:
        """Return the padded size of a batch: sentences, and tokens of each side."""
        sides = self._lengths(rows).max(0)
        sentences = max(len(rows), self.tokens // int(sides.max())) if self.rounded else len(rows)
        return sentences, *(int(side) for side in sides)

    def padding(self, rows: Rows) -> float:
        """Return the fraction of a batch that is padding."""
        sentences, *sides = self.shape(rows)
        return 1.0 - float(self.lengths[rows].sum()) / (sentences * sum(sides))

    def _lengths(self, rows: Rows) -> NDArray[np.integer[Any]]:
        """Return (n, sides): the lengths of sentences, rounded up if `rounded`."""
        lengths = self.lengths[rows]
        if not self.rounded:
            return lengths
        rounded = _rounded(lengths)
        return rounded if self.room is None else np.maximum(np.minimum(rounded, self.room), lengths)

    def _window(self) -> int:
        mean = float(self.lengths.max(1).mean())
        return max(1, int(_WINDOW * self.tokens / max(mean, 1.0)))

    def _sorted(self, rows: Rows) -> Rows:
        if self.mixed:
            return rows
        # by the longer side, which decides how many fit, then by each side
        keys = self._lengths(rows)
        return rows[np.lexsort((*keys.T, keys.max(1)))]

    def _cut(self, rows: Rows) -> Iterator[Rows]:
        longest = self._lengths(rows).max(1)
        start, widest = 0, 0
        for end, length in enumerate(longest.tolist()):
            widest = max(widest, length)
            if end > start and widest * (end + 1 - start) > self.tokens:
                yield rows[start:end]
                start, widest = end, length
        if start < len(rows):
            yield rows[start:]


def _rounded(lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Apply `round_up` to every length."""
    table = np.array([round_up(length) for length in range(int(lengths.max()) + 1)])
    rounded: NDArray[np.int64] = table[lengths]
    return rounded


def shard(rows: Rows, rank: int, ranks: int) -> Rows:
    """Return the sentences of a batch for one rank; together, the ranks take each sentence exactly once."""
    return rows[rank::ranks]

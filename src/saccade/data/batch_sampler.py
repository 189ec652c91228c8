"""BatchSampler: plan batches from lengths, seed and epoch alone, so that training can resume at any batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.batch import round_up
from saccade.errors import ConfigError, DataError

__all__ = ["BatchSampler", "Cursor", "shard"]

Rows = NDArray[np.int64]

_SHAPES, _LEVELS = 32, 16
"""With `rounded`: the number of shapes above which sides are rounded to fewer lengths, to at most _LEVELS at first."""
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

    With `rounded`, batches have few distinct shapes. Both sides are padded to a length from `round_up`, or to one of
    fewer lengths if the sides differ so much that there would be too many shapes; and the batch to as many sentences as
    fit at that length. This costs some padding, but lets a GPU replay the CUDA graph of an earlier batch of the same
    shape.
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
    examples: int | None = None
    """Maximum sentences of a batch."""

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
        sentences = max(len(rows), min(self._most, self.tokens // int(sides.max()))) if self.rounded else len(rows)
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
        rounded = np.stack([table[side] for table, side in zip(self._tables, lengths.T, strict=True)], 1)
        return rounded if self.room is None else np.maximum(np.minimum(rounded, self.room), lengths)

    @cached_property
    def _tables(self) -> list[NDArray[np.int64]]:
        """For each side: the length that each length is rounded up to."""
        usual = [_usual_table(int(side.max())) for side in self.lengths.T]
        tables, levels = usual, _LEVELS
        while _combinations(self.lengths, tables) > _SHAPES and levels > 2:
            tables = [
                _table(table, np.bincount(side, minlength=len(table)), levels)
                for table, side in zip(usual, self.lengths.T, strict=True)
            ]
            levels -= 1
        return tables

    @property
    def _most(self) -> int:
        return self.tokens if self.examples is None else self.examples

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
            if end > start and (widest * (end + 1 - start) > self.tokens or end - start == self._most):
                yield rows[start:end]
                start, widest = end, length
        if start < len(rows):
            yield rows[start:]


def _usual_table(longest: int) -> NDArray[np.int64]:
    if longest == 1:  # images: all have one length
        return np.arange(2)
    return np.array([round_up(length) for length in range(longest + 1)])


def _combinations(lengths: NDArray[np.integer[Any]], tables: list[NDArray[np.int64]]) -> int:
    """Return how many different rounded lengths, of all sides together, 99 % of the sentences have at least."""
    codes = np.zeros(len(lengths), np.int64)
    for side, table in zip(lengths.T, tables, strict=True):
        codes = codes * (int(table[-1]) + 1) + table[side]
    common = np.sort(np.unique(codes, return_counts=True)[1])[::-1]
    return int(np.searchsorted(np.cumsum(common), 0.99 * len(codes))) + 1


def _table(usual: NDArray[np.int64], counts: NDArray[np.int64], levels: int) -> NDArray[np.int64]:
    """Round up to at most `levels` of the usual lengths: those that need the least padding for the counted lengths.

    least[k][j] is the padding of all lengths up to the j-th usual one if k + 1 levels are used and it is the last.
    """
    sizes, groups = np.unique(usual, return_inverse=True)
    mass = np.concatenate([[0], np.cumsum(np.bincount(groups, counts, len(sizes)))])
    padding = np.array([[(mass[j + 1] - mass[i]) * sizes[j] for i in range(len(sizes))] for j in range(len(sizes))])
    least, before = [padding[:, 0]], []
    for _ in range(min(levels, len(sizes)) - 1):
        costs = np.full((len(sizes), len(sizes)), np.inf)
        for j in range(1, len(sizes)):
            costs[j, :j] = least[-1][:j] + padding[j, 1 : j + 1]
        before.append(costs.argmin(1))
        least.append(costs.min(1))
    last, chosen = len(sizes) - 1, []
    for step in reversed([None, *before]):
        chosen.append(int(sizes[last]))
        if step is None:
            break
        last = int(step[last])
    rising = np.array(chosen[::-1])
    rounded: NDArray[np.int64] = rising[np.searchsorted(rising, usual)]
    return rounded


def shard(rows: Rows, rank: int, ranks: int) -> Rows:
    """Return the sentences of a batch for one rank; together, the ranks take each sentence exactly once."""
    return rows[rank::ranks]

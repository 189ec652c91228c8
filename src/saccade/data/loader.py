"""Loader: batches from a store, prepared in a background thread while the model trains."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from saccade.batch import Batch
from saccade.data.batch_sampler import BatchSampler, Cursor, Rows, shard
from saccade.data.store import Store

__all__ = ["Count", "Loader", "TrainBatch", "collate", "count_rows", "count_words", "in_background", "lengths_of"]

Item = TypeVar("Item")
Count = Callable[[Store, Rows], int]


@dataclass(frozen=True)
class TrainBatch:
    """A batch for one process, with its bookkeeping.

    tokens: targets to predict in the whole batch, over all processes. lines: line numbers of its sentences in the
    data. padding: the fraction of the whole batch that is padding. place: the cursor after this batch. weight: 0 for a
    process that had to borrow a sentence because there are fewer sentences than processes.
    """

    batch: Batch
    tokens: int
    lines: NDArray[np.int64]
    padding: float
    place: Cursor
    weight: float = 1.0


class Loader:
    """Batches of a store in the order of a BatchSampler, from any cursor on.

    `count` returns the number of targets in some rows, by which their summed losses are divided. An objective may
    supply its own.
    """

    def __init__(
        self, store: Store, plan: BatchSampler, rank: int = 0, ranks: int = 1, *, count: Count | None = None
    ) -> None:
        self.store, self.plan, self._count = store, plan, count or count_words
        self._rank, self._ranks = rank, ranks

    def __call__(self, place: Cursor) -> Iterator[TrainBatch]:
        return in_background(lambda: (self._load(after, rows) for after, rows in self.plan.from_place(place)))

    def epoch(self, number: int = 0) -> Iterator[TrainBatch]:
        """Yield one epoch, prepared in the calling thread."""
        for place, rows in enumerate(self.plan.epoch(number), 1):
            yield self._load(Cursor(number, place), rows)

    def _load(self, place: Cursor, rows: Rows) -> TrainBatch:
        mine = shard(rows, self._rank, self._ranks)
        weight = float(len(mine) > 0)
        mine = mine if len(mine) else rows[:1]
        batch = collate(self.store, mine, self._shape(rows) if self.plan.rounded else None)
        padding = self.plan.padding(rows)
        return TrainBatch(batch, self._count(self.store, rows), self.store.lines[mine], padding, place, weight)

    def _shape(self, rows: Rows) -> tuple[int, ...]:
        """Return the padded shape of one process's share of a batch."""
        sentences, *sides = self.plan.shape(rows)
        return -(-sentences // self._ranks), *sides


def lengths_of(store: Store) -> NDArray[np.integer[Any]]:
    """Return (N, sides): the positions of each example on each sized side, EOS included, as uint16 if they fit."""
    sides = [part.lengths(store.columns[part.name]) for part in store.features if part.sized]
    longest = max(int(lengths.max()) for lengths in sides)
    found = np.empty((len(store), len(sides)), np.uint16 if longest < 2**16 else np.int32)
    for side, lengths in enumerate(sides):
        found[:, side] = lengths
    return found


def count_words(store: Store, rows: Rows) -> int:
    """Count the target tokens, EOS included."""
    target = store.columns["target"]
    before = np.where(rows > 0, target.ends[np.maximum(rows - 1, 0)], 0)
    return int((target.ends[rows] - before).sum()) + len(rows)


def count_rows(store: Store, rows: Rows) -> int:
    """Count the examples; each has one target."""
    return len(rows)


def collate(store: Store, rows: Rows, shape: tuple[int, ...] | None = None) -> Batch:
    """Combine some examples into a Batch, with the features of the store.

    `shape` (see `BatchSampler.shape`) requests extra padding. The examples that it adds have no targets, so they do
    not count in the loss.
    """
    count, *sides = shape or (len(rows),)
    made: dict[str, Any] = {}
    for feature in store.features:
        positions = sides.pop(0) if feature.sized and sides else 0
        made |= feature.collate(store.columns[feature.name], rows, count, positions, made)
    return store.batch(**made)


def in_background(make: Callable[[], Iterator[Item]], depth: int = 4) -> Iterator[Item]:
    """Yield the items of an iterator that a thread prefetches; raise its errors here, stop it when this is closed."""
    waiting: queue.Queue[tuple[str, Any]] = queue.Queue(depth)
    stop = threading.Event()

    def put(kind: str, value: Any) -> None:
        while not stop.is_set():
            try:
                waiting.put((kind, value), timeout=0.1)
                return
            except queue.Full:
                continue

    def work() -> None:
        try:
            for item in make():
                put("item", item)
                if stop.is_set():
                    return
            put("end", None)
        except BaseException as error:
            put("error", error)

    thread = threading.Thread(target=work, name="saccade-loader", daemon=True)
    thread.start()
    try:
        while True:
            kind, value = waiting.get()
            if kind == "end":
                return
            if kind == "error":
                raise value
            yield value
    finally:
        stop.set()
        if thread is not threading.current_thread():  # garbage collection may close this generator in any thread
            thread.join()

"""Workers: several processes that share the batches of a bulk prediction, each with a core of its own.

Small products gain little from a second thread, and whole batches gain a whole core from a second process.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType

import torch

from saccade.errors import ConfigError, SaccadeError
from saccade.outside import trusting
from saccade.prediction import Prediction
from saccade.runs.folder import load_task
from saccade.search.settings import SearchConfig
from saccade.tasks.base import Task
from saccade.tasks.inputs import Input, Opened

__all__ = ["Workers"]


class Workers:
    """`count` processes, each with the model of a folder and one thread; to be used in a `with`."""

    def __init__(self, folder: Path, count: int, *, trust_code: bool = False) -> None:
        if count < 1:
            raise ConfigError(f"workers is {count}, but at least 1 must do the work.")
        self.count, load = count, (folder, trust_code)
        # not forked: a copy of a process whose threads hold locks may wait for them for ever
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), _load, load)

    def predict(
        self, batches: Sequence[Sequence[Input | Opened]], search: SearchConfig, attention: bool, prefix: str | None
    ) -> Iterator[list[Prediction]]:
        """The answers to each batch, in the order of the batches."""
        futures = [self._pool.submit(_predict, list(batch), search, attention, prefix) for batch in batches]
        try:
            for future in futures:
                yield future.result()
        except BrokenProcessPool as error:
            raise SaccadeError(
                "a worker ended before its work was done; it may have been killed for its memory. Use fewer --workers, "
                "or a smaller --batch."
            ) from error

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)


_tasks: list[Task] = []
"""In a worker: its task."""


def _load(folder: Path, trust_code: bool) -> None:
    torch.set_num_threads(1)
    with trusting(trust_code):
        _tasks.append(load_task(folder))
    gc.freeze()  # all that stays: or the garbage collector goes through it again and again
    atexit.register(gc.unfreeze)


def _predict(
    inputs: list[Input | Opened], search: SearchConfig, attention: bool, prefix: str | None
) -> list[Prediction]:
    return _tasks[0].predict(inputs, search, attention=attention, prefix=prefix)

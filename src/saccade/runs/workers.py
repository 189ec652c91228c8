"""Workers: processes of one thread each that share the batches of a bulk prediction.

Small matmuls gain little from a second thread. A second process decodes other batches on a core of its own.
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
from saccade.search.search_config import SearchConfig
from saccade.tasks.base import Task
from saccade.tasks.inputs import Input, Opened

__all__ = ["Workers"]


class Workers:
    """`count` processes, each with one thread and the model of a folder. Use it in a `with` statement."""

    def __init__(self, folder: Path, count: int, *, trust_code: bool = False) -> None:
        if count < 1:
            raise ConfigError(f"workers is {count}, but must be at least 1.")
        self.count, load = count, (folder, trust_code)
        # spawn, not fork: locks held by threads of this process would deadlock the copy
        self._pool = ProcessPoolExecutor(count, get_context("spawn"), _load, load)

    def predict(
        self, batches: Sequence[Sequence[Input | Opened]], search: SearchConfig, attention: bool, prefix: str | None
    ) -> Iterator[list[Prediction]]:
        """Yield the predictions of each batch, in the order of the batches."""
        futures = [self._pool.submit(_predict, list(batch), search, attention, prefix) for batch in batches]
        try:
            for future in futures:
                yield future.result()
        except BrokenProcessPool as error:
            raise SaccadeError(
                "a worker ended before it was done; it may have been killed for its memory. Use fewer --workers, "
                "or a smaller --batch-size."
            ) from error

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)


_tasks: list[Task] = []
"""In a worker process: its task, the only element."""


def _load(folder: Path, trust_code: bool) -> None:
    torch.set_num_threads(1)
    with trusting(trust_code, folder):
        _tasks.append(load_task(folder))
    gc.freeze()  # the task stays alive; do not scan it in every garbage collection
    atexit.register(gc.unfreeze)


def _predict(
    inputs: list[Input | Opened], search: SearchConfig, attention: bool, prefix: str | None
) -> list[Prediction]:
    return _tasks[0].predict(inputs, search, attention=attention, prefix=prefix)

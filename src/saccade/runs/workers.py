"""Workers: processes of one thread each that share the batches of a bulk prediction.

Small matmuls gain little from a second thread. A second process decodes other batches on a core of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import torch

from saccade.errors import ConfigError
from saccade.outside import trusting
from saccade.prediction import Prediction
from saccade.runs.crew import LocalCrew, Work, in_order
from saccade.runs.folder import load_task
from saccade.search.search_config import SearchConfig
from saccade.tasks.inputs import Input, Opened

__all__ = ["Workers"]


class Workers:
    """`count` processes, each with one thread and the model of a folder. Use it in a `with` statement."""

    def __init__(self, folder: Path, count: int, *, trust_code: bool = False) -> None:
        if count < 1:
            raise ConfigError(f"workers is {count}, but must be at least 1.")
        self.count = count
        self._crew = LocalCrew(count, _load, folder, trust_code)

    def predict(
        self, batches: Sequence[Sequence[Input | Opened]], search: SearchConfig, attention: bool, prefix: str | None
    ) -> Iterator[list[Prediction]]:
        """Yield the predictions of each batch, in the order of the batches."""
        return in_order(self._crew, ((list(batch), search, attention, prefix) for batch in batches))

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._crew.__exit__(kind, error, trace)


def _load(folder: Path, trust_code: bool) -> Work:
    """Return the function that predicts a batch in a worker."""
    torch.set_num_threads(1)
    with trusting(trust_code, folder):
        task = load_task(folder)

    def predict(
        inputs: list[Input | Opened], search: SearchConfig, attention: bool, prefix: str | None
    ) -> list[Prediction]:
        return task.predict(inputs, search, attention=attention, prefix=prefix)

    return predict

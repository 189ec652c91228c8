"""Predictor: bulk prediction inside another engine, such as Ray Data or Spark, one table of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from saccade.api import load
from saccade.errors import DataError

__all__ = ["Predictor", "Row", "Unread"]


class Row(NamedTuple):
    """The prediction of one row; its fields are the columns of the output."""

    output: str
    score: float
    error: str


class Unread(NamedTuple):
    """A row that holds no input, and why."""

    why: str


class Predictor:
    """Adds the columns `output`, `score` and `error` to tables; the model is loaded once, when the object is made.

    A row that cannot be read keeps its place: its output is empty and `error` says why. Engines make one object for
    each worker, so it takes one thread.

        data.map_batches(Predictor, fn_constructor_args=["runs/demo"], concurrency=2)      # Ray Data
        frame.mapInPandas(lambda tables: Predictor("runs/demo").tables(tables), schema)     # Spark

    >>> Predictor("demo", column="en")({"en": ["the law", None], "line": [7, 8]})["output"]
    ['la loi', '']
    """

    def __init__(
        self,
        model: str | Path,
        *,
        column: str = "text",
        device: str = "auto",
        trust_code: bool = False,
        prefix: str | None = None,
        **options: Any,
    ) -> None:
        torch.set_num_threads(1)
        self._model = load(model, device=device, trust_code=trust_code)
        self._column, self._prefix, self._options = column, prefix, options
        self._model.search(**options)  # a wrong option is refused here, not in every row

    def __call__(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a table with those of the predictions."""
        if self._column not in table:
            raise DataError(f"the table has no column {self._column!r}. It has: {', '.join(map(str, table))}.")
        columns = [list(column) for column in zip(*self.rows(list(table[self._column])), strict=True)] or [[], [], []]
        return {**table, **dict(zip(Row._fields, columns, strict=True))}

    def tables(self, tables: Iterable[Any]) -> Iterator[Any]:
        """Yield DataFrames of pandas with the columns of the predictions."""
        for table in tables:
            found = self({self._column: table[self._column].tolist()})
            yield table.assign(**{name: found[name] for name in Row._fields})

    def rows(self, given: list[Any]) -> list[Row]:
        """Return the predictions of some inputs; one that is None, Unread or unreadable keeps its place."""
        missing = Unread(self._model.task.reads.fault(None) or "is missing")
        unread = [missing if one is None else one if isinstance(one, Unread) else None for one in given]
        readable = [one for one, why in zip(given, unread, strict=True) if why is None]
        answers = iter(self._answers(readable))
        return [next(answers) if why is None else Row("", 0.0, why.why) for why in unread]

    def _answers(self, inputs: list[Any]) -> list[Row]:
        try:
            found = self._model.stream(inputs, prefix=self._prefix, on_error=_ignored, **self._options)
            return [Row(one.text, one.score, one.error) for one in found]
        except DataError as error:  # of one of them, noticed only when all are read together
            if len(inputs) == 1:
                return [Row("", 0.0, str(error))]
        return [row for one in inputs for row in self._answers([one])]


def _ignored(why: str) -> None:
    """Leave the reason to the row."""

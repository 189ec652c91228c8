"""Predictor: bulk prediction inside another engine, such as Ray Data or Spark, one table of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from saccade.api import load
from saccade.errors import DataError

__all__ = ["Predictor"]

_COLUMNS = ("output", "score", "error")


class Predictor:
    """Adds the columns `output`, `score` and `error` to tables; the model is loaded once, when the object is made.

    A row that cannot be read keeps its place: its output is empty and `error` says why. Engines make one object for
    each worker, so it takes one thread.

        data.map_batches(Predictor, fn_constructor_args=["runs/demo"], concurrency=2)      # ray.data
        frame.mapInPandas(lambda tables: Predictor("runs/demo").tables(tables), schema)    # Spark

    >>> Predictor("demo", column="en")({"en": ["the law", None], "line": [7, 8]})["output"]
    ['la loi', '']
    """

    def __init__(self, model: str | Path, *, column: str = "text", trust_code: bool = False, **options: Any) -> None:
        torch.set_num_threads(1)
        self._model = load(model, device="auto", trust_code=trust_code)
        self._column, self._options = column, options
        self._model.search(**options)  # a wrong option is refused here, not in every row

    def __call__(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a table with those of the predictions."""
        if self._column not in table:
            raise DataError(f"the table has no column {self._column!r}. It has: {', '.join(map(str, table))}.")
        rows = self._predicted(list(table[self._column]))
        columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
        return {**table, **dict(zip(_COLUMNS, columns, strict=True))}

    def tables(self, tables: Iterable[Any]) -> Iterator[Any]:
        """Yield DataFrames of pandas with the columns of the predictions."""
        for table in tables:
            found = self({self._column: table[self._column].tolist()})
            yield table.assign(**{name: found[name] for name in _COLUMNS})

    def _predicted(self, rows: list[Any]) -> list[tuple[str, float, str]]:
        """Predict all rows at once, or if one of them fails, each alone."""
        try:
            return [(one.text, one.score, "") for one in self._model(rows, **self._options)]
        except DataError:
            return [self._one(given) for given in rows]

    def _one(self, given: Any) -> tuple[str, float, str]:
        try:
            found = self._model([given], **self._options)[0]
        except DataError as error:
            return "", 0.0, str(error).removeprefix("input 1 ").removeprefix("input 1: ")
        return found.text, found.score, ""

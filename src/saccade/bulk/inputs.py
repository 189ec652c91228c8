"""Rows of input files: lines of text, of JSON, or rows of Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from saccade.bulk.predictor import Unread
from saccade.data.text import import_extra, lines, shorten, stem_suffix
from saccade.errors import ConfigError, DataError
from saccade.files import open_to_read
from saccade.tasks.inputs import Modality

__all__ = ["PARQUET", "parquet_modules", "reading_parquet", "rows_of"]

PARQUET = ".parquet"
_TABLES = (PARQUET, ".jsonl", ".ndjson")
"""Suffixes of files whose rows have columns."""
_ROWS = 1024
"""Rows of Parquet that are decoded at a time."""


def rows_of(path: Path, reads: Modality, column: str | None) -> Iterator[Any]:
    """Yield the input of each row of a file; Unread for a row that holds none.

    A line of text is an input. JSON lines and Parquet have columns: `column` holds the input, by default "text". For a
    model that reads several fields, such as a question and a passage, the columns of these names are the input.
    """
    suffix = stem_suffix(path)
    if suffix not in _TABLES:
        if column is not None:
            raise ConfigError(f"{path} has no columns, since it is not .jsonl or .parquet. Leave out --column.")
        return map(reads.of_line, lines(path))
    wanted = reads.fields if column is None else ()
    read = _parquet if suffix == PARQUET else _json
    return read(path, column or "text", wanted)


def _json(path: Path, column: str, fields: tuple[str, ...]) -> Iterator[Any]:
    for number, line in enumerate(lines(path, any_end=True), 1):
        found = _value(line, column, fields)
        if number == 1 and isinstance(found, Unread):
            raise DataError(f"{path}, line 1 {found.why} --column names the field that holds the input.")
        yield found


def _value(line: str, column: str, fields: tuple[str, ...]) -> Any:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Unread(f"is not JSON: {shorten(line)}.")
    if isinstance(found, str):
        return found
    if not isinstance(found, dict):
        return Unread(f"is not a JSON object: {shorten(line)}.")
    if fields:
        return {name: found[name] for name in fields if name in found}
    return found[column] if column in found else Unread(f"has no field {column!r}, only {', '.join(map(repr, found))}.")


def _parquet(path: Path, column: str, fields: tuple[str, ...]) -> Iterator[Any]:
    with reading_parquet(path) as table:
        names, wanted = table.schema_arrow.names, [*fields] or [column]
        if missing := [name for name in wanted if name not in names]:
            raise DataError(
                f"{path} has no column {missing[0]!r}. It has: {', '.join(names)}. --column names the one to read."
            )
        for batch in table.iter_batches(_ROWS, columns=wanted):
            yield from (batch.to_pylist() if fields else batch.column(0).to_pylist())


@contextmanager
def reading_parquet(path: Path) -> Iterator[Any]:
    """Open a Parquet file; raise DataError if it is damaged or none."""
    arrow, parquet = parquet_modules()
    with open_to_read(path, regular=True) as file:
        try:
            with parquet.ParquetFile(file) as table:
                yield table
        except arrow.ArrowException as error:
            raise DataError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from error


def parquet_modules() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet."""
    return import_extra("pyarrow", "parquet", "Parquet"), import_extra("pyarrow.parquet", "parquet", "Parquet")

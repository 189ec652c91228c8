"""Journal: the rows that a bulk prediction has finished, in order, so that a killed run continues after the last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType

from saccade.bulk.inputs import parquet_modules
from saccade.bulk.predictor import Row
from saccade.files import sync, wrap_os_errors, write_atomically

__all__ = ["Journal"]

_WELL = b'"error": ""}\n'
"""End of the line of a row that did not fail."""
_GROUP = 1 << 16
"""Rows of a group in a Parquet file, which bounds the memory of writing it."""


class Journal:
    """A file of JSON lines, a row of the output in each. Opening it removes all after the last whole batch."""

    def __init__(self, path: Path, batch: int) -> None:
        self.path = path
        with wrap_os_errors(path):
            path.touch()
            self.kept, self.failed, end = _whole_batches(path, batch)
            self._file = path.open("r+b")
            self._file.truncate(end)
            self._file.seek(end)
        self.rows = self.kept

    def add(self, rows: list[Row]) -> None:
        """Write the next batch."""
        numbered = enumerate(rows, self.rows + 1)
        written = [json.dumps({"line": line, **row._asdict()}, ensure_ascii=False) for line, row in numbered]
        with wrap_os_errors(self.path):
            # a lone surrogate becomes its escape, which is also what JSON calls it
            self._file.write("".join(f"{line}\n" for line in written).encode("utf-8", "backslashreplace"))
            self._file.flush()
        self.rows += len(rows)
        self.failed += sum(bool(row.error) for row in rows)

    def finish(self, out: Path, *, parquet: bool) -> None:
        """Make the output of the journal, which is gone then."""
        self._file.close()
        if parquet:
            write_atomically(out, self._write_parquet)
            self.path.unlink()
            return
        with wrap_os_errors(out):
            sync(self.path)
            self.path.replace(out)
            sync(out.parent)

    def _write_parquet(self, path: Path) -> None:
        arrow, parquet = parquet_modules()
        columns = {"line": arrow.int64(), "output": arrow.string(), "score": arrow.float64(), "error": arrow.string()}
        schema = arrow.schema(list(columns.items()))
        with parquet.ParquetWriter(path, schema) as writer:
            for group in _groups(self.path):
                writer.write_table(arrow.Table.from_pylist(group, schema))

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _groups(path: Path) -> Iterator[list[dict[str, object]]]:
    with path.open("rb") as file:
        while group := [json.loads(line) for line in islice(file, _GROUP)]:
            for row in group:
                for name, value in row.items():
                    if isinstance(value, str):  # Parquet has no lone surrogates
                        row[name] = value.encode("utf-8", "replace").decode()
            yield group


def _whole_batches(path: Path, batch: int) -> tuple[int, int, int]:
    """Return rows, failed rows and bytes of the batches that are whole; a killed process may leave part of a row."""
    rows = failed = bytes_read = 0
    whole = (0, 0, 0)
    with path.open("rb") as file:
        for line in file:
            if not (line.startswith(b'{"line": %d, ' % (rows + 1)) and line.endswith(b"}\n")):
                break
            rows, bytes_read = rows + 1, bytes_read + len(line)
            failed += not line.endswith(_WELL)
            if rows % batch == 0:
                whole = (rows, failed, bytes_read)
    return whole

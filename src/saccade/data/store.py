"""Store: a tokenized corpus on disk, memory-mapped, created once and reused until its inputs change."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from saccade.batch import Batch
from saccade.data.example import Example
from saccade.errors import DataError
from saccade.files import writing_folder

if TYPE_CHECKING:
    from saccade.data.features import Feature

__all__ = ["Column", "Numbered", "Store", "clear", "fingerprint", "size_of"]

Numbered = tuple[int, Example]
"""The number of an example, from 1, and the example."""

_FORMAT = 1
_CHUNK = 4096


class Column:
    """Rows of numbers of different lengths, concatenated in a file: `ends[i]` is the end of row i."""

    def __init__(self, folder: Path, name: str) -> None:
        self.values: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
        self.ends: NDArray[np.int64] = np.load(folder / f"{name}.ends.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def lengths(self) -> NDArray[np.int32]:
        """(N,): the length of each row."""
        lengths = np.empty(len(self), np.int32)
        lengths[:1] = self.ends[:1]
        np.subtract(self.ends[1:], self.ends[:-1], out=lengths[1:], casting="same_kind")
        return lengths

    def rows(self, numbers: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return some rows, concatenated, integers as int64, and the length of each."""
        ends = np.asarray(self.ends[numbers])
        starts = np.where(numbers > 0, self.ends[np.maximum(numbers - 1, 0)], 0)
        lengths = ends - starts
        shift = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        places = np.repeat(starts - shift, lengths) + np.arange(lengths.sum())
        found = np.asarray(self.values[places])
        return found.astype(np.int64) if found.dtype.kind in "iu" else found, lengths


class Store:
    """The columns of a corpus, one per feature, and the line number of each row."""

    def __init__(self, folder: Path, features: Sequence[Feature], batch: type[Batch] = Batch) -> None:
        self.batch = batch
        self.about: dict[str, Any] = json.loads((folder / "about.json").read_text())
        self.columns = {name: Column(folder, name) for name in self.about["columns"]}
        self.features = [feature for feature in features if feature.name in self.columns]
        self.lines: NDArray[np.int64] = np.load(folder / "lines.npy", mmap_mode="r")

    def __len__(self) -> int:
        return len(self.lines)

    @classmethod
    def open(
        cls,
        cache: Path,
        key: str,
        examples: Iterable[Example],
        features: Sequence[Feature],
        max_length: int = 1000,
        batch: type[Batch] = Batch,
    ) -> Store:
        """Open the store with this key; create it from the examples if the cache does not have it yet.

        `batch` is the class of its batches. Several processes may create the same store at once: the first to finish
        wins.
        """
        folder = cache / key
        if folder.exists():
            try:
                return cls(folder, features, batch)
            except (OSError, ValueError, KeyError):  # damaged later: only a complete store gets this name
                shutil.rmtree(folder)
        with writing_folder(folder, replace=False) as draft:
            _write(draft, examples, features, max_length)
        return cls(folder, features, batch)


def fingerprint(*parts: Any) -> str:
    """Hash parts to a name: settings, tokenizers, files with their sizes and times."""
    text = json.dumps([_FORMAT, *parts], sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def size_of(cache: Path) -> int:
    """Return the bytes of all files in the cache."""
    return sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())


def clear(cache: Path) -> int:
    """Empty the cache, and return the number of bytes freed."""
    freed = size_of(cache)
    shutil.rmtree(cache, ignore_errors=True)
    return freed


class _Growing:
    """A one-dimensional .npy file whose length is known only at the end."""

    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self._file: BinaryIO = path.open("wb")
        self._dtype, self._count = dtype, 0
        self._header()

    def add(self, values: NDArray[Any]) -> None:
        self._file.write(values.astype(self._dtype, copy=False).tobytes())
        self._count += len(values)

    def __enter__(self) -> _Growing:
        return self

    def __exit__(self, *error: object) -> None:
        with self._file:
            self._file.seek(0)
            self._header()

    def _header(self) -> None:
        # padded for the largest count, so that the size of the header never changes
        text = f"{{'descr': '{self._dtype.str}', 'fortran_order': False, 'shape': ({self._count},), }}"
        self._file.write(b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n")


class _ColumnWriter:
    """Appends rows to the two files of a column."""

    def __init__(self, folder: Path, name: str, dtype: Any, files: ExitStack) -> None:
        self._values = files.enter_context(_Growing(folder / f"{name}.npy", np.dtype(dtype)))
        self._ends = files.enter_context(_Growing(folder / f"{name}.ends.npy", np.dtype(np.int64)))
        self._dtype, self._end = dtype, 0

    def add(self, rows: Sequence[Any]) -> None:
        """Append some rows."""
        ends = self._end + np.cumsum([len(row) for row in rows], dtype=np.int64)
        before, self._end = self._end, int(ends[-1]) if len(ends) else self._end
        if rows and isinstance(rows[0], np.ndarray):
            self._values.add(np.concatenate(rows))
        else:
            self._values.add(np.fromiter(chain.from_iterable(rows), self._dtype, self._end - before))
        self._ends.add(ends)


def _write(folder: Path, examples: Iterable[Example], features: Sequence[Feature], max_length: int) -> None:
    counts = {"read": 0, "empty": 0, "too_long": 0}
    numbered = enumerate(examples, 1)
    with ExitStack() as files:
        lines = files.enter_context(_Growing(folder / "lines.npy", np.dtype(np.int64)))
        writers = {feature.name: _ColumnWriter(folder, feature.name, feature.dtype, files) for feature in features}
        while chunk := list(islice(numbered, _CHUNK)):
            columns = {feature.name: feature.encode(chunk) for feature in features}
            sizes = [[len(row) // part.width for row in columns[part.name]] for part in features if part.sized]
            kept = _kept(np.array(sizes), max_length, counts)
            for feature in features:
                rows = columns[feature.name]
                writers[feature.name].add([rows[row] for row in kept])
            lines.add(np.array([chunk[row][0] for row in kept], np.int64))
    if counts["read"] == counts["empty"] + counts["too_long"]:
        raise DataError(
            f"no example is left to train on: {counts['read']} were read, {counts['empty']} of them empty and "
            f"{counts['too_long']} longer than {max_length} tokens. Check the data, or raise data.max_length."
        )
    (folder / "about.json").write_text(json.dumps({"columns": list(writers), **counts}))


def _kept(sizes: NDArray[np.int64], max_length: int, counts: dict[str, int]) -> list[int]:
    """Return the rows that are neither empty nor too long on any side; count the others. sizes (sides, rows)."""
    empty = sizes.min(0) == 0
    too_long = ~empty & (sizes.max(0) > max_length)
    counts["read"] += sizes.shape[1]
    counts["empty"] += int(empty.sum())
    counts["too_long"] += int(too_long.sum())
    kept: list[int] = np.flatnonzero(~empty & ~too_long).tolist()
    return kept

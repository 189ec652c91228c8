"""Stream data sets from the Hugging Face Hub. Needs the extra `hub`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from saccade.data.example import Example
from saccade.data.formats import check_fields, from_record, has, present
from saccade.data.text import import_extra
from saccade.errors import ConfigError, DataError

__all__ = ["hub"]


def hub(
    name: str, config: str | None, split: str, columns: Mapping[str, str], *, first_word: int = 0
) -> Iterator[Example]:
    """Stream the examples of one split.

    `columns` maps source, target, label and links to columns. A dot selects a nested column, as in
    {"source": "translation.en", "target": "translation.de"}. Code that comes with a data set is not run.
    """
    library = import_extra("datasets", "hub", f"the data set {name!r} of the Hub")
    check_fields("field", columns)
    return _hub(library, name, config, split, columns, first_word)


def _hub(
    library: Any, name: str, config: str | None, split: str, columns: Mapping[str, str], first_word: int
) -> Iterator[Example]:
    title = f"{name}/{config}" if config else name
    number = 0
    for number, record in enumerate(_records(library, name, config, split, title), 1):
        if number == 1:
            _check_columns(record, columns, title)
        yield from_record(record, columns, f"{title}, {split} {number}", first_word)
    if number == 0:
        raise DataError(f"{title} is empty: its split {split!r} has no record.")


def _records(library: Any, name: str, config: str | None, split: str, title: str) -> Iterator[Mapping[str, Any]]:
    """Yield the records; turn errors of the library or the network into a DataError that names the data set."""
    try:
        records = iter(library.load_dataset(name, config, split=split, streaming=True))
    except Exception as error:  # its class depends on the library's version and the file format
        raise _unreachable(title, split, error) from error
    while True:
        try:
            record = next(records)
        except StopIteration:
            return
        except Exception as error:
            raise _unreachable(title, split, error) from error
        yield record


def _unreachable(title: str, split: str, error: Exception) -> DataError:
    return DataError(
        f"cannot read the split {split!r} of {title}: {type(error).__name__}: {error}. Check the names of the data "
        "set, its configuration and the split, and the network."
    )


def _check_columns(record: Mapping[str, Any], columns: Mapping[str, str], title: str) -> None:
    """Raise ConfigError with all missing columns; links may be absent."""
    missing = [column for field, column in columns.items() if field != "links" and not has(record, column)]
    if missing:
        named = ", ".join(map(repr, missing))
        raise ConfigError(f"{title} has no column {named}. It has: {', '.join(present(record)) or 'none'}.")

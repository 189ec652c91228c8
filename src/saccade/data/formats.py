"""Corpora in files, read as a stream of Examples: Moses pairs, TSV, JSON lines, labeled text and plain text.

In parallel files every line becomes an Example, blank lines too, and `Store` drops empty examples. In a file that holds
whole examples, blank lines are left out and counted in a note.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from saccade.data.example import Example, Links
from saccade.data.text import check_encodable, numbered, shorten
from saccade.errors import ConfigError, DataError, unknown_name

__all__ = [
    "check_fields",
    "from_record",
    "has",
    "jsonl",
    "labelled",
    "pairs",
    "parse_links",
    "present",
    "records",
    "text",
    "tsv",
]

_FIELDS = ("source", "target", "label", "links")
_SKIP = "_"
"""Name for a TSV column that is not read."""

_LINKS = re.compile(r"[\d\sSPp?-]*")
"""What a cell of alignment links looks like."""
_ABSENT = object()
_noted: set[str] = set()
"""Notes given so far, since training reads a file several times."""


def pairs(source: Path, target: Path, alignments: Path | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read two parallel files, and optionally a third with word alignments in Pharaoh format."""
    paths = [source, target] if alignments is None else [source, target, alignments]
    for number, rows in enumerate(zip_longest(*map(numbered, paths)), 1):
        if None in rows:
            raise DataError(_unequal(paths, rows, number))
        sides = [line for _, line in rows]
        where = f"{paths[-1]}, line {number}"
        links = None if alignments is None else parse_links(sides[2], sides[0], sides[1], where, first_word)
        yield Example(source=sides[0], target=sides[1], links=links)


def tsv(
    path: Path,
    columns: Sequence[str] | Mapping[str, str] = ("source", "target", "links"),
    *,
    first_word: int = 0,
) -> Iterator[Example]:
    """Read tab-separated columns, without quotes.

    `columns` names them in order: source, target, label, links (Pharaoh format), or `_` for one that is not read.
    If links are the last column, a line may omit them; columns beyond, or in their place without being links, are
    ignored with a note. Or `columns` maps fields to column numbers from 1, or to the names in a first line.
    """
    check_fields("column", [column for column in columns if column != _SKIP])
    if isinstance(columns, Mapping):
        return _chosen(path, columns, first_word)
    return _tsv(path, tuple(columns), first_word)


def _tsv(path: Path, columns: tuple[str, ...], first_word: int) -> Iterator[Example]:
    counts, ignoring = {len(columns), len(columns) - (columns[-1] == "links")}, False
    for first, (number, line) in enumerate(_filled(path)):
        where, cells = f"{path}, line {number}", line.split("\t")
        if first == 0 and columns[-1] == "links" and len(cells) >= len(columns):
            ignoring = len(cells) > len(columns) or not _LINKS.fullmatch(cells[-1])
            if ignoring:
                _note(f"{path}: columns after the first {len(columns) - 1} are no alignment links and are ignored.")
        if ignoring:
            cells = cells[: len(columns) - 1]
        if len(cells) not in counts:
            raise DataError(
                f"{where} has {_count(len(cells), 'column')}, but {' or '.join(map(str, sorted(counts)))}"
                f" wanted: {', '.join(columns)}, with a tab between them. The line begins {shorten(line)}."
            )
        found = {column: cell for column, cell in zip(columns, cells, strict=False) if column != _SKIP}
        yield _example(found, where, first_word)


def _chosen(path: Path, columns: Mapping[str, str], first_word: int) -> Iterator[Example]:
    """Read columns by number from 1, or by the names in the first line."""
    places: dict[str, int] = {}
    for number, line in _filled(path):
        where, cells = f"{path}, line {number}", line.split("\t")
        if not places:
            places = {field: _place(column, cells, where) for field, column in columns.items()}
            if not all(column.isdecimal() for column in columns.values()):
                continue  # the first line holds the names
        if len(cells) <= max(places.values()):
            raise DataError(
                f"{where} has {_count(len(cells), 'column')}, but data.columns asks for column "
                f"{max(places.values()) + 1}. The line begins {shorten(line)}."
            )
        yield _example({field: cells[place] for field, place in places.items()}, where, first_word)


def _place(column: str, names: Sequence[str], where: str) -> int:
    """Return the index of a column."""
    if column.isdecimal() and int(column) > 0:
        return int(column) - 1
    if column not in names:
        raise DataError(f"{where} names no column {column!r}. It has: {', '.join(shorten(name) for name in names)}.")
    return names.index(column)


def _filled(path: Path, *, any_end: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank with their numbers; at the end, note how many were left out."""
    blank = 0
    for number, line in numbered(path, any_end=any_end):
        if line.strip(" "):
            yield number, line
        else:
            blank += 1
    if blank:
        _note(f"{path}: {_count(blank, 'blank line')} left out.")


def _note(text: str) -> None:
    """Log a note once."""
    if text not in _noted:
        _noted.add(text)
        logging.getLogger("saccade").warning("%s", text)


def jsonl(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read one JSON object per line.

    `keys` maps source, target, label and links (a text in Pharaoh format) to keys of the object. By default, source,
    target and optional links have keys of the same names. A dot selects a nested key: {"source": "translation.en"}
    reads {"translation": {"en": …}}. Every key is required except that of links. A label may be a number.
    """
    keys = {"source": "source", "target": "target", "links": "links"} if keys is None else keys
    check_fields("field", keys)
    return _jsonl(path, keys, first_word)


def _jsonl(path: Path, keys: Mapping[str, str], first_word: int) -> Iterator[Example]:
    for where, record in records(path, keys):
        yield from_record(record, keys, where, first_word)


def records(path: Path, keys: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the object of each line, with its place in the file for messages; `keys` are those it should have."""
    for number, line in _filled(path, any_end=True):  # no text in JSON has a bare CR
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise DataError(
                f"{where} is not JSON ({reason}): {shorten(line)}. Every line must be one whole object."
            ) from error
        if not isinstance(record, dict):
            raise DataError(f"{where} is {_kind_of(record)}, but must be an object with {', '.join(keys.values())}.")
        yield where, record


def text(path: Path) -> Iterator[Example]:
    """Read plain text for language models: each line is a target."""
    for _, line in numbered(path):
        yield Example(target=line)


def labelled(path: Path) -> Iterator[Example]:
    """Read lines of `LABEL text`; the first space or tab ends the label."""
    for number, line in numbered(path):
        label, *rest = re.split("[ \t]", line, maxsplit=1)
        if not label or not rest:
            raise DataError(
                f"{path}, line {number} is {shorten(line)}, but must be a label, a space or a tab, and a text."
            )
        yield Example(source=rest[0], label=label)


def from_record(record: Mapping[str, Any], keys: Mapping[str, str], where: str, first_word: int = 0) -> Example:
    """Build an Example from a record of named values; `keys` as in `jsonl`, `where` names the record in errors."""
    found: dict[str, str] = {}
    for field, key in keys.items():
        value = _look_up(record, key)
        if field == "links" and (value is _ABSENT or value is None):
            continue
        if value is _ABSENT:
            raise DataError(f"{where} has no {key!r}. It has: {', '.join(present(record)) or 'nothing'}.")
        if field == "label" and isinstance(value, int):
            value = json.dumps(value)  # the boolean true becomes "true", as in the file
        if not isinstance(value, str):
            raise DataError(f"{where}: {key!r} must be text, but is {_kind_of(value)}.")
        check_encodable(value, f"{where}: {key!r}")
        found[field] = value
    return _example(found, where, first_word)


def has(record: Mapping[str, Any], key: str) -> bool:
    """Return whether a record has a key, or a nested key written with dots."""
    return _look_up(record, key) is not _ABSENT


def present(record: Mapping[str, Any], limit: int = 12) -> list[str]:
    """Return the names in a record, nested ones as translation.en; at most `limit`, to keep messages short."""
    names: list[str] = []
    for key, value in record.items():
        inside = isinstance(value, Mapping) and value
        names += [f"{key}.{name}" for name in value] if inside else [str(key)]
    return names if len(names) <= limit else [*names[:limit], "…"]


def check_fields(kind: str, fields: Iterable[str]) -> None:
    """Raise ConfigError for unknown or repeated fields, for no field, and for links without source and target."""
    seen: set[str] = set()
    for field in fields:
        if field not in _FIELDS:
            raise unknown_name(kind, field, _FIELDS)
        if field in seen:
            raise ConfigError(f"{kind} {field!r} is named twice.")
        seen.add(field)
    if not seen:
        raise ConfigError(f"no {kind} is named. Name some of {', '.join(_FIELDS)}.")
    if "links" in seen and not {"source", "target"} <= seen:
        raise ConfigError("links join the words of source and target: name all three, or leave links out.")


def _unequal(paths: Sequence[Path], rows: Sequence[tuple[int, str] | None], number: int) -> str:
    ended = next(path for path, row in zip(paths, rows, strict=True) if row is None)
    longer, line = next((path, row[1]) for path, row in zip(paths, rows, strict=True) if row is not None)
    return (
        f"{ended} ends at line {number - 1}, but {longer} goes on: its line {number}, {shorten(line)}, has no partner. "
        "Both need the same number of lines; check where they diverge."
    )


def _example(found: Mapping[str, str], where: str, first_word: int) -> Example:
    source, target, alignment = found.get("source"), found.get("target"), found.get("links")
    if found.get("label") == "":
        raise DataError(f"{where} has an empty label. Name its class, or leave the line out.")
    links = None if alignment is None else parse_links(alignment, source or "", target or "", where, first_word)
    return Example(source=source, target=target, label=found.get("label"), links=links)


def parse_links(alignment: str, source: str, target: str, where: str, first_word: int) -> Links:
    """Parse an alignment; raise DataError if a link points beyond the sentence."""
    links = Links.parse(alignment, where, first_word)
    words = len(source.split()), len(target.split())
    for link in sorted(links.possible):
        if link[0] >= words[0] or link[1] >= words[1]:
            hint = "" if first_word else " If the file counts them from 1, set data.alignment_base to 1."
            raise DataError(
                f"{where}: link {link[0] + first_word}-{link[1] + first_word} points beyond the sentence: the source "
                f"has {_count(words[0], 'word')} and the target {_count(words[1], 'word')}, counted from {first_word}."
                f"{hint}"
            )
    return links


def _look_up(record: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key, or of a nested key written with dots; `_ABSENT` if there is none."""
    if key in record:
        return record[key]
    outer, dot, inner = key.partition(".")
    inside = record.get(outer)
    return _look_up(inside, inner) if dot and isinstance(inside, Mapping) else _ABSENT


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {shorten(value)}"
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, Sequence) else type(value).__name__


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"

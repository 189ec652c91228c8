"""Corpora in files, read as a stream of Examples: Moses pairs, TSV, JSON lines, labelled text and text alone.

Every line becomes an Example as it stands, blank ones too: leaving some out is for whoever trains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from saccade.data.example import Example, Links
from saccade.data.text import check_encodable, numbered, shorten
from saccade.errors import ConfigError, DataError, unknown_name

__all__ = ["check_fields", "from_record", "has", "jsonl", "labelled", "pairs", "present", "text", "tsv"]

_FIELDS = ("source", "target", "label", "links")
_SKIP = "_"
"""The name of a TSV column that is not read."""

_ABSENT = object()


def pairs(source: Path, target: Path, alignments: Path | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Two files whose lines belong together, and the word alignments of each pair in a third, in Pharaoh's form."""
    paths = [source, target] if alignments is None else [source, target, alignments]
    for number, rows in enumerate(zip_longest(*map(numbered, paths)), 1):
        if None in rows:
            raise DataError(_unequal(paths, rows, number))
        sides = [line for _, line in rows]
        where = f"{paths[-1]}, line {number}"
        links = None if alignments is None else _links(sides[2], sides[0], sides[1], where, first_word)
        yield Example(source=sides[0], target=sides[1], links=links)


def tsv(
    path: Path, columns: Sequence[str] = ("source", "target", "links"), *, first_word: int = 0
) -> Iterator[Example]:
    """Columns separated by tabs, without quotes and without a header.

    `columns` names them in their order: source, target, label, links (Pharaoh's form), or `_` for one that is not
    read. Lines may do without links where they are the last column.
    """
    check_fields("column", [column for column in columns if column != _SKIP])
    return _tsv(path, tuple(columns), first_word)


def _tsv(path: Path, columns: tuple[str, ...], first_word: int) -> Iterator[Example]:
    counts = {len(columns), len(columns) - (columns[-1] == "links")}
    for number, line in numbered(path):
        where = f"{path}, line {number}"
        cells = line.split("\t")
        if len(cells) not in counts:
            raise DataError(
                f"{where} has {_count(len(cells), 'column')}, but {' or '.join(map(str, sorted(counts)))}"
                f" wanted: {', '.join(columns)}, with a tab between them. The line begins {shorten(line)}."
            )
        found = {column: cell for column, cell in zip(columns, cells, strict=False) if column != _SKIP}
        yield _example(found, where, first_word)


def jsonl(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """One JSON object per line.

    `keys` says which key of the object holds the source, target, label and links (a text in Pharaoh's form); as it
    stands, source and target, and links where there are any. A dot looks inside: {"source": "translation.en"} reads
    {"translation": {"en": …}}. Every key must be there but that of links. A label may be a number.
    """
    keys = {"source": "source", "target": "target", "links": "links"} if keys is None else keys
    check_fields("field", keys)
    return _jsonl(path, keys, first_word)


def _jsonl(path: Path, keys: Mapping[str, str], first_word: int) -> Iterator[Example]:
    for number, line in numbered(path):
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
        yield from_record(record, keys, where, first_word)


def text(path: Path) -> Iterator[Example]:
    """A text alone, for language models: each line is a target."""
    for _, line in numbered(path):
        yield Example(target=line)


def labelled(path: Path) -> Iterator[Example]:
    """Lines of `LABEL text`: what stands before the first space or tab is the label."""
    for number, line in numbered(path):
        label, *rest = re.split("[ \t]", line, maxsplit=1)
        if not label or not rest:
            raise DataError(
                f"{path}, line {number} is {shorten(line)}, but must be a label, a space or a tab, and a text."
            )
        yield Example(source=rest[0], label=label)


def from_record(record: Mapping[str, Any], keys: Mapping[str, str], where: str, first_word: int = 0) -> Example:
    """The Example in a record of named values; `keys` as in `jsonl`, `where` names the record in errors."""
    found: dict[str, str] = {}
    for field, key in keys.items():
        value = _look_up(record, key)
        if field == "links" and (value is _ABSENT or value is None):
            continue
        if value is _ABSENT:
            raise DataError(f"{where} has no {key!r}. It has: {', '.join(present(record)) or 'nothing'}.")
        if field == "label" and isinstance(value, int):
            value = json.dumps(value)  # true stays true, as it is written
        if not isinstance(value, str):
            raise DataError(f"{where}: {key!r} must be text, but is {_kind_of(value)}.")
        check_encodable(value, f"{where}: {key!r}")
        found[field] = value
    return _example(found, where, first_word)


def has(record: Mapping[str, Any], key: str) -> bool:
    """Whether a record has a key, or the path of keys that dots join."""
    return _look_up(record, key) is not _ABSENT


def present(record: Mapping[str, Any], limit: int = 12) -> list[str]:
    """The names in a record, with those one level further in: translation.en. No more than a message can hold."""
    names: list[str] = []
    for key, value in record.items():
        inside = isinstance(value, Mapping) and value
        names += [f"{key}.{name}" for name in value] if inside else [str(key)]
    return names if len(names) <= limit else [*names[:limit], "…"]


def check_fields(kind: str, fields: Iterable[str]) -> None:
    """Refuse names that are no part of an Example, names given twice, links between nothing, and no name at all."""
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
        "Both need the same number of lines; see where they part."
    )


def _example(found: Mapping[str, str], where: str, first_word: int) -> Example:
    source, target, alignment = found.get("source"), found.get("target"), found.get("links")
    if found.get("label") == "":
        raise DataError(f"{where} has an empty label. Name its class, or leave the line out.")
    links = None if alignment is None else _links(alignment, source or "", target or "", where, first_word)
    return Example(source=source, target=target, label=found.get("label"), links=links)


def _links(alignment: str, source: str, target: str, where: str, first_word: int) -> Links:
    """An alignment in which every link joins two words that are there."""
    links = Links.parse(alignment, where, first_word)
    words = len(source.split()), len(target.split())
    for link in sorted(links.possible):
        if link[0] >= words[0] or link[1] >= words[1]:
            hint = "" if first_word else " If the file counts them from 1, set first_word to 1."
            raise DataError(
                f"{where}: link {link[0] + first_word}-{link[1] + first_word} points beyond the sentence: the source "
                f"has {_count(words[0], 'word')} and the target {_count(words[1], 'word')}, counted from {first_word}."
                f"{hint}"
            )
    return links


def _look_up(record: Mapping[str, Any], key: str) -> Any:
    """The value of a key, or of a path of keys joined with dots; `_ABSENT` where there is none."""
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

"""JSON lines of texts and summaries: a text may be a list of sentences, and have several summaries.

The keys of public data sets are known: article and highlights of CNN/DailyMail, and the like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from saccade.data.example import Example
from saccade.data.formats import check_fields, from_record, records
from saccade.data.text import shown
from saccade.errors import DataError

__all__ = ["summaries"]

_KEYS = (("source", "target"), ("article", "highlights"), ("document", "summary"), ("text", "summary"))
"""Usual keys of a text and its summary: saccade's own, CNN/DailyMail's, XSum's, Newsroom's."""


def summaries(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read one JSON object per line with a source and a target; see `formats.jsonl` for `keys`.

    Without `keys`, the first object tells which of the usual keys the file has. A source that is a list holds
    sentences. A target that is a list holds several summaries: training uses the first, evaluation all. Sentences and
    the lines of a text are joined by spaces. A text may have a `title`.
    """
    default = _named(*_KEYS[0])
    check_fields("field", default if keys is None else keys)
    own = None if keys == default else keys
    for where, record in records(path, own or default):
        own = own or _usual(record)
        sentences, found = _listed(record, own["source"], where), _listed(record, own["target"], where)
        joined, found = _one_line("\n".join(sentences)), [*map(_one_line, found)]
        one = from_record({**record, own["source"]: joined, own["target"]: found[0]}, own, where, first_word)
        title = record.get("title")
        yield replace(
            one,
            references=tuple(found) if len(found) > 1 else (),
            title=title if isinstance(title, str) and title.strip() else None,
        )


def _one_line(text: str) -> str:
    return " ".join(line.strip() for line in re.split("[\r\n]", text) if line.strip())


def _usual(record: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the usual keys that a record has, by default saccade's own."""
    return _named(*next((pair for pair in _KEYS if all(key in record for key in pair)), _KEYS[0]))


def _named(source: str, target: str) -> Mapping[str, str]:
    return {"source": source, "target": target, "links": "links"}


def _listed(record: Mapping[str, Any], key: str, where: str) -> list[str]:
    value = record.get(key)
    texts: list[Any] = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{where}: {key!r} is {shown(value)}, but must be a text or a list of texts.")
    return texts

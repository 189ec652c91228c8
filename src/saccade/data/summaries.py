"""JSON lines of texts and summaries: a text may be a list of sentences, and have several summaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from saccade.data.example import Example
from saccade.data.formats import check_fields, from_record, records
from saccade.data.text import shown
from saccade.errors import DataError

__all__ = ["summaries"]


def summaries(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read one JSON object per line with a source and a target; see `formats.jsonl` for `keys`.

    A source that is a list holds sentences, which are joined by spaces. A target that is a list holds several
    summaries: training uses the first, evaluation all. A text may have a `title`.
    """
    keys = {"source": "source", "target": "target", "links": "links"} if keys is None else keys
    check_fields("field", keys)
    for where, record in records(path, keys):
        sentences, found = _listed(record, keys["source"], where), _listed(record, keys["target"], where)
        joined = " ".join(sentence.strip() for sentence in sentences)
        one = from_record({**record, keys["source"]: joined, keys["target"]: found[0]}, keys, where, first_word)
        title = record.get("title")
        yield replace(
            one,
            references=tuple(found) if len(found) > 1 else (),
            title=title if isinstance(title, str) and title.strip() else None,
        )


def _listed(record: Mapping[str, Any], key: str, where: str) -> list[str]:
    value = record.get(key)
    texts: list[Any] = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise DataError(f"{where}: {key!r} is {shown(value)}, but must be a text or a list of texts.")
    return texts

"""Files that are one JSON object: read as a whole, up to a limit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from saccade.data.text import lines, numbered
from saccade.errors import DataError

__all__ = ["first_object", "listed", "whole_object"]

_LARGEST = 256 << 20
"""Maximum bytes of a file, which may be a single line: nearly twice what all captions of COCO need."""


def first_object(path: Path) -> dict[str, Any] | None:
    """Return the object on the first line; None if that line is not a whole object."""
    try:
        first = json.loads(next(iter(numbered(path, _LARGEST)))[1])
    except (ValueError, RecursionError):
        return None  # the object continues on the next line
    return first if isinstance(first, dict) else None


def whole_object(path: Path, needed: str) -> Mapping[str, Any]:
    """Return the object that a file consists of; `needed` describes it in messages."""
    try:
        whole = json.loads("\n".join(_bounded(path)))
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}, line {error.lineno} is not JSON ({error.msg}). Copy or download the file again."
        ) from error
    except RecursionError as error:
        raise DataError(f"{path} is nested too deeply to be read.") from error
    if not isinstance(whole, dict):
        raise DataError(f"{path} must be one object with {needed}.")
    return whole


def listed(record: Mapping[str, Any]) -> str:
    """List the keys of an object, the first of them, for a message."""
    return ", ".join(list(record)[:12]) or "nothing"


def _bounded(path: Path) -> Iterator[str]:
    """Yield the lines of a file that must fit into memory as a whole."""
    room = _LARGEST
    for line in lines(path, _LARGEST):
        room -= len(line)
        if room < 0:
            raise DataError(
                f"{path} has more than {_LARGEST >> 20} MB, too many to be read as one object. Write JSON lines: one "
                "object on each line."
            )
        yield line

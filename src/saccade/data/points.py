"""Points: texts of numbers such as `0.12,0.93 0.4,0.11`, and texts of their positions, such as `2 1`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from saccade.batch import SPECIALS
from saccade.data.example import Example
from saccade.data.formats import check_fields, from_record, records
from saccade.data.text import shorten
from saccade.data.tokenizer import Encoded, without_specials
from saccade.errors import DataError

__all__ = ["Point", "Positions", "order_lines", "padded_points", "parse_order", "parse_points", "point_words"]

Point = list[float]
_FIRST = len(SPECIALS)


def parse_points(text: str, dimensions: int | None = None) -> list[Point]:
    """Parse points: separated by spaces, with commas between their numbers; or an array in JSON.

    `dimensions`: how many numbers each point must have, by default as many as the first.
    """
    try:
        points = [[float(number) for number in word.split(",")] for word in point_words(text)]
    except (ValueError, RecursionError):
        raise DataError(f"{shorten(text)} is no list of points. {_HELP}") from None
    if not points or not all(math.isfinite(number) and abs(number) < _LARGEST for point in points for number in point):
        raise DataError(f"{shorten(text)} has no points, or a number that is not finite. {_HELP}")
    wanted = len(points[0]) if dimensions is None else dimensions
    for place, point in enumerate(points, 1):
        if len(point) != wanted:
            raise DataError(f"point {place} of {shorten(text)} has {len(point)} numbers, but needs {wanted}. {_HELP}")
    return points


def point_words(text: str) -> list[str]:
    """Return the text of each point; raise ValueError for broken JSON."""
    if not text.lstrip().startswith("["):
        return text.split()
    return [_word(point) for point in json.loads(text)]


def parse_order(text: str, count: int) -> list[int]:
    """Parse the positions of some of `count` points, which count from 1, to places, which count from 0."""
    try:
        places = [int(word) - 1 for word in text.split()]
    except ValueError:
        places = [-1]
    if not all(0 <= place < count for place in places):
        raise DataError(f"{shorten(text)} is no list of positions from 1 to {count}, such as 3 1 2.")
    return places


class Positions:
    """Converts positions to tokens and back, as a Tokenizer does words. Texts count from 1, tokens follow SPECIALS."""

    def __init__(self, count: int) -> None:
        self.count = count

    def encode(self, text: str) -> Encoded:
        """Encode one text."""
        places = parse_order(text, self.count)
        return Encoded([_FIRST + place for place in places], [*range(len(places))])

    def decode(self, tokens: Sequence[int]) -> str:
        """Decode the tokens up to EOS, without special tokens."""
        return self.spelled(tokens)[0]

    def spelled(self, tokens: Sequence[int], *, words: bool = True) -> tuple[str, Encoded]:
        """Return the text of some tokens, and the tokens that are not special, each with its word number."""
        kept = [token for token in without_specials(tokens) if token >= _FIRST]
        return " ".join(self.pieces(kept)), Encoded(kept, [*range(len(kept))] if words else [])

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Return each token in readable form."""
        return [SPECIALS[token] if token < _FIRST else str(token - _FIRST + 1) for token in tokens]


def padded_points(rows: Sequence[Any], dimensions: int, count: int, positions: int = 0) -> dict[str, Tensor]:
    """Pad points (n, D) to `source` and `source_mask`; each row ends with a position of zeros for the end.

    There are `count` rows, of which the added ones have only the end, of at least `positions` positions.
    """
    lengths = torch.tensor([len(row) + 1 for row in rows] + [1] * (count - len(rows)))
    size = max(positions, int(lengths.max()))
    places = torch.arange(size)
    source = torch.zeros(count, size, dimensions)
    source[places < lengths[:, None] - 1] = torch.cat([torch.as_tensor(row, dtype=torch.float32) for row in rows])
    return {"source": source, "source_mask": places < lengths[:, None]}


def order_lines(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read one JSON object per line: {"points": [[0.1, 0.9], [0.4, 0.1]], "order": [2, 1]}; both may also be texts.

    `keys` renames the two: {"source": "points", "target": "order"}.
    """
    keys = {"source": "points", "target": "order"} if keys is None else keys
    check_fields("field", keys)
    for where, record in records(path, keys):
        changed = {key: _text(record.get(key), where, key) for key in keys.values()}
        yield from_record({**record, **changed}, keys, where, first_word)


def _text(value: Any, where: str, key: str) -> Any:
    """Write an array of points or positions as text; anything else is returned as it is."""
    if not isinstance(value, list):
        return value
    try:
        return " ".join(map(_word, value))
    except ValueError:
        raise DataError(f"{where}: {key!r} is {shorten(str(value))}, but holds numbers or lists of them.") from None


def _word(point: Any) -> str:
    numbers = point if isinstance(point, list) else [point]
    if not numbers or not all(type(number) in (int, float) for number in numbers):
        raise ValueError
    return ",".join(f"{number}" for number in numbers)


_HELP = "Write x,y for each point with spaces between, such as 0.12,0.93 0.4,0.11, or an array in JSON."
_LARGEST = 1e30
"""Numbers stay below this, so that single precision holds them."""

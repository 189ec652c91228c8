"""How points and the order of their positions are stored, and padded into a Batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from saccade.batch import SPECIALS
from saccade.data.batch_sampler import Rows
from saccade.data.features import Feature, TokenFeature, texts_of
from saccade.data.points import padded_points, parse_order, parse_points
from saccade.data.store import Column, Numbered
from saccade.data.text import shorten
from saccade.errors import DataError

__all__ = ["OrderFeature", "PointFeature"]


class PointFeature(Feature):
    """The points of an example: `source` (B, S, D), whose last position is the end, and its mask."""

    name, dtype, sized = "points", np.float32, True

    def __init__(self, dimensions: int) -> None:
        self.width = dimensions

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[float]]:
        rows = []
        for (number, _), text in zip(chunk, texts_of(chunk, "source"), strict=True):
            try:
                rows.append([each for point in parse_points(text, self.width) for each in point])
            except DataError as error:
                raise DataError(f"example {number}: {error}") from error
        return rows

    def lengths(self, column: Column) -> Any:
        return super().lengths(column) + 1

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        parts = np.split(values.reshape(-1, self.width), np.cumsum(sizes // self.width)[:-1])
        return padded_points(parts, self.width, count, positions)

    def fingerprint(self) -> Any:
        return [self.name, self.width]


class OrderFeature(TokenFeature):
    """The positions of an answer: `target` (B, T), and its mask.

    `repeated`: whether an answer may have a position twice; `whole`: whether it must have all of them.
    """

    def __init__(self, *, repeated: bool = True, whole: bool = False) -> None:
        self.name, self.dtype = "target", np.int32
        self.repeated, self.whole = repeated, whole

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        rows = []
        for (number, example), text in zip(chunk, texts_of(chunk, "target"), strict=True):
            try:
                count = len(parse_points(example.source or ""))
                places = parse_order(text, count)
            except DataError as error:
                raise DataError(f"example {number}: {error}") from error
            if not self.repeated and len({*places}) < len(places):
                raise DataError(f"example {number} has a position twice: {shorten(text)}. Set points.choose to any.")
            if self.whole and len(places) < count:
                why = f"has {len(places)} of {count} positions: {shorten(text)}. Set points.choose to once"
                raise DataError(f"example {number} {why}.")
            rows.append([len(SPECIALS) + place for place in places])
        return rows

    def fingerprint(self) -> Any:
        return [self.name, self.repeated, self.whole]

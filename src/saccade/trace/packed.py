"""Packed: an array quantized, compressed and base64-encoded as text, precise enough for figures."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from saccade.config import Config
from saccade.errors import DataError

__all__ = ["Packed", "check_total", "pack"]

Numbers = NDArray[np.float32]
FINE, COARSE, COARSER = 65535, 255, 63
"""Quantization levels: FINE for arrays whose numbers are read, COARSE for weights in large arrays, COARSER for scores
in large arrays."""


MOST, MOST_TOTAL, _FAR = 1 << 24, 1 << 27, 1e30
"""Maximum numbers in an array and in a whole trace, and the largest magnitude of a number. The limits keep a small
malicious file from filling the memory. A Transformer of six layers with eight heads needs 75 million numbers for 512
source and target tokens."""


class Packed(Config):
    """Numbers from `low` to `high`, quantized to `levels` steps; see docs/trace.md."""

    shape: list[int]
    low: float = Field(ge=-_FAR, le=_FAR)
    high: float = Field(ge=-_FAR, le=_FAR)
    levels: int = Field(ge=2, le=FINE)
    holes: bool = False
    """Whether level 0 stands for a missing number (NaN)."""
    data: str = Field(repr=False)

    @model_validator(mode="after")
    def _fits(self) -> Packed:
        if any(size < 0 for size in self.shape):
            raise ValueError(f"shape is {self.shape}, but sizes are 0 or more")
        if math.prod(self.shape) > MOST:
            raise ValueError(f"shape is {self.shape}, which is more than {MOST:,} numbers")
        if self.high < self.low:
            raise ValueError(f"low is {self.low}, which is above high, {self.high}")
        wanted = math.prod(self.shape) * self._kind.itemsize
        found = len(_inflate(self.data, wanted))
        if found != wanted:
            raise ValueError(f"data has {found} bytes, but the shape {self.shape} needs {wanted}")
        return self

    @property
    def _kind(self) -> np.dtype[Any]:
        return np.dtype("<u2" if self.levels > COARSE else "u1")

    def unpack(self) -> Numbers:
        """Return the numbers as float32, NaN where one is missing."""
        size = math.prod(self.shape) * self._kind.itemsize
        numbers = np.frombuffer(_inflate(self.data, size), self._kind).reshape(self.shape)
        first = int(self.holes)
        values = self.low + (self.high - self.low) * (numbers.astype(np.float32) - first) / (self.levels - first)
        return np.where(numbers < first, np.float32(np.nan), values).astype(np.float32)


def check_total(shapes: Iterable[Sequence[int]], remedy: str) -> None:
    """Raise DataError if one array or all arrays together are too large, before any is unpacked."""
    sizes = [math.prod(shape) for shape in shapes]
    if max(sizes, default=0) > MOST or sum(sizes) > MOST_TOTAL:
        raise DataError(
            f"a trace holds at most {MOST_TOTAL:,} numbers, and {MOST:,} in one array, but here there are "
            f"{sum(sizes):,}, and {max(sizes):,} in one. {remedy}"
        )


def pack(values: NDArray[Any], levels: int, *, low: float | None = None, high: float | None = None) -> Packed:
    """Pack an array of any shape; non-finite numbers become holes. Bounds default to the minimum and maximum."""
    present = np.isfinite(values)
    known = values[present]
    low = float(known.min()) if low is None and known.size else low or 0.0
    high = float(known.max()) if high is None and known.size else high or 0.0
    high = max(high, low)
    first = int(not present.all())
    reach = (high - low) or 1.0
    share = np.clip((np.where(present, values, low).astype(np.float64) - low) / reach, 0, 1)
    numbers = np.where(present, np.rint(share * (levels - first)) + first, 0)
    raw = numbers.astype("<u2" if levels > COARSE else "u1").tobytes()
    data = base64.b64encode(zlib.compress(raw, 9)).decode()
    return Packed(shape=list(values.shape), low=low, high=high, levels=levels, holes=bool(first), data=data)


def _inflate(data: str, wanted: int) -> bytes:
    """Decompress at most `wanted` + 1 bytes. Raise ValueError if the stream is damaged or cut before its checksum."""
    unpacker = zlib.decompressobj()
    try:
        found = unpacker.decompress(base64.b64decode(data, validate=True), wanted + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ValueError(f"data cannot be unpacked ({error}), so the file is damaged") from error
    if len(found) == wanted and (not unpacker.eof or unpacker.unused_data):
        raise ValueError("data is cut short or goes on behind its end, so the file is damaged")
    return found

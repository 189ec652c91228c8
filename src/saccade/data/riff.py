"""The .wav format: PCM of 8 to 32 bits and floats, in any number of channels."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.errors import DataError

__all__ = ["WaveFormat", "is_wave", "wave_blocks", "wave_samples"]

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_UNKNOWN_SIZES = (0, 0x7FFFFFFF, 0xFFFFFFFF)
"""Sizes that programs write if they do not know the length yet: the data continue to the end of the file."""


class WaveFormat(NamedTuple):
    """What the header of a .wav file says."""

    kind: int
    channels: int
    rate: int
    bits: int

    @property
    def frame(self) -> int:
        """Bytes of a sample of all channels."""
        return self.channels * self.bits // 8

    @property
    def known(self) -> bool:
        """Whether `wave_samples` can read it."""
        return (self.kind == _PCM and self.bits in (8, 16, 24, 32)) or (self.kind == _FLOAT and self.bits in (32, 64))


def is_wave(data: bytes) -> bool:
    """Return whether the content of a file is a .wav file's."""
    return data[:4] == b"RIFF" and data[8:12] == b"WAVE"


def wave_samples(data: bytes, name: str) -> tuple[WaveFormat, NDArray[np.float32]]:
    """Return the format and the samples (n, channels) of a .wav file; (0, channels) if it cannot decode the format.

    Raises DataError for a file that is cut or damaged.
    """
    layout, start, size = _body(data, name)
    if not layout.known:
        return layout, np.zeros((0, layout.channels), np.float32)
    return layout, _numbers(data[start : start + size], layout).reshape(-1, layout.channels)


def wave_blocks(data: bytes | mmap, name: str, seconds: float) -> Iterator[tuple[NDArray[np.float32], int]] | None:
    """Return the samples (n, channels) of a .wav file in blocks, with their rate; None if it cannot decode the format.

    Raises DataError for a file that is cut or damaged.
    """
    layout, start, size = _body(data, name)
    if not layout.known:
        return None
    step = max(1, int(seconds * layout.rate)) * layout.frame
    places = range(start, start + size, step)
    parts = (data[place : min(place + step, start + size)] for place in places)
    return ((_numbers(part, layout).reshape(-1, layout.channels), layout.rate) for part in parts)


def _body(data: bytes | mmap, name: str) -> tuple[WaveFormat, int, int]:
    """Return the format of a .wav file, and the place and the size of its samples in bytes."""
    layout, body = None, None
    for kind, size, start in _chunks(data):
        if kind == b"fmt " and size >= 16 and start + 16 <= len(data):
            layout = _format(data[start : start + size])
        elif kind == b"data" and layout is not None:
            whole = len(data) - start
            if size not in _UNKNOWN_SIZES and size > whole:
                raise DataError(
                    f"{name} is cut: its header announces {size:,} bytes of sound, but {whole:,} are there. Copy or "
                    "record it again."
                )
            body = start, whole if size in _UNKNOWN_SIZES else size
            break
    if layout is None or body is None or layout.channels < 1 or layout.rate < 1:
        raise DataError(f"{name} is a damaged .wav file: its header or its samples are missing. Copy it again.")
    start, size = body
    return layout, start, size // layout.frame * layout.frame if layout.known else size


def _chunks(data: bytes | mmap) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name, the size and the start of each chunk of a file."""
    place = 12
    while place + 8 <= len(data):
        size = int.from_bytes(data[place + 4 : place + 8], "little")
        yield data[place : place + 4], size, place + 8
        place += 8 + size + size % 2


def _format(chunk: bytes) -> WaveFormat:
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", chunk[:16])
    if kind == _EXTENSIBLE and len(chunk) >= 26:
        kind = int.from_bytes(chunk[24:26], "little")
    return WaveFormat(kind, channels, rate, bits)


def _numbers(body: bytes, layout: WaveFormat) -> NDArray[np.float32]:
    """Convert bytes to numbers between -1 and 1."""
    if layout.kind == _FLOAT:
        return np.frombuffer(body, f"<f{layout.bits // 8}").astype(np.float32)
    if layout.bits == 8:  # the only unsigned format
        return np.asarray((np.frombuffer(body, np.uint8).astype(np.float32) - 128) / 128, np.float32)
    if layout.bits == 24:
        parts = np.frombuffer(body, np.uint8).reshape(-1, 3)
        wide = np.zeros((len(parts), 4), np.uint8)
        wide[:, 1:] = parts
        return (wide.view("<i4")[:, 0] / 2**31).astype(np.float32)
    return (np.frombuffer(body, f"<i{layout.bits // 8}") / 2.0 ** (layout.bits - 1)).astype(np.float32)

"""Long recordings in windows that end at pauses, read a few seconds at a time, so that memory stays flat."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.data.riff import is_wave, wave_blocks
from saccade.data.sound_files import import_soundfile, mono
from saccade.data.sounds import Sound
from saccade.errors import DataError
from saccade.files import file_error

__all__ = ["Window", "sound_windows"]

Samples = NDArray[np.float32]
_BLOCK = 10.0
"""Seconds that are read at a time."""
_PAUSE = 0.2
"""Seconds over which loudness is averaged to find a pause."""


class Window(NamedTuple):
    """A part of a recording, and the second at which it begins."""

    begin: float
    sound: Sound


def sound_windows(path: Path, longest: float) -> Iterator[Window]:
    """Yield the windows of a sound file, each of at most `longest` seconds.

    A window ends in the quietest 0.2 s of its second half, unless the recording ends before.
    """
    kept, begin = np.zeros(0, np.float32), 0
    rate = 0
    for block, rate in _blocks(path):
        kept = np.concatenate([kept, block])
        most = int(longest * rate)
        while len(kept) > most:
            cut = _quietest(kept[:most], rate)
            yield Window(begin / rate, Sound(kept[:cut].copy(), rate))
            kept, begin = kept[cut:], begin + cut
    if len(kept):
        yield Window(begin / rate, Sound(kept, rate))
    elif begin == 0:
        raise DataError(f"{path} holds no samples. Record it again, or leave it out.")


def _quietest(samples: Samples, rate: int) -> int:
    """Return the middle of the quietest stretch in the second half of some samples."""
    width = max(1, int(_PAUSE * rate))
    half = len(samples) // 2
    sums = np.cumsum(np.square(samples[half:], dtype=np.float64))
    power = sums[width:] - sums[:-width]
    return half + int(power.argmin()) + width // 2 if len(power) else len(samples)


def _blocks(path: Path) -> Iterator[tuple[Samples, int]]:
    """Yield the samples of a file as one channel, with their rate, a few seconds at a time."""
    try:
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                raise DataError(f"{path} is empty: it has no bytes. Copy or record it again, or leave it out.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if is_wave(data[:12]) and (blocks := wave_blocks(data, str(path), _BLOCK)) is not None:
                    for samples, rate in blocks:
                        yield mono(samples, rate, str(path)), rate
                    return
    except OSError as error:
        raise file_error(error, path) from error
    yield from _decoded(path)


def _decoded(path: Path) -> Iterator[tuple[Samples, int]]:
    """Yield the blocks of a file that needs soundfile."""
    library: Any = import_soundfile(str(path))
    try:
        with library.SoundFile(path) as file:
            rate = int(file.samplerate)
            for samples in file.blocks(int(_BLOCK * rate), dtype="float32", always_2d=True):
                yield mono(samples, rate, str(path)), rate
    except DataError:
        raise
    except Exception as error:  # decoders raise exceptions of many types
        why = str(error).rstrip(".") or type(error).__name__
        raise DataError(f"{path} is cut or damaged and cannot be decoded ({why}). Copy or record it again.") from error

"""Recordings in files: one file, or several joined with pauses between. They are opened only when needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from saccade.data.example import Time
from saccade.data.sound_files import open_sound
from saccade.data.sounds import Sound
from saccade.errors import DataError

__all__ = ["JoinedSound", "Part", "SoundFile", "joined_times"]


@dataclass(frozen=True)
class SoundFile:
    """A sound in a file."""

    path: Path

    @property
    def name(self) -> str:
        """The name in messages."""
        return str(self.path)

    def load(self) -> Sound:
        """Read the file."""
        return open_sound(self.path)

    def stamp(self) -> list[Any]:
        """Return the path, and the file's size and time; these are absent if the file is missing."""
        try:
            status = self.path.stat()
        except (OSError, ValueError):  # missing, or an impossible file name
            return [str(self.path)]
        return [str(self.path), status.st_size, status.st_mtime_ns]


class Part(NamedTuple):
    """A file of a joined sound: seconds of silence before it, and the factor by which it is made louder."""

    path: Path
    pause: float = 0.0
    gain: float = 1.0


@dataclass(frozen=True)
class JoinedSound:
    """Sounds of one rate, one after the other; `end` is the silence after the last one in seconds."""

    parts: tuple[Part, ...]
    end: float = 0.0

    @property
    def name(self) -> str:
        """The name in messages."""
        return " + ".join(str(part.path) for part in self.parts)

    def load(self) -> Sound:
        """Read the files and join them."""
        sounds = [SoundFile(part.path).load() for part in self.parts]
        rate = sounds[0].rate
        for part, sound in zip(self.parts, sounds, strict=True):
            if sound.rate != rate:
                raise DataError(
                    f"{part.path} has {sound.rate} samples a second, but {self.parts[0].path} {rate}. Joined sounds "
                    "need one rate: convert one of them."
                )
        ends = [round(part.pause * rate) for part in self.parts] + [round(self.end * rate)]
        pieces = [np.zeros(ends[0], np.float32)]
        for part, sound, after in zip(self.parts, sounds, ends[1:], strict=True):
            pieces += [sound.samples * np.float32(part.gain), np.zeros(after, np.float32)]
        return Sound(np.concatenate(pieces), rate)

    def stamp(self) -> list[Any]:
        """Return the pauses and gains, and the paths with the files' sizes and times."""
        return [self.end, *([part.pause, part.gain, *SoundFile(part.path).stamp()] for part in self.parts)]


def joined_times(seconds: Sequence[float], pauses: Sequence[float]) -> tuple[Time, ...]:
    """Return (begin, end) of each of several sounds, from their durations and the silence before each."""
    times, now = [], 0.0
    for duration, pause in zip(seconds, pauses, strict=True):
        times.append((round(now + pause, 4), round(now + pause + duration, 4)))
        now += pause + duration
    return tuple(times)

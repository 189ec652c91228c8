"""Sound: mono samples with their rate, and a writer of 16-bit .wav files; see also sound_files."""

from __future__ import annotations

import hashlib
import wave
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import ShapeError

__all__ = ["Sound", "wave_bytes"]

_FULL = 32768
"""Amplitude 1 as a 16-bit integer."""


@dataclass(frozen=True, eq=False)
class Sound:
    """A sound in memory: (n,) float32 samples, mostly in [-1, 1], at `rate` samples a second."""

    samples: NDArray[np.float32]
    rate: int

    def __post_init__(self) -> None:
        if self.samples.ndim != 1 or self.samples.dtype != np.float32:
            raise ShapeError(
                f"a sound must be float32 samples of one channel, (n,), but is {self.samples.dtype} of "
                f"{tuple(self.samples.shape)}. Take the mean of its channels, and scale it to [-1, 1]."
            )
        if self.rate < 1:
            raise ShapeError(f"a sound has {self.rate} samples a second. Give its sampling rate in Hz, such as 16000.")

    @property
    def seconds(self) -> float:
        """Duration."""
        return len(self.samples) / self.rate

    @property
    def name(self) -> str:
        """The name in messages."""
        return f"a sound of {self.seconds:.2f} s"

    def load(self) -> Sound:
        """Return the sound itself, so that it serves as a `Recording`."""
        return self

    def stamp(self) -> list[Any]:
        """Return plain data that changes whenever the sound does."""
        return [self.rate, hashlib.blake2b(np.ascontiguousarray(self.samples).tobytes(), digest_size=16).hexdigest()]


def wave_bytes(sound: Sound) -> bytes:
    """Return a sound as a .wav file with 16 bits."""
    buffer = BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((1, 2, sound.rate, 0, "NONE", ""))
        file.writeframes(np.clip(np.rint(sound.samples * _FULL), -_FULL, _FULL - 1).astype("<i2").tobytes())
    return buffer.getvalue()

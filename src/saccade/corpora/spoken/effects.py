"""effects: reverberation, and noise at a given signal-to-noise ratio."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.spoken.chance import uniform
from saccade.data.example import Time

__all__ = ["Color", "add_noise", "level_of", "reverberate"]

Color = Literal["white", "pink"]
Samples = NDArray[np.float32]
_DIRECT = 0.6
"""Share of the energy that reaches the microphone directly."""
_DELAY = 0.004
"""Seconds until the first reflection."""


def level_of(samples: Samples, rate: int, times: tuple[Time, ...]) -> float:
    """Return the mean power of a sound within its words; of all of it if it has none."""
    inside = [samples[round(begin * rate) : round(end * rate)] for begin, end in times]
    heard = np.concatenate(inside) if inside else samples
    return float(np.mean(np.square(heard, dtype=np.float64))) if len(heard) else 0.0


def add_noise(samples: Samples, power: float, snr: float, color: Color, seed: int) -> Samples:
    """Add noise `snr` decibels below a power. Pink noise falls by 3 dB an octave, as much of real noise does."""
    count = _size(len(samples))
    spectrum = np.fft.rfft(uniform(np.random.PCG64(seed), count))
    if color == "pink":
        spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 1))
    noise = np.fft.irfft(spectrum, count)[: len(samples)]
    noise *= np.sqrt(power * 10 ** (-snr / 10) / max(float(np.mean(noise**2)), 1e-30))
    return np.asarray(samples + noise, np.float32)


def reverberate(samples: Samples, rate: int, seconds: float, seed: int) -> Samples:
    """Convolve a sound with the response of a simple room: noise that decays by 60 dB in `seconds`.

    The direct sound keeps its place, so that words keep their times; the tail after the end is cut.
    """
    count = max(1, round(seconds * rate))
    time = np.arange(count) / rate
    echo = uniform(np.random.PCG64(seed), count) * 10 ** (-3 * time / max(seconds, 1e-6))
    echo[: round(_DELAY * rate)] = 0
    energy = float(np.sum(echo**2))
    response = echo * np.sqrt((1 - _DIRECT) / energy) if energy > 0 else echo
    response[0] = np.sqrt(_DIRECT)
    size = _size(len(samples) + count)
    heard = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(response, size), size)
    return np.asarray(heard[: len(samples)], np.float32)


def _size(count: int) -> int:
    """Return a length of at least `count` whose Fourier transform is fast."""
    return 1 << max(1, (count - 1).bit_length())

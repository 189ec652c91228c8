"""Log-mel spectrograms: the frames that a model of speech reads."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.resample import resample
from saccade.data.sound_config import SoundConfig
from saccade.errors import DataError

__all__ = ["LEAST_DEVIATION", "frame_count", "log_mel", "mel_filters", "spectrogram"]

_FLOOR = 1e-10
"""Least power of a band: silence would be log 0."""
LEAST_DEVIATION = 0.05
"""Least standard deviation that a band is divided by; a constant band stays 0."""


def frame_count(samples: int, config: SoundConfig) -> int:
    """Return the number of frames of a recording that has `samples` samples at the config's rate."""
    return -(-samples // config.step)


def log_mel(samples: NDArray[np.float32], rate: int, config: SoundConfig) -> NDArray[np.float32]:
    """Return the frames (frame_count, config.width) of a mono recording; raise DataError if samples are not finite.

    Resample, log-mel spectrogram, cut off what is far below the loudest band, normalize, then add derivatives if asked
    for.
    """
    if not np.isfinite(samples).all():
        raise DataError("the recording has samples that are NaN or infinite. Record or convert it again.")
    tensor = torch.from_numpy(np.array(samples, np.float32))
    bands = spectrogram(resample(tensor, rate, config.rate), config)
    if config.range is not None:
        bands = bands.clamp_min(float(bands.max()) - config.range * math.log(10) / 10)
    if config.normalize != "none":
        over = (0,) if config.normalize == "recording" else (0, 1)
        bands = bands - bands.mean(over)
        bands = bands / bands.square().mean(over).sqrt().clamp_min(LEAST_DEVIATION)
    if config.deltas:
        first = _derivative(bands)
        bands = torch.cat([bands, first, _derivative(first)], 1)
    return bands.numpy()


def spectrogram(samples: Tensor, config: SoundConfig) -> Tensor:
    """Compute the log-mel spectrogram (frames, mels) of samples (n,) at the config's rate.

        X[i] = FFT(hann · x around (i + ½) · step)        S[i, m] = log max(Σ_f M[m, f] |X[i, f]|², floor)

    Frame i is centered on the samples from i · step to (i + 1) · step; zeros continue the recording at both ends.
    """
    step, reach = config.step, config.reach
    count = frame_count(len(samples), config)
    before = (reach - step) // 2 if reach > step else 0
    padded = F.pad(samples, (before, max(0, (count - 1) * step + reach - before - len(samples))))
    frames = padded.unfold(0, reach, step)[:count] * torch.hann_window(reach, periodic=True)
    size = 1 << (reach - 1).bit_length()
    power = torch.fft.rfft(frames, size).abs().square()
    bands: Tensor = power @ mel_filters(config.mels, size, config.rate).T
    return bands.clamp_min(_FLOOR).log()


@lru_cache(8)
def mel_filters(mels: int, size: int, rate: int) -> Tensor:
    """Return triangular filters (mels, size // 2 + 1), evenly spaced on the mel scale from 20 Hz to half the rate.

    mel(f) = 2595 log10(1 + f / 700). A band that contains no FFT bin takes the nearest.
    """
    low, high = (2595 * math.log10(1 + f / 700) for f in (20.0, rate / 2))
    edges = 700 * (10 ** (torch.linspace(low, high, mels + 2, dtype=torch.float64) / 2595) - 1)
    places = torch.arange(size // 2 + 1, dtype=torch.float64) * rate / size
    left, middle, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    filters = torch.minimum((places - left) / (middle - left), (right - places) / (right - middle)).clamp_min(0)
    empty = filters.sum(1) == 0
    nearest = (places - middle).abs().argmin(1)
    filters[empty, nearest[empty]] = 1.0
    return filters.float()


def _derivative(bands: Tensor) -> Tensor:
    """Return the slope of each band over five frames: Σ_n n (x[i+n] - x[i-n]) / 10, n = 1, 2; the ends repeat."""
    padded = F.pad(bands.T[None], (2, 2), mode="replicate")[0].T
    count = len(bands)
    return sum(n * (padded[2 + n : 2 + n + count] - padded[2 - n : 2 - n + count]) for n in (1, 2)) / 10  # type: ignore

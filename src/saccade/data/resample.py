"""Resampling by windowed sinc interpolation, for any two rates."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from saccade.errors import ShapeError

__all__ = ["resample"]

_ZEROS = 8
"""Zero crossings of the sinc on each side."""
_ROLLOFF = 0.95
"""Cutoff frequency as a share of the lower rate's Nyquist frequency, so that the transition band aliases little."""
_CHUNK = 1 << 16
"""Output samples computed at once."""


def resample(samples: Tensor, rate: int, wanted: int) -> Tensor:
    """Resample (n,) from `rate` to `wanted` samples a second -> (ceil(n · wanted / rate),).

        y[k] = Σ_i x[i] c h(c (i - k · rate / wanted))        h(u) = sinc(u) cos²(πu / 2Z) for |u| < Z

    c, at most 1, is the cutoff in units of the input's Nyquist frequency. The weights depend only on the
    fractional part of k · rate / wanted, so they are computed once for each.
    """
    if samples.dim() != 1:
        raise ShapeError(f"samples are {tuple(samples.shape)}, but must be (n,): one channel.")
    if rate == wanted or not len(samples):
        return samples
    common = math.gcd(rate, wanted)
    up, down = wanted // common, rate // common
    count, cutoff = -(-len(samples) * up // down), _ROLLOFF * min(1.0, up / down)
    reach = math.ceil(_ZEROS / cutoff)
    padded = torch.nn.functional.pad(samples, (reach, reach + 1)).unfold(0, 2 * reach + 1, 1)
    parts = []
    for start in range(0, count, _CHUNK):
        numbers = torch.arange(start, min(start + _CHUNK, count))
        places, phases = numbers * down // up, numbers * down % up
        kinds, which = phases.unique(return_inverse=True)
        parts.append((padded[places] * _weights(kinds.double() / up, reach, cutoff).to(samples.dtype)[which]).sum(1))
    return torch.cat(parts)


def _weights(fractions: Tensor, reach: int, cutoff: float) -> Tensor:
    """Return the weights (fractions, 2 · reach + 1) of the samples around each fraction of a sample."""
    distance = (torch.arange(-reach, reach + 1, dtype=torch.float64) - fractions[:, None]) * cutoff
    window = torch.cos(distance.clamp(-_ZEROS, _ZEROS) * (math.pi / 2 / _ZEROS)).square()
    return cutoff * torch.sinc(distance) * window

"""synth: source-filter synthesis of a Score, vectorized over frames and glottal pulses.

Every glottal pulse is the impulse response of the vocal tract at that moment: the product of its resonances (the
cascade of Klatt 1980) and of the spectrum of the source. Noise is shaped frame by frame in the same way. Overlapping
responses are added. An utterance takes a few matmuls and one inverse FFT.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.spoken.chance import uniform
from saccade.corpora.spoken.plan import Score
from saccade.corpora.spoken.timing import FRAME
from saccade.corpora.spoken.voice import Voice

__all__ = ["PEAK", "VERSION", "bandwidths", "synthesize"]

VERSION = 1
"""Changes when the same Score sounds different."""
_RESPONSE = 0.032
"""Seconds of a response; the lowest resonance has decayed to a four-hundredth by then."""
_HIGHER = (3600.0, 4600.0, 5600.0, 6600.0, 7600.0)
"""Higher formants of an average man, held constant."""
_PHASES = 16
"""Positions between two samples where a pulse may begin."""
PEAK = 0.35
"""Loudest sample of an utterance."""
_QUIET = 0.004
"""Amplitude below which a pulse or noise is left out."""
_ASPIRATION, _FRICATION = 0.025, 0.45
"""Loudness of noise through the formants, and of noise with its own spectrum, relative to pulses."""

Matrix = NDArray[np.float64]
Spectra = NDArray[np.complex128]


class _Grid(NamedTuple):
    """Constants of a sampling rate.

    size: samples of a response. powers: z^-k for each power and bin, real and imaginary parts in turn, so that products
    with real numbers stay real. bins: in Hz. shifts: delays by parts of a sample.
    """

    size: int
    powers: Matrix
    bins: Matrix
    shifts: Spectra

    def values(self, polynomials: Matrix) -> Spectra:
        """Return the values (F, bins) of polynomials in z^-1 with coefficients (F, K)."""
        return (polynomials @ self.powers[: polynomials.shape[1]]).view(np.complex128)


@lru_cache(maxsize=8)
def _grid(rate: int) -> _Grid:
    size = 1 << int(np.ceil(np.log2(_RESPONSE * rate)))
    angle = 2 * np.pi * np.arange(size // 2 + 1) / size
    powers = np.exp(-1j * np.outer(np.arange(2 * (len(_HIGHER) + 4) + 1), angle))
    shifts = np.exp(-1j * np.outer(np.arange(_PHASES) / _PHASES, angle))
    return _Grid(size, powers.view(np.float64), angle * rate / (2 * np.pi), shifts)


def bandwidths(formants: Matrix) -> Matrix:
    """Return usual bandwidths in Hz: 60 at 500 Hz, and wider for higher formants."""
    return 40 + 0.04 * formants


def synthesize(score: Score, voice: Voice, seed: int, rate: int = 8000) -> NDArray[np.float32]:
    """Compute the samples of a score; the random numbers of noise and roughness come from the seed."""
    grid = _grid(rate)
    chance = np.random.PCG64(seed)
    tract = _transfer(score, voice, grid, rate)
    pulses = _pulses(score, voice, tract, grid, rate, chance)
    noise = _noise(score, voice, tract, grid, rate, chance)
    begins = np.concatenate([pulses[0], noise[0]])
    responses = np.fft.irfft(np.concatenate([pulses[1], noise[1]]), grid.size)
    return _leveled(_added(responses, begins, round(len(score.pitch) * FRAME * rate)))


def _transfer(score: Score, voice: Voice, grid: _Grid, rate: int) -> Spectra:
    """Return the response of the vocal tract in each frame, (F, bins): a cascade of resonances.

    Its denominator is a polynomial in z^-1 for each frame, which one matrix product evaluates at all frequencies.
    """
    top = 0.47 * rate
    higher = [value * voice.tract for value in _HIGHER if value * voice.tract < top]
    frames = len(score.formants)
    formants = np.concatenate([score.formants, np.tile(higher, (frames, 1))], 1)
    formants = np.minimum(formants, top)
    widths = bandwidths(formants) * voice.bands
    open_ = score.gains[:, 1] / (score.gains[:, 0] + score.gains[:, 1] + 1e-3)
    widths[:, 0] *= 1 + 2 * open_ + score.nasal  # an open glottis and the nose damp the first formant
    widths[:, 1:3] *= 1 + score.nasal[:, None]
    poles = [_section(formants[:, k], widths[:, k], rate) for k in range(formants.shape[1])]
    pole, zero = (_section(at, wide, rate) for at, wide in _nose(score.nasal, voice))
    below = _product([*poles, pole])
    gain = np.prod([section.sum(1) for section in (*poles, pole)], 0) / zero.sum(1)
    return grid.values(gain[:, None] * zero) / grid.values(below)


def _nose(nasal: Matrix, voice: Voice) -> tuple[tuple[Matrix, Matrix], tuple[Matrix, Matrix]]:
    """Return center and width of the nasal pole and zero; where the nose is closed they cancel."""
    low = np.full(len(nasal), 270.0 * voice.tract)
    wide = np.full(len(nasal), 100.0)
    return (low, wide), (low + nasal * 330 * voice.tract, wide)


def _section(center: Matrix, width: Matrix, rate: int) -> Matrix:
    """Return the coefficients (F, 3) of a resonance's denominator, 1 - B z^-1 - C z^-2."""
    radius = np.exp(-np.pi * width / rate)
    return np.stack([np.ones_like(center), -2 * radius * np.cos(2 * np.pi * center / rate), radius**2], 1)


def _product(sections: list[Matrix]) -> Matrix:
    """Multiply polynomials row by row."""
    whole = sections[0]
    for section in sections[1:]:
        longer = np.zeros((len(whole), whole.shape[1] + 2))
        for power in range(3):
            longer[:, power : power + whole.shape[1]] += section[:, power : power + 1] * whole
        whole = longer
    return whole


def _pulses(
    score: Score, voice: Voice, tract: Spectra, grid: _Grid, rate: int, chance: np.random.PCG64
) -> tuple[NDArray[np.int64], Spectra]:
    """Return the first samples and the spectra of all glottal pulses."""
    phase = np.cumsum(score.pitch) * FRAME
    count = int(phase[-1])
    rough = uniform(chance, 2 * count).reshape(2, count) * voice.roughness * 1.7
    moments = np.interp(np.arange(count) + 1 + rough[0], phase, (np.arange(len(phase)) + 1) * FRAME)
    frames = np.minimum((moments / FRAME).astype(np.int64), len(tract) - 1)
    gains = score.gains[frames, 0] * (1 + 4 * rough[1])
    sounding = gains > _QUIET
    moments, frames, gains = moments[sounding], frames[sounding], gains[sounding]
    steps = np.rint(moments * rate * _PHASES).astype(np.int64)
    spectra = tract[frames] * grid.shifts[steps % _PHASES]
    spectra *= gains[:, None] * _source(voice, grid, rate)
    return steps // _PHASES, spectra


def _source(voice: Voice, grid: _Grid, rate: int) -> Spectra:
    """Return the spectrum of a pulse at the lips: the flow falls by 12 dB an octave, and radiation lifts it by 6."""
    flow = _section(np.zeros(1), np.full(1, 100.0), rate)
    soft = np.exp(-2 * np.pi * voice.softness / rate)
    above, below = (grid.values(np.array([[1.0, -radius]]))[0] for radius in (1, soft))
    found: Spectra = above / grid.values(flow)[0] * (1 - soft) / below * (8000 / rate)
    return found


def _noise(
    score: Score, voice: Voice, tract: Spectra, grid: _Grid, rate: int, chance: np.random.PCG64
) -> tuple[NDArray[np.int64], Spectra]:
    """Return the first samples and the spectra of the noise of all frames that have some."""
    half = round(FRAME * rate)
    white = uniform(chance, len(tract) * 2 * half).reshape(len(tract), 2 * half) * np.hanning(2 * half + 1)[:-1]
    breath = score.gains[:, 1] + voice.breath * score.gains[:, 0]
    frames = np.flatnonzero(breath + score.gains[:, 2] > _QUIET)
    shape = (_ASPIRATION * breath[frames, None]) * tract[frames] * _lifted(grid)
    hissing = np.flatnonzero(score.gains[frames, 2] > _QUIET)
    center, width = score.bell[frames[hissing]].T[..., None]
    bell = np.exp(-(((grid.bins - center * voice.tract**0.5) / width) ** 2))
    shape[hissing] += _FRICATION * score.gains[frames[hissing], 2:] * bell
    spectra = np.fft.rfft(white[frames], grid.size) * shape
    spectra *= np.sqrt(rate / 8000)
    return np.rint((frames - 0.5) * FRAME * rate).astype(np.int64), spectra


def _lifted(grid: _Grid) -> Matrix:
    """Return the tilt of aspiration: weak below 500 Hz, where the glottis is open."""
    return np.asarray(8 * grid.bins / (grid.bins + 1000))


def _added(responses: Matrix, begins: NDArray[np.int64], length: int) -> Matrix:
    """Add responses at their places; what lies before or after the utterance is dropped."""
    size = responses.shape[1]
    whole = np.zeros(length + 3 * size)
    for begin, response in zip(np.clip(begins, -size, length + size).tolist(), responses, strict=True):
        whole[begin + size : begin + 2 * size] += response
    return whole[size : size + length]


def _leveled(samples: Matrix) -> NDArray[np.float32]:
    peak = float(np.abs(samples).max(initial=0.0))
    return (samples * (PEAK / peak if peak > 0 else 0)).astype(np.float32)

"""Measurements of sounds: formants by linear prediction, pitch by autocorrelation, levels in decibels."""

import numpy as np


def decibels(samples):
    return 10 * np.log10(np.mean(np.square(samples, dtype=np.float64)) + 1e-12)


def formants(samples, rate, order=10):
    """Resonances in Hz, from low to high: narrow roots of a linear predictor."""
    emphasized = np.append(samples[0], samples[1:] - 0.97 * samples[:-1]).astype(np.float64) * np.hamming(len(samples))
    lags = np.correlate(emphasized, emphasized, "full")[len(samples) - 1 : len(samples) + order]
    matrix = lags[np.abs(np.subtract.outer(np.arange(order), np.arange(order)))]
    weights = np.linalg.solve(matrix + 1e-9 * lags[0] * np.eye(order), lags[1:])
    roots = np.roots(np.append(1, -weights))
    roots = roots[roots.imag > 0]
    places, widths = np.angle(roots) * rate / (2 * np.pi), -np.log(np.abs(roots)) * rate / np.pi
    return sorted(place for place, width in zip(places, widths, strict=True) if width < 500 and place > 150)


def pitch(samples, rate, low=60, high=400):
    """The fundamental frequency in Hz."""
    size = 1 << (2 * len(samples)).bit_length()
    power = np.fft.irfft(np.abs(np.fft.rfft(samples - samples.mean(), size)) ** 2)
    first, last = int(rate / high), int(rate / low)
    return rate / (first + int(np.argmax(power[first:last])))


def inside(sound, times):
    """A mask of the samples that lie within words."""
    found = np.zeros(len(sound.samples), bool)
    for begin, end in times:
        found[round(begin * sound.rate) : round(end * sound.rate)] = True
    return found

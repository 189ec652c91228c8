"""Log-mel frames against slow references; their number, silence, and samples that are not finite."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.sounds import tone
from saccade.data.log_mel import frame_count, log_mel, mel_filters, spectrogram
from saccade.data.resample import resample
from saccade.data.sound_config import SoundConfig
from saccade.errors import DataError, ShapeError

PLAIN = SoundConfig(normalize="none")


def slow_spectrogram(samples, config):
    """Frame by frame, with numpy's FFT and filters written as loops."""
    size = 1 << math.ceil(math.log2(config.reach))
    mel = [2595 * math.log10(1 + f / 700) for f in (20, config.rate / 2)]
    points = [mel[0] + (mel[1] - mel[0]) * n / (config.mels + 1) for n in range(config.mels + 2)]
    edges = [700 * (10 ** (point / 2595) - 1) for point in points]
    window = [0.5 - 0.5 * math.cos(2 * math.pi * n / config.reach) for n in range(config.reach)]
    before = (config.reach - config.step) // 2
    rows = []
    for frame in range(math.ceil(len(samples) / config.step)):
        places = [frame * config.step - before + n for n in range(config.reach)]
        seen = [samples[p] * w if 0 <= p < len(samples) else 0.0 for p, w in zip(places, window, strict=True)]
        power = np.abs(np.fft.rfft(seen, size)) ** 2
        row = []
        for band in range(config.mels):
            left, middle, right = edges[band : band + 3]
            hertz = np.arange(size // 2 + 1) * config.rate / size
            weight = np.maximum(0, np.minimum((hertz - left) / (middle - left), (right - hertz) / (right - middle)))
            if not weight.any():
                weight[np.abs(hertz - middle).argmin()] = 1
            row.append(math.log(max(1e-10, float(weight @ power))))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize(("rate", "mels", "count"), [(16000, 40, 1700), (8000, 80, 803), (11025, 23, 60)])
def test_the_spectrogram_is_that_of_numpy(rate, mels, count):
    config = SoundConfig(rate=rate, mels=mels, normalize="none")
    samples = tone(700, count / rate, rate, noise=0.1)
    found = log_mel(samples, rate, config)
    np.testing.assert_allclose(found, slow_spectrogram(samples.astype(np.float64), config), atol=2e-3)


@given(st.integers(1, 5000), st.sampled_from([8000, 16000, 22050]), st.sampled_from([0.005, 0.01, 0.0125]))
@settings(max_examples=60, deadline=None)
def test_there_is_a_frame_for_each_step_that_has_begun(samples, rate, hop):
    config = SoundConfig(rate=rate, hop=hop, mels=8)
    count = math.ceil(samples / round(hop * rate))
    assert frame_count(samples, config) == count
    assert spectrogram(torch.zeros(samples), config).shape == (count, 8)


def test_a_click_is_in_the_frame_of_its_time():
    samples = np.zeros(16000, np.float32)
    samples[8085] = 1.0  # in the frame from 0.50 to 0.51 s
    found = log_mel(samples, 16000, PLAIN).mean(1)
    assert found.argmax() == 50


def test_a_tone_is_in_the_band_of_its_pitch():
    found = log_mel(tone(1000, 0.3), 16000, PLAIN)[10]
    low, high = (2595 * math.log10(1 + f / 700) for f in (20, 8000))
    place = (2595 * math.log10(1 + 1000 / 700) - low) / ((high - low) / 41) - 1
    assert abs(found.argmax() - place) < 1


@pytest.mark.parametrize("samples", [1, 7, 16000])
@pytest.mark.parametrize("config", [SoundConfig(), PLAIN, SoundConfig(deltas=True)])
def test_silence_is_finite(samples, config):
    found = log_mel(np.zeros(samples, np.float32), 16000, config)
    assert np.isfinite(found).all()
    assert found.shape[1] == config.width


@pytest.mark.parametrize("decibels", [20.0, 60.0])
def test_what_is_far_below_the_loudest_band_is_cut_off(decibels):
    samples = np.concatenate([np.zeros(4000, np.float32), tone(700, 0.5, noise=0.1), np.zeros(4000, np.float32)])
    whole = log_mel(samples, 16000, PLAIN)
    found = log_mel(samples, 16000, PLAIN.model_copy(update={"range": decibels}))
    floor = whole.max() - decibels / 10 * math.log(10)
    assert found.min() == pytest.approx(floor, abs=1e-4)
    assert (whole < floor).any()
    np.testing.assert_array_equal(found[whole > floor], whole[whole > floor])


def test_the_level_is_normalized_over_all_bands_together():
    plain, config = log_mel(tone(noise=0.2), 16000, PLAIN), SoundConfig(normalize="level")
    found = log_mel(tone(noise=0.2), 16000, config)
    np.testing.assert_allclose(found, (plain - plain.mean()) / plain.std(), atol=1e-4)
    np.testing.assert_allclose(log_mel(4 * tone(noise=0.2), 16000, config), found, atol=1e-3)


def test_each_band_is_normalized_over_the_recording():
    found = log_mel(tone(noise=0.2), 16000, SoundConfig())
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(found.std(0), 1, atol=1e-2)
    louder = log_mel(4 * tone(noise=0.2), 16000, SoundConfig())
    np.testing.assert_allclose(louder, found, atol=1e-3)


def test_derivatives_are_slopes_of_five_frames():
    config = SoundConfig(mels=6, deltas=True, normalize="none")
    found = log_mel(tone(noise=0.3, seconds=0.2), 16000, config)
    bands, first, second = np.split(found.astype(np.float64), 3, 1)

    def slope(x, i):
        at = [x[min(max(i + n, 0), len(x) - 1)] for n in (-2, -1, 0, 1, 2)]
        return (at[3] - at[1] + 2 * (at[4] - at[0])) / 10

    for row in (0, 1, 7, len(bands) - 1):
        np.testing.assert_allclose(first[row], slope(bands, row), atol=1e-4)
        np.testing.assert_allclose(second[row], slope(first, row), atol=1e-4)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_samples_that_are_not_finite_are_refused(wrong):
    samples = tone()
    samples[17] = wrong
    with pytest.raises(DataError, match="NaN or infinite"):
        log_mel(samples, 16000, PLAIN)


def test_every_band_has_a_frequency():
    filters = mel_filters(128, 256, 8000)
    assert (filters.sum(1) > 0).all()
    assert (filters >= 0).all()


@pytest.mark.parametrize(("rate", "wanted"), [(44100, 16000), (8000, 16000), (96000, 8000), (11127, 8000)])
def test_a_tone_stays_a_tone_at_another_rate(rate, wanted):
    samples = torch.from_numpy(tone(440, 0.2, rate))
    found = resample(samples, rate, wanted)
    assert len(found) == math.ceil(len(samples) * wanted / rate)
    expected = tone(440, 0.2, wanted)[: len(found)]
    middle = slice(wanted // 50, len(expected) - wanted // 50)
    np.testing.assert_allclose(found.numpy()[: len(expected)][middle], expected[middle], atol=2e-3)


@pytest.mark.parametrize(("rate", "wanted"), [(3, 2), (2, 3), (7, 5), (5, 1)])
def test_resampling_is_its_formula(rate, wanted):
    samples = np.random.default_rng(0).normal(size=30)
    cutoff = 0.95 * min(1, wanted / rate)
    found = resample(torch.from_numpy(samples), rate, wanted).numpy()
    for k in range(math.ceil(30 * wanted / rate)):
        total = 0.0
        for i, x in enumerate(samples):
            u = cutoff * (i - k * rate / wanted)
            if abs(u) < 8:
                total += x * cutoff * float(np.sinc(u)) * math.cos(math.pi * u / 16) ** 2
        assert found[k] == pytest.approx(total, abs=1e-9)


def test_pitches_that_the_lower_rate_cannot_hold_vanish():
    found = resample(torch.from_numpy(tone(6000, 0.2, 16000)), 16000, 8000)
    assert found[200:-200].abs().max() < 5e-3


def test_only_one_channel_is_resampled():
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        resample(torch.zeros(2, 3), 2, 1)

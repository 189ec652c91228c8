"""Voices of espeak: times from its events, on paper and, where the extra is installed, from the library."""

from itertools import pairwise

import numpy as np
import pytest

from helpers.speech_signals import decibels, inside
from saccade.corpora.spoken import espeak, espeak_engine, spoken
from saccade.corpora.spoken.espeak import ACCENTS, espeak_voices_of, word_times
from saccade.corpora.spoken.espeak_engine import VARIANTS, EspeakVoice, Mark
from saccade.errors import ConfigError, DataError


def spectrum(sound):
    """The level of ten bands in decibels; espeak may turn the sign of its pulses from one call to the next."""
    power = np.abs(np.fft.rfft(sound.samples)) ** 2
    return [10 * np.log10(band.mean() + 1e-9) for band in np.array_split(power, 10)]


def word(place, sample):
    return Mark(None, place, sample)


def test_words_begin_with_their_events_and_end_with_the_next():
    marks = [word(8, 0), Mark("w", 8, 0), word(12, 2000), Mark("t", 12, 2100), Mark("_:", 15, 4000)]
    assert word_times(["one", "two"], [8, 12], marks, 1000, 5000) == ((0.0, 2.0), (2.0, 4.0))


def test_a_pause_ends_a_word():
    marks = [
        word(8, 0),
        Mark("w", 8, 0),
        Mark("_:", 11, 1500),
        Mark("_", 11, 1900),
        word(12, 2000),
        Mark("t", 12, 2000),
    ]
    assert word_times(["one", "two"], [8, 12], marks, 1000, 5000) == ((0.0, 1.5), (2.0, 5.0))


def test_an_event_during_the_phone_before_is_too_early():
    marks = [word(8, 0), Mark("t", 8, 100), Mark("n", 8, 900), word(13, 900), Mark("O", 13, 1400)]
    assert word_times(["turn", "off"], [8, 13], marks, 1000, 2000) == ((0.0, 1.4), (1.4, 2.0))


def test_joined_words_share_their_phones():
    marks = [word(8, 0), *(Mark(phone, 8, 100 * n) for n, phone in enumerate(["I", "n", ";", "D", "@"])), word(15, 900)]
    marks.append(Mark("k", 15, 950))
    assert word_times(["in", "the", "car"], [8, 11, 15], marks, 1000, 2000) == ((0.0, 0.3), (0.3, 0.9), (0.9, 2.0))


def test_missing_events_are_an_error():
    with pytest.raises(DataError, match="when each word begins: 'one two'"):
        word_times(["one", "two"], [8, 12], [word(12, 100)], 1000, 2000)


def test_held_out_voices_share_no_timbre():
    names = {split: set(espeak_voices_of(split, True)) for split in VARIANTS}
    assert [len(found) for found in names.values()] == [200, 40, 40]
    timbres = [{name.split("+")[1] for name in found} for found in names.values()]
    assert len(set.union(*timbres)) == sum(map(len, timbres)) == 35
    assert espeak_voices_of("test", False) == espeak_voices_of("train", True)


def test_without_the_extra_the_error_names_it(monkeypatch):
    def missing(module, extra, purpose):
        raise ConfigError(f"{purpose} needs the extra {extra!r}.")

    monkeypatch.setattr(espeak_engine, "import_extra", missing)
    monkeypatch.setattr(espeak, "engine", espeak_engine.Engine)
    with pytest.raises(ConfigError, match="speaking with the voices of espeak needs the extra 'voices'"):
        next(spoken("train", 1, voices="espeak"))


@pytest.fixture
def library():
    pytest.importorskip("espeakng_loader", reason="needs the extra voices")


@pytest.mark.usefixtures("library")
class TestLibrary:
    @pytest.mark.parametrize("accent", ACCENTS)
    def test_every_voice_speaks(self, accent):
        variants = [variant for found in VARIANTS.values() for variant in found]
        for variant in variants[:: 1 if accent == "en-us" else 9]:
            samples, rate, times = espeak.speak(["nine", "two"], [], EspeakVoice(f"{accent}+{variant}"))
            assert rate == 22050
            assert len(times) == 2
            assert decibels(samples) > -40, variant

    def test_an_unknown_voice_is_refused(self):
        with pytest.raises(DataError, match=r"no voice 'xx\+m1'"):
            espeak.speak(["one"], [], EspeakVoice("xx+m1"))

    @pytest.mark.parametrize("kind", ["digits", "sentences"])
    def test_times_are_ordered_and_words_louder_than_the_rest(self, kind):
        within, between = [], []
        for example in spoken("train", 40, kind=kind, voices="espeak", max_length=12):
            sound = example.sound.load()
            assert sound.rate == 8000
            assert all(begin < end for begin, end in example.times)
            assert all(before[1] <= after[0] for before, after in pairwise(example.times))
            assert example.times[-1][1] < sound.seconds
            mask = inside(sound, example.times)
            within.append(np.mean(sound.samples[mask] ** 2))
            between.append(np.mean(sound.samples[~mask] ** 2))
        assert 10 * np.log10(np.mean(within) / np.mean(between)) > 15

    def test_utterances_are_the_same_each_time(self):
        one, other = (list(spoken("valid", 12, voices="espeak")) for _ in range(2))
        assert one == other, "with the same times"
        sounds = [example.sound.load() for example in one]
        for sound, example in zip(reversed(sounds), reversed(other), strict=True):
            again = example.sound.load()
            assert len(again.samples) == len(sound.samples)
            assert spectrum(again) == pytest.approx(spectrum(sound), abs=2), example.text

    def test_pauses_lie_between_the_words(self):
        _, _, times = espeak.speak(["one", "two", "three"], [0.2, 0.0], EspeakVoice("en-us+m1"))
        assert times[1][0] - times[0][1] > 0.1
        assert times[2][0] - times[1][1] < 0.05

    def test_speed_and_pitch_are_used(self):
        lengths = [len(espeak.speak(["seven"], [], EspeakVoice("en-us+m1", words))[0]) for words in (130, 220)]
        assert lengths[0] > 1.2 * lengths[1]

    def test_both_sorts_of_voices_are_mixed(self):
        kinds = [type(example.sound).__name__ for example in spoken("train", 40, voices="both")]
        assert 8 < kinds.count("EspeakUtterance") < 32
        assert {*kinds} == {"EspeakUtterance", "Utterance"}

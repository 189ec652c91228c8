"""The formant synthesizer, measured: formants, pitch, durations, levels, speed."""

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from helpers.speech_signals import decibels, formants, pitch
from saccade.corpora.spoken.lexicon import pronounce
from saccade.corpora.spoken.numbers import DIGITS
from saccade.corpora.spoken.phones import PHONES, VOWELS, parse_phones
from saccade.corpora.spoken.plan import plan
from saccade.corpora.spoken.synth import PEAK, bandwidths, synthesize
from saccade.corpora.spoken.timing import FRAME, Delivery, arrange
from saccade.corpora.spoken.voice import VOICES, Voice, formant_voice, voices_of
from saccade.corpora.spoken.words import WORDS
from saccade.errors import DataError

STEADY = Voice("steady", melody=0.0, roughness=0.0, breath=0.01)
PLAIN = Delivery()


def spoken(words, voice=STEADY, delivery=PLAIN, seed="a", rate=8000):
    """The score of words, and their samples."""
    score = plan(arrange(words, voice, delivery, seed), voice, delivery)
    return score, synthesize(score, voice, 1, rate)


@pytest.fixture
def phones(monkeypatch):
    """A function that speaks phones as a word."""

    def speak(text, *arguments, **options):
        monkeypatch.setitem(WORDS, "phones", text)
        pronounce.cache_clear()
        return spoken(["phones"], *arguments, **options)

    yield speak
    monkeypatch.undo()
    pronounce.cache_clear()


def levels(score, samples, rate=8000):
    """The level of each segment in decibels: the median of its frames."""
    size = round(FRAME * rate)
    frames = samples[: len(score.segments) * size].reshape(-1, size)
    power = np.array([decibels(frame) for frame in frames])
    return [float(np.median(power[score.segments == number])) for number in range(score.segments.max() + 1)]


@pytest.mark.parametrize("rate", [8000, 16000])
@pytest.mark.parametrize("vowel", VOWELS)
def test_vowels_have_the_formants_of_their_table(phones, vowel, rate):
    score, samples = phones(vowel, delivery=Delivery(speed=0.3), rate=rate)
    begin, end = score.times[0]
    middle = begin + (end - begin) * (0.5 if len(VOWELS[vowel].segments) == 1 else 0.25)
    part = samples[round((middle - 0.05) * rate) : round((middle + 0.05) * rate)]
    found = formants(part, rate, 10 if rate == 8000 else 16)[:3]
    assert found == pytest.approx(VOWELS[vowel].segments[0].formants, rel=0.06, abs=25)


def test_a_diphthong_arrives_at_its_second_vowel(phones):
    score, samples = phones("aI", delivery=Delivery(speed=0.3))
    begin, end = score.times[0]
    late = begin + 0.75 * (end - begin)
    found = formants(samples[round((late - 0.04) * 8000) : round((late + 0.04) * 8000)], 8000)
    assert found[:2] == pytest.approx(VOWELS["aI"].segments[1].formants[:2], rel=0.08)


def test_a_short_tract_raises_all_formants(phones):
    for tract in (0.9, 1.15):
        score, samples = phones("E", replace(STEADY, tract=tract), Delivery(speed=0.3))
        middle = round(sum(score.times[0]) / 2 * 8000)
        found = formants(samples[middle - 400 : middle + 400], 8000)[:3]
        assert found == pytest.approx([tract * place for place in VOWELS["E"].segments[0].formants], rel=0.06)


@pytest.mark.parametrize("hertz", [85, 120, 210])
def test_the_pitch_is_the_voice_s(phones, hertz):
    score, samples = phones("a", replace(STEADY, pitch=hertz), Delivery(speed=0.3, pitch=1.1))
    middle = round(sum(score.times[0]) / 2 * 8000)
    assert pitch(samples[middle - 800 : middle + 800], 8000) == pytest.approx(1.1 * hertz, rel=0.04)


def test_questions_end_high_and_statements_low():
    voice = replace(STEADY, melody=5.0)
    ends = {}
    for asks in (False, True):
        score, _ = spoken(["seven", "nine"], voice, Delivery(asks=asks))
        ends[asks] = score.pitch[round(score.times[-1][1] / FRAME) - 1]
    assert ends[True] > 1.25 * ends[False]


def test_consonants_are_as_loud_as_their_kind(phones):
    found = {}
    for phone in ("s", "f", "S", "m", "l", "z"):
        score, samples = phones(f"A{phone}'A", rate=16000)
        every = levels(score, samples, 16000)
        found[phone] = every[2] - every[1]
    assert -22 < found["s"] < -4
    assert found["f"] < found["s"] - 4
    assert -26 < found["S"] < -8
    assert all(-14 < found[phone] < -4 for phone in "ml")


def test_hissing_is_high_and_hushing_is_lower(phones):
    centers = {}
    for phone in ("s", "S"):
        score, samples = phones(f"A{phone}'A", rate=16000)
        size = round(FRAME * 16000)
        part = samples[: len(score.segments) * size].reshape(-1, size)[score.segments == 2][3:].ravel()
        power = np.abs(np.fft.rfft(part)) ** 2
        centers[phone] = float((power * np.fft.rfftfreq(len(part), 1 / 16000)).sum() / power.sum())
    assert centers["s"] > 4300 > 3500 > centers["S"] > 2300


def test_stops_are_silent_and_then_burst(phones):
    score, samples = phones("At'A", rate=16000)
    _, vowel, closure, burst, breath, *_ = levels(score, samples, 16000)
    assert closure < vowel - 35
    assert burst > closure + 25
    assert breath > closure + 20


def test_a_stop_after_s_is_not_aspirated(phones):
    assert len(set(phones("st'A")[0].segments)) == len(set(phones("t'A")[0].segments))


def test_stops_move_toward_their_vowel(phones):
    places = {}
    for vowel in ("i", "O"):
        score, _ = phones(f"k'{vowel}")
        places[vowel] = score.bell[score.segments == 2][0, 0]
    assert places["i"] > places["O"] + 500


def test_movements_are_smooth(phones):
    score, _ = phones("wiwiwi")
    steps = np.abs(np.diff(score.formants[:, 1]))
    assert steps.max() < 0.25 * (score.formants[:, 1].max() - score.formants[:, 1].min())
    slow, _ = phones("wiwiwi", replace(STEADY, drag=0.12))
    assert np.ptp(slow.formants[40:-40, 1]) < np.ptp(score.formants[40:-40, 1])


def test_times_are_those_of_the_sound():
    pauses = (0.2, 0.0, 0.3)
    score, samples = spoken(["one", "nine", "zero", "one"], delivery=Delivery(0.15, 0.25, pauses))
    times = score.times
    assert times[0][0] == 0.15
    assert len(samples) / 8000 == pytest.approx(times[-1][1] + 0.25, abs=1e-3)
    gaps = [after[0] - before[1] for before, after in pairwise(times)]
    assert gaps == pytest.approx([0.2, 0.0, 0.3], abs=1e-9)
    for begin, end in times:
        assert decibels(samples[round(begin * 8000) : round(end * 8000)]) > -30
    for first, last in ((0, times[0][0] - 0.02), (times[0][1] + 0.04, times[1][0] - 0.02), (times[-1][1] + 0.04, 9)):
        assert decibels(samples[round(first * 8000) : round(last * 8000)]) < -60


def test_words_take_their_phones_in_order():
    timing = arrange(["six", "two"], STEADY, Delivery(0.1, 0.1), "x")
    assert sum(timing.counts) * FRAME == pytest.approx(timing.times[-1][1] + 0.1)
    assert timing.times[0][1] == timing.times[1][0]


def test_speed_stretches_vowels_more_than_stops():
    slow, fast = (arrange(["tomato"], STEADY, Delivery(speed=speed), "x") for speed in (0.5, 2.0))
    ratio = {}
    for kind, match in (
        ("vowel", lambda row: row.voice == 1.0),
        ("closure", lambda row: not row.voice + row.breath + row.noise),
    ):
        counts = [
            sum(count for row, count in list(zip(timing.rows, timing.counts, strict=True))[1:-1] if match(row))
            for timing in (slow, fast)
        ]
        ratio[kind] = counts[0] / counts[1]
    assert ratio["vowel"] > 1.3 * ratio["closure"] > 1.3


def test_weak_words_are_shorter_than_strong_ones():
    length = lambda word: np.diff(arrange([word, "one"], STEADY, Delivery(), "x").times[0])[0]  # noqa: E731
    assert length("to") < 0.85 * length("two")


def test_the_same_seed_gives_the_same_sound_and_another_seed_another():
    one, same, other = (spoken(["three", "four"], formant_voice(3), seed=seed)[1] for seed in ("a", "a", "b"))
    assert np.array_equal(one, same)
    assert len(one) != len(other) or not np.allclose(one, other)


def test_the_loudest_sample_has_the_same_level():
    for number in range(5):
        _, samples = spoken(["eight", "six"], formant_voice(number))
        assert np.abs(samples).max() == pytest.approx(PEAK, rel=1e-3)
        assert samples.dtype == np.float32
        assert np.isfinite(samples).all()


def test_voices_differ_and_come_back():
    voices = [formant_voice(number) for number in range(280)]
    assert formant_voice(7) == voices[7]
    assert len({voice.pitch for voice in voices}) > 270
    assert 0.4 < sum(voice.pitch > 150 for voice in voices) / 280 < 0.6
    low = [voice.tract for voice in voices if voice.pitch < 150]
    high = [voice.tract for voice in voices if voice.pitch >= 150]
    assert np.mean(high) / np.mean(low) == pytest.approx(1.15, abs=0.03)
    assert all(0.85 < voice.tract < 1.27 and 75 < voice.pitch < 300 and 0.79 < voice.speed < 1.31 for voice in voices)
    first, second = (spoken(["zero"], voice)[1] for voice in voices[:2])
    assert len(first) != len(second) or not np.allclose(first, second, atol=0.01)


def test_held_out_voices_are_apart():
    sets = [set(voices_of(split, True)) for split in VOICES]
    assert len(set.union(*sets)) == sum(map(len, sets))
    assert [len(found) for found in sets] == list(VOICES.values())
    assert {voices_of(split, False) for split in VOICES} == {voices_of("train", True)}


def test_bandwidths_grow():
    assert bandwidths(np.array([500.0, 2500.0])).tolist() == [60.0, 140.0]


@pytest.mark.parametrize("rate", [8000, 16000, 11025])
def test_any_rate_has_the_same_duration(rate):
    score, samples = spoken(["five", "seven"], rate=rate)
    assert len(samples) / rate == pytest.approx(len(score.pitch) * FRAME, abs=1 / rate)


def test_synthesis_is_much_faster_than_real_time():
    words = [*DIGITS] * 2
    spoken(words)
    best = max(timed(words) for _ in range(5))
    assert best > 20, f"only {best:.0f} times real time"


def timed(words):
    """Seconds of sound per second of work."""
    begin = time.process_time()
    _, samples = spoken(words)
    return len(samples) / 8000 / (time.process_time() - begin)


def test_phones_are_parsed_longest_first():
    assert parse_phones("tS'aIld") == [("tS", False), ("aI", True), ("l", False), ("d", False)]
    with pytest.raises(DataError, match="'A4' is not X-SAMPA: '4' begins with no phone"):
        parse_phones("A4")


def test_every_phone_can_be_spoken_between_vowels(phones):
    for phone in PHONES:
        _, samples = phones(f"A{phone}'A")
        assert np.isfinite(samples).all(), phone

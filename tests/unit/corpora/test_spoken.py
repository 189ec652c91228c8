"""spoken: utterances, their times, splits, voices, noise and rooms."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pytest

from helpers.speech_signals import decibels, inside
from saccade.corpora import CORPORA
from saccade.corpora.spoken import BOUNDS, SpokenConfig, spoken
from saccade.corpora.spoken.effects import add_noise, level_of, reverberate
from saccade.corpora.spoken.numbers import DIGITS
from saccade.corpora.stream import split_of
from saccade.errors import ConfigError, DataError

KINDS = ("digits", "sentences", "translation")
SPLITS = ("train", "valid", "test")
TONE = (0.3 * np.sin(np.arange(16000) * 0.2)).astype(np.float32)


@pytest.fixture(scope="module")
def examples():
    """Some utterances of each kind."""
    return {kind: list(spoken("train", 60, kind=kind, max_length=12)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_times_are_ordered_and_within_the_sound(examples, kind):
    for example in examples[kind]:
        seconds = example.sound.load().seconds
        assert len(example.times) == len(example.text.split())
        assert all(begin < end for begin, end in example.times)
        assert all(before[1] <= after[0] for before, after in pairwise(example.times))
        assert 0.04 < example.times[0][0] < 0.35
        assert example.times[-1][1] + 0.04 < seconds


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_louder_than_what_is_between(examples, kind):
    within, between = [], []
    for example in examples[kind]:
        sound = example.sound.load()
        mask = inside(sound, example.times)
        within.append(np.mean(sound.samples[mask] ** 2))
        between.append(np.mean(sound.samples[~mask] ** 2))
    assert 10 * np.log10(np.mean(within) / np.mean(between)) > 20


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_arguments_give_the_same_and_a_larger_size_appends(kind):
    few, many = (list(spoken("valid", size, 3, kind=kind)) for size in (5, 9))
    assert few == many[:5]
    for one, other in zip(few, many, strict=False):
        assert np.array_equal(one.sound.load().samples, other.sound.load().samples)
        assert one.sound.stamp() == other.sound.stamp()
    assert [example.text for example in spoken("valid", 9, 4, kind=kind)] != [example.text for example in many]


def test_every_utterance_has_another_stamp(examples):
    stamps = [repr(example.sound.stamp()) for found in examples.values() for example in found]
    assert len(set(stamps)) == len(stamps)


@pytest.mark.parametrize("kind", KINDS)
def test_splits_share_no_sentence(kind):
    found = {split: {example.text for example in spoken(split, 200, kind=kind)} for split in SPLITS}
    assert not found["train"] & (found["valid"] | found["test"])
    assert not found["valid"] & found["test"]
    assert len(found["valid"]) == len(found["test"]) == 200, "held-out texts come once"
    for split, texts in found.items():
        assert {split_of(text) for text in texts} == {split}


def test_splits_share_voices_only_if_wanted():
    def voices(split, **options):
        return {example.sound.voice for example in spoken(split, 150, **options)}

    assert voices("train") & voices("valid")
    apart = [voices(split, held_out_voices=True) for split in SPLITS]
    assert len(set.union(*apart)) == sum(map(len, apart))
    assert min(map(len, apart)) > 30


@pytest.mark.parametrize(("low", "high"), [(1, 7), (3, 4), (20, 30)])
@pytest.mark.parametrize("kind", KINDS)
def test_lengths_are_those_asked_for(kind, low, high):
    lengths = [len(example.text.split()) for example in spoken("train", 60, kind=kind, min_length=low, max_length=high)]
    assert low <= min(lengths)
    assert max(lengths) <= high
    assert len(set(lengths)) > (1 if high - low < 2 else 3)


def test_digits_are_equally_common():
    words = " ".join(example.text for example in spoken("train", 1000)).split()
    assert {*words} == {*DIGITS}
    assert all(0.07 < words.count(digit) / len(words) < 0.13 for digit in DIGITS)


def test_a_translation_has_its_source_spoken_and_linked(examples):
    for example in examples["translation"]:
        source, target = example.source.split(), example.target.split()
        assert example.text == example.source == example.source.lower()
        assert not re.search(r"[0-9.,;!?]", example.source)
        assert all(s < len(source) and t < len(target) for s, t in example.links.possible)
        assert example.links.sure
        assert not example.links.sure & example.links.maybe


def test_sentences_are_of_both_sorts_and_have_no_translation(examples):
    pairs = {example.source for example in spoken("train", 60, kind="translation", max_length=12)}
    ours = [example.target in pairs for example in examples["sentences"]]
    assert 15 < sum(ours) < 45
    assert all(example.source is None and example.links is None for example in examples["sentences"])


def test_utterances_are_small_and_can_be_sent_to_other_processes(examples):
    data = pickle.dumps(examples["sentences"][0])
    assert len(data) < 3000
    assert np.array_equal(pickle.loads(data).sound.load().samples, examples["sentences"][0].sound.load().samples)


def test_nothing_is_clipped_and_levels_vary():
    sounds = [example.sound.load() for example in spoken("train", 60, noise=(-5, 0), room=0.6)]
    peaks = [np.abs(sound.samples).max() for sound in sounds]
    assert max(peaks) <= 1
    assert max(peaks) > 3 * min(peaks)


@pytest.mark.parametrize("color", ["white", "pink"])
@pytest.mark.parametrize("snr", [-3.0, 10.0, 25.0])
def test_noise_is_as_far_below_speech_as_asked(color, snr):
    pairs = zip(spoken("train", 6), spoken("train", 6, noise=(snr, snr), noise_color=color), strict=True)
    for clean, noisy in pairs:
        assert clean.times == noisy.times
        speech, heard = clean.sound.load(), noisy.sound.load()
        gain = np.dot(speech.samples, heard.samples) / np.dot(speech.samples, speech.samples)
        noise = heard.samples / gain - speech.samples
        words = speech.samples[inside(speech, clean.times)]
        assert decibels(words) - decibels(noise) == pytest.approx(snr, abs=0.7)


def test_pink_noise_falls_by_three_decibels_an_octave():
    silence = np.zeros(1 << 16, np.float32)
    found = {}
    for color in ("white", "pink"):
        power = np.abs(np.fft.rfft(add_noise(silence, 0.01, 0.0, color, 1))) ** 2
        found[color] = 10 * np.log10(power[2000:4000].mean() / power[4000:8000].mean())
    assert found["white"] == pytest.approx(0, abs=0.5)
    assert found["pink"] == pytest.approx(3, abs=0.5)


def test_other_utterances_have_other_noise():
    one, other = (add_noise(np.zeros(1000, np.float32), 1.0, 0.0, "white", seed) for seed in (1, 2))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.15


def test_a_room_rings_as_long_as_asked_and_keeps_the_direct_sound():
    click = np.zeros(16000, np.float32)
    click[100] = 1
    heard = reverberate(click, 8000, 0.5, 1)
    assert np.argmax(np.abs(heard)) == 100
    early, late = (decibels(heard[100 + at : 100 + at + 800]) for at in (100, 2100))
    assert early - late == pytest.approx(30, abs=3), "60 dB in half a second"
    assert decibels(heard[5000:]) < -90
    assert not heard[:100].any() or np.abs(heard[:100]).max() < 1e-6


def test_a_room_keeps_times_and_length():
    for dry, wet in zip(spoken("train", 3), spoken("train", 3, room=0.8), strict=True):
        assert dry.times == wet.times
        assert len(dry.sound.load().samples) == len(wet.sound.load().samples)
        assert not np.allclose(dry.sound.load().samples, wet.sound.load().samples, atol=1e-3)


def test_power_is_measured_within_words():
    samples = np.concatenate([np.zeros(800), np.ones(800), np.zeros(800)]).astype(np.float32)
    assert level_of(samples, 8000, ((0.1, 0.2),)) == pytest.approx(1)
    assert level_of(samples, 8000, ()) == pytest.approx(1 / 3)
    assert level_of(samples[:0], 8000, ()) == 0


def test_rates_are_those_asked_for():
    eight, sixteen = (next(spoken("train", 1, rate=rate)) for rate in (8000, 16000))
    assert (eight.sound.load().rate, sixteen.sound.load().rate) == (8000, 16000)
    assert eight.times == sixteen.times
    power = np.abs(np.fft.rfft(sixteen.sound.load().samples)) ** 2
    assert power[len(power) // 2 :].sum() > 1e-6 * power.sum(), "fricatives reach above 4 kHz"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "songs"}, "kind"),
        ({"voices": "human"}, "voices"),
        ({"noise": (20, 10)}, r"noise is \[20.0, 10.0\], but must be \[least, most\]"),
        ({"noise": (20, 200)}, "noise"),
        ({"room": -1.0}, "room"),
        ({"rate": 44100}, "rate"),
    ],
)
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(ConfigError, match=f"spoken cannot be used as it is(?s:.*){message}"):
        spoken("train", 1, **options)


def test_lengths_without_sentences_are_refused():
    with pytest.raises(DataError, match=r"too few train sentences of 1 to 1 words\. Ask for longer"):
        next(spoken("train", 1, kind="translation", max_length=1))


def test_the_table_passes_all_settings():
    entry = CORPORA["spoken"]

    class Data:
        spoken = SpokenConfig(kind="sentences", noise=(10, 20), rate=16000)

    options = entry.options(Data)
    (example,) = entry.generate("test", 1, min_length=2, max_length=5, **options)
    assert example.sound.load().rate == 16000
    assert example.sound.surroundings.snr is not None
    assert (entry.bounds, entry.files) == (BOUNDS, ())

"""espeak: speech by the voices of eSpeak NG, with word times from the library's events."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from saccade.corpora.spoken.espeak_engine import VARIANTS, EspeakVoice, Mark, Samples, engine
from saccade.corpora.spoken.lexicon import pronounce
from saccade.corpora.spoken.phones import parse_phones
from saccade.data.example import Time
from saccade.errors import DataError

__all__ = ["ACCENTS", "espeak_voices_of", "speak", "word_times"]

ACCENTS = (
    "en-us", "en", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029", "en-us-nyc",
)  # fmt: skip


def espeak_voices_of(split: str, held_out: bool) -> tuple[str, ...]:
    """Return the names of a split's voices: those of train, or others if voices are held out."""
    variants = VARIANTS[split if held_out else "train"]
    return tuple(f"{accent}+{variant}" for accent in ACCENTS for variant in variants)


def speak(words: Sequence[str], pauses: Sequence[float], voice: EspeakVoice) -> tuple[Samples, int, tuple[Time, ...]]:
    """Speak words with pauses between; return the samples, their rate, and the times of the words."""
    text, places = _marked_up(words, pauses)
    samples, rate, marks = engine().speak(text, voice)
    return samples, rate, word_times(words, places, marks, rate, len(samples))


def word_times(
    words: Sequence[str], places: Sequence[int], marks: Sequence[Mark], rate: int, length: int
) -> tuple[Time, ...]:
    """Return the times of words at these places of the text.

    A word begins with its event, or with its first phone if the event comes while the phone before still sounds. Words
    that espeak joins, as it does "in the", have one event; they share its phones in proportion to their pronunciations.
    """
    phones = {place: _phones_of(place, marks) for place in places}
    begins = _begins(words, places, marks, phones)
    if len(begins) < len(places) or list(begins.values()) != sorted(begins.values()):
        raise DataError(f"espeak did not say when each word begins: {' '.join(words)!r}. Use other words or voices.")
    silence = [mark.sample for mark in marks if mark.phone is not None and mark.phone.startswith("_")]
    times = []
    for begin, after in pairwise([*begins.values(), length]):
        end = min([at for at in silence if begin < at < after], default=after)
        times.append((round(begin / rate, 4), round(end / rate, 4)))
    return tuple(times)


def _begins(
    words: Sequence[str], places: Sequence[int], marks: Sequence[Mark], phones: dict[int, list[Mark]]
) -> dict[int, int]:
    """Return the first sample of each word by its place; some are missing if their events are."""
    events = {mark.place: mark.sample for mark in marks if mark.phone is None and mark.place in phones}
    begins: dict[int, int] = {}
    last = -1  # where the latest phone begins
    for number, place in enumerate(places):
        if place not in events:
            continue
        own = phones[place]
        begins[place] = own[0].sample if own and events[place] <= last else events[place]
        group = [number]
        while group[-1] + 1 < len(places) and places[group[-1] + 1] not in events:
            group.append(group[-1] + 1)
        shares = _shared([words[each] for each in group], own, begins[place])
        begins |= {places[each]: sample for each, sample in zip(group[1:], shares, strict=True)}
        last = own[-1].sample if own else last
    return begins


def _phones_of(place: int, marks: Sequence[Mark]) -> list[Mark]:
    """Return the phones that espeak assigns to the word at a place; "_" is silence, ";" softens the phone before."""
    return [mark for mark in marks if mark.place == place and mark.phone and mark.phone[0] not in "_;"]


def _shared(words: Sequence[str], phones: Sequence[Mark], begin: int) -> list[int]:
    """Return where the later of some joined words begin, by the number of phones of each."""
    if len(words) == 1:
        return []
    counts = np.cumsum([len(parse_phones(pronounce(word))) for word in words])
    shares = counts[:-1] / counts[-1] * len(phones)
    return [phones[min(max(1, round(share)), len(phones) - 1)].sample if phones else begin for share in shares]


def _marked_up(words: Sequence[str], pauses: Sequence[float]) -> tuple[str, list[int]]:
    """Return the words as SSML with breaks, and the place of each word, from 1."""
    text, places = "<speak>", []
    for number, word in enumerate(words):
        places.append(len(text) + 1)
        pause = pauses[number] if number < len(pauses) else 0.0
        text += f"{word} <break time='{round(1000 * pause)}ms'/>" if pause else f"{word} "
    return f"{text.rstrip()}</speak>", places

"""timing: choose the segments that a voice articulates and how long each lasts, before any sample is computed.

So a corpus knows the times of its words without computing its sounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from saccade.corpora.spoken.lexicon import pronounce
from saccade.corpora.spoken.phones import PHONES, STOPS, VOWELS, Formants, Segment, parse_phones
from saccade.corpora.spoken.voice import Voice
from saccade.corpora.stream import Dice
from saccade.data.example import Time

__all__ = ["FRAME", "REST", "Delivery", "Timing", "arrange"]

FRAME = 0.005
"""Seconds of a frame, over which targets are constant."""
REST: Formants = (500.0, 1500.0, 2500.0)
"""Formants of silence, where the mouth keeps its place."""
_WEAK_WORDS = (
    "a an the of to in on at and or but for is are was were am be been by from with as that than it he she we they "
    "you i my your his her our their them him us me will would can could do did does has have had not so if"
)
_FUNCTION_WORDS = frozenset(_WEAK_WORDS.split())
"""Words that are spoken weakly: shorter, and without an accent."""
_STRESS, _WEAK, _LAST = 1.1, 0.78, 1.35
"""Factors of durations: stressed vowels, weak words, and the last syllable."""
_SPREAD = 0.09
"""Standard deviation of the random factor of each phone's duration."""
_ASPIRATED = frozenset("ptk")
_OPEN = frozenset((*VOWELS, *"lrwj"))
"""Only before these, and not after s, voiceless stops are aspirated."""


@dataclass(frozen=True)
class Delivery:
    """How an utterance is spoken.

    before, after, pauses: silence before it, after it, and after each word, in seconds. speed, pitch: factors of the
    voice's own. asks: whether it is a question, whose pitch rises at the end.
    """

    before: float = 0.1
    after: float = 0.1
    pauses: tuple[float, ...] = ()
    speed: float = 1.0
    pitch: float = 1.0
    asks: bool = False


class Timing(NamedTuple):
    """Segments and the frames that each lasts; accents, (seconds, height); times of the words; a phase of the pitch."""

    rows: list[Segment]
    counts: list[int]
    accents: list[tuple[float, float]]
    times: tuple[Time, ...]
    phase: float


class _Spoken(NamedTuple):
    """A phone in its place: its name, whether it is stressed or weak, and the number of its word."""

    name: str
    stressed: bool
    weak: bool
    word: int


def arrange(words: Sequence[str], voice: Voice, delivery: Delivery, seed: str) -> Timing:
    """Choose the segments of an utterance and their frames; the same arguments give the same Timing."""
    dice = Dice(seed)
    phones = _phones(words)
    accented = {vowel: (first, second) for vowel, first, second in voice.accent}
    rows, counts = [_silence()], [_frames(delivery.before)]
    accents: list[tuple[float, float]] = []
    begins: dict[int, int] = {}
    ends: dict[int, int] = {}
    now = counts[0]
    for place, phone in enumerate(phones):
        begins.setdefault(phone.word, now)
        factor = _duration(phones, place, voice.speed * delivery.speed) * (1 + _SPREAD * _bell(dice))
        if phone.stressed and not phone.weak:
            accents.append((now * FRAME + 0.05, 0.6 + 0.4 * dice.random()))
        for segment in _segments(phones, place, accented):
            rows.append(segment)
            counts.append(max(1, round(segment.seconds * factor / FRAME)))
            now += counts[-1]
        ends[phone.word] = now
        last = place + 1 == len(phones) or phones[place + 1].word != phone.word
        if last and phone.word < len(delivery.pauses) and (pause := _frames(delivery.pauses[phone.word])):
            rows.append(_silence())
            counts.append(pause)
            now += pause
    rows.append(_silence())
    counts.append(_frames(delivery.after))
    times = tuple((round(begins[n] * FRAME, 4), round(ends[n] * FRAME, 4)) for n in range(len(words)))
    return Timing(rows, counts, accents, times, 2 * math.pi * dice.random())


def _phones(words: Sequence[str]) -> list[_Spoken]:
    found = []
    for number, word in enumerate(words):
        weak = word in _FUNCTION_WORDS
        phones = parse_phones(pronounce(word))
        marked = any(stressed for _, stressed in phones)
        for name, stressed in phones:
            if name in VOWELS and not marked:  # words of one syllable carry no mark
                stressed, marked = True, True
            found.append(_Spoken(name, stressed, weak, number))
    return found


def _segments(phones: Sequence[_Spoken], place: int, accents: dict[str, tuple[float, float]]) -> list[Segment]:
    """Return a phone's segments, adapted to its neighbors and to the accent of the voice."""
    name = phones[place].name
    phone = PHONES[name]
    segments = list(phone.segments)
    if name in accents:
        first, second = accents[name]
        segments = [
            _moved(segment, (segment.formants[0] * first, segment.formants[1] * second)) for segment in segments
        ]
    if phone.borrows and (near := _neighbor(phones, place)):
        segments = [_borrowed(segment, near, phone.borrows) for segment in segments]
    before = phones[place - 1].name if place else ""
    after = phones[place + 1].name if place + 1 < len(phones) else ""
    if name in _ASPIRATED and (before == "s" or after not in _OPEN):
        segments = segments[:2]
    if name in STOPS and after in STOPS:  # only the second of two stops is released
        segments = segments[:1]
    return segments


def _neighbor(phones: Sequence[_Spoken], place: int) -> Formants | None:
    """Return the formants of the vowel or glide after a phone, or before it."""
    if place + 1 < len(phones) and phones[place + 1].name in _OPEN:
        return PHONES[phones[place + 1].name].segments[0].formants
    if place and phones[place - 1].name in VOWELS:
        return PHONES[phones[place - 1].name].segments[-1].formants
    return None


def _borrowed(segment: Segment, near: Formants, share: float) -> Segment:
    first, second, third = segment.formants
    second += share * (near[1] - second)
    third += share * (near[2] - third)
    if share < 1:  # the first formant of a stop stays low, and its burst is near the second
        return segment._replace(formants=(first, second + 150, third), center=second + 150)
    return segment._replace(formants=(first + share * (near[0] - first), second, third))


def _moved(segment: Segment, pair: tuple[float, float]) -> Segment:
    return segment._replace(formants=(pair[0], max(pair[1], pair[0] + 150), segment.formants[2]))


def _duration(phones: Sequence[_Spoken], place: int, speed: float) -> float:
    """Return the factor of a phone's usual duration."""
    phone = phones[place]
    factor = _WEAK if phone.weak else 1.0
    if phone.name in VOWELS:
        factor *= _STRESS if phone.stressed and not phone.weak else 0.85
    elif place and phones[place - 1].name not in VOWELS and phones[place - 1].word == phone.word:
        factor *= 0.8  # consonants are shorter in clusters
    if phone.word == phones[-1].word and sum(other.name in VOWELS for other in phones[place:]) <= 1:
        factor *= _LAST
    return float(factor / speed ** PHONES[phone.name].stretch)


def _silence() -> Segment:
    return Segment(0.0, REST)


def _frames(seconds: float) -> int:
    return round(seconds / FRAME)


def _bell(dice: Dice) -> float:
    return 2 * (dice.random() + dice.random() + dice.random() - 1.5)

"""plan: decide what a voice articulates and when, before any sample is computed.

`arrange` chooses the segments and their durations, so that a corpus knows the times of its words without computing its
sounds. `plan` makes a Score of them: targets in frames of 5 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.spoken.lexicon import pronounce
from saccade.corpora.spoken.phones import PHONES, STOPS, VOWELS, Formants, Segment, parse_phones
from saccade.corpora.spoken.voice import Voice
from saccade.corpora.stream import Dice
from saccade.data.example import Time

__all__ = ["FRAME", "Delivery", "Score", "Timing", "arrange", "plan"]

Matrix = NDArray[np.float64]

FRAME = 0.005
"""Seconds of a frame, over which targets are constant."""
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


@dataclass(frozen=True)
class Score:
    """Targets of an utterance, a row for each frame.

    formants: (F, 3) in Hz. pitch: (F,) in Hz. gains: (F, 3) of voice, breath and noise. bell: (F, 2), center and width
    of the noise. nasal: (F,). segments: (F,), the number of each frame's segment. times: of the words.
    """

    formants: Matrix
    pitch: Matrix
    gains: Matrix
    bell: Matrix
    nasal: Matrix
    segments: NDArray[np.int64]
    times: tuple[Time, ...]


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
    return Timing(rows, counts, accents, times, 2 * np.pi * dice.random())


def plan(timing: Timing, voice: Voice, delivery: Delivery) -> Score:
    """Compute the targets of every frame from the timing of an utterance."""
    frames = sum(timing.counts)
    return _score(timing, voice, _melody(frames, timing, voice, delivery))


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


def _melody(frames: int, timing: Timing, voice: Voice, delivery: Delivery) -> Matrix:
    """Return the pitch of each frame: it declines, rises at accents, and falls or rises at the end."""
    time = np.arange(frames) * FRAME
    begin, end = timing.times[0][0], timing.times[-1][1]
    along = np.clip((time - begin) / max(end - begin, FRAME), 0, 1)
    semitones = voice.melody * (0.35 - 0.7 * along) + 0.15 * np.sin(2 * np.pi * 1.3 * time + timing.phase)
    for peak, height in timing.accents:
        first, last = max(0, int((peak - 0.3) / FRAME)), int((peak + 0.3) / FRAME)
        semitones[first:last] += voice.melody * 0.55 * height * np.exp(-(((time[first:last] - peak) / 0.09) ** 2))
    semitones += voice.melody * (0.9 if delivery.asks else -0.45) * np.clip((time - end + 0.25) / 0.25, 0, 1)
    return np.asarray(voice.pitch * delivery.pitch * 2 ** (semitones / 12))


def _score(timing: Timing, voice: Voice, pitch: Matrix) -> Score:
    """Spread segments over their frames, and smooth the steps: articulators move slowly, and amplitudes quickly."""
    rows = timing.rows
    index = np.repeat(np.arange(len(rows)), timing.counts)
    formants = [row.formants for row in rows]
    formants[0] = formants[1]  # the mouth is ready before the first phone, and rests after the last
    for number in range(1, len(rows)):
        if formants[number] == _REST:
            formants[number] = formants[number - 1]
    rest = np.array([row[2:] for row in rows], np.float64)[index]
    slow = np.hanning(max(3, round(voice.drag / FRAME)) + 2)
    quick = np.array([0.25, 0.5, 0.25])
    gains = _smooth(rest[:, [0, 1, 2, 5]], quick)
    return Score(
        formants=_smooth(np.array(formants)[index] * voice.tract, slow),
        pitch=pitch,
        gains=gains[:, :3],
        bell=rest[:, 3:5],
        nasal=gains[:, 3],
        segments=index,
        times=timing.times,
    )


def _smooth(values: Matrix, kernel: Matrix) -> Matrix:
    """Convolve each column with a kernel of sum 1, repeating the first and last rows."""
    kernel = kernel / kernel.sum()
    left = len(kernel) // 2
    padded = np.pad(values, ((left, len(kernel) - 1 - left), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, kernel, "valid") for column in padded.T], 1)


_REST: Formants = (500.0, 1500.0, 2500.0)


def _silence() -> Segment:
    return Segment(0.0, _REST)


def _frames(seconds: float) -> int:
    return round(seconds / FRAME)


def _bell(dice: Dice) -> float:
    return 2 * (dice.random() + dice.random() + dice.random() - 1.5)

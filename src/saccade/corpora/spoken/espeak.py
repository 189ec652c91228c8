"""espeak: voices of eSpeak NG, called through ctypes; its events say when each word begins.

The extra `voices` installs espeakng-loader, which brings the library (GPL 3) and its data. The library has one state a
process, so calls are made one after the other.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.corpora.spoken.lexicon import pronounce
from saccade.corpora.spoken.phones import parse_phones
from saccade.data.example import Time
from saccade.data.text import import_extra
from saccade.errors import DataError

__all__ = ["ACCENTS", "VARIANTS", "EspeakVoice", "Mark", "espeak_voices_of", "speak", "word_times"]

ACCENTS = (
    "en-us", "en", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbclan", "en-gb-x-gbcwmd", "en-029", "en-us-nyc",
)  # fmt: skip
VARIANTS = {
    "train": (
        "m1", "m2", "m3", "m4", "m5", "m6", "f1", "f2", "f3", "adam", "anika", "aunty", "belinda", "benjamin", "boris",
        "caleb", "david", "edward", "grandma", "iven", "linda", "marcelo", "max", "miguel", "pablo",
    ),
    "valid": ("m7", "f4", "quincy", "steph", "Michael"),
    "test": ("m8", "f5", "travis", "rob", "Lee"),
}  # fmt: skip
"""Timbres; those of a split are its own when splits share no voice."""
_WORD, _PHONE = 1, 7
_RATE, _PITCH, _RANGE = 1, 3, 4
"""Numbers of events and parameters in espeak's header."""
_SYNCHRONOUS, _OPTIONS, _FLAGS = 2, 0x8001, 0x11
"""Output by callback; events of phones, errors returned; UTF-8 with SSML."""
Samples = NDArray[np.float32]


@dataclass(frozen=True)
class EspeakVoice:
    """A voice of espeak: its name, words a minute, and pitch and range of pitch from 0 to 99."""

    name: str
    words_per_minute: int = 170
    pitch: int = 50
    range: int = 50


class Mark(NamedTuple):
    """An event: whether a word begins, or which phone ("" for none); its place in the text; samples from the start."""

    phone: str | None
    place: int
    sample: int


def espeak_voices_of(split: str, held_out: bool) -> tuple[str, ...]:
    """Return the names of a split's voices: those of train, or others if voices are held out."""
    variants = VARIANTS[split if held_out else "train"]
    return tuple(f"{accent}+{variant}" for accent in ACCENTS for variant in variants)


def speak(words: Sequence[str], pauses: Sequence[float], voice: EspeakVoice) -> tuple[Samples, int, tuple[Time, ...]]:
    """Speak words with pauses between; return the samples, their rate, and the times of the words."""
    text, places = _marked_up(words, pauses)
    samples, rate, marks = _engine().speak(text, voice)
    return samples, rate, word_times(words, places, marks, rate, len(samples))


def word_times(
    words: Sequence[str], places: Sequence[int], marks: Sequence[Mark], rate: int, length: int
) -> tuple[Time, ...]:
    """Return the times of words at these places of the text.

    A word begins with its event, or with its first phone if the event comes while the phone before still sounds. Words
    that espeak joins, as it does "in the", have one event; they share its phones as their pronunciations have them.
    """
    order = sorted(places)
    owned: dict[int, list[Mark]] = {place: [] for place in places}
    events = {mark.place: mark.sample for mark in marks if mark.phone is None and mark.place in owned}
    silence = [mark.sample for mark in marks if mark.phone is not None and mark.phone.startswith("_")]
    begins: dict[int, int] = {}
    for mark in marks:
        if mark.phone is not None and mark.place in owned and mark.phone[:1] not in ("", "_", ";"):
            owned[mark.place].append(mark)
    for number, place in enumerate(order):
        if place not in events:
            continue
        group = [place]
        while number + len(group) < len(order) and order[number + len(group)] not in events:
            group.append(order[number + len(group)])
        phones = owned[place]
        before = [mark.sample for near in order[:number] for mark in owned[near]]
        begins[place] = events[place]
        if before and phones and events[place] <= before[-1]:
            begins[place] = phones[0].sample
        for other, sample in zip(group[1:], _shared(words, places, group, phones, begins[place]), strict=True):
            begins[other] = sample
    if len(begins) < len(places) or sorted(begins.values()) != [begins[place] for place in order]:
        raise DataError(f"espeak did not say when each word begins: {' '.join(words)!r}. Use other words or voices.")
    times = []
    for number, place in enumerate(order):
        after = begins[order[number + 1]] if number + 1 < len(order) else length
        end = min([sample for sample in silence if begins[place] < sample < after], default=after)
        times.append((round(begins[place] / rate, 4), round(end / rate, 4)))
    return tuple(times)


def _shared(
    words: Sequence[str], places: Sequence[int], group: Sequence[int], phones: Sequence[Mark], begin: int
) -> list[int]:
    """Return where the later words of a group begin, by the number of phones of each."""
    if len(group) == 1:
        return []
    counts = [len(parse_phones(pronounce(words[places.index(place)]))) for place in group]
    parts = np.cumsum(counts)[:-1] / sum(counts) * len(phones)
    return [phones[min(max(1, round(part)), len(phones) - 1)].sample if phones else begin for part in parts]


def _marked_up(words: Sequence[str], pauses: Sequence[float]) -> tuple[str, list[int]]:
    """Return the words as SSML with breaks, and the place of each word, from 1."""
    text, places = "<speak>", []
    for number, word in enumerate(words):
        places.append(len(text) + 1)
        pause = pauses[number] if number < len(pauses) else 0.0
        text += f"{word} <break time='{round(1000 * pause)}ms'/>" if pause else f"{word} "
    return f"{text.rstrip()}</speak>", places


class _Event(ctypes.Structure):
    """espeak_EVENT of speak_lib.h."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("unique", ctypes.c_uint),
        ("place", ctypes.c_int),
        ("length", ctypes.c_int),
        ("milliseconds", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user", ctypes.c_void_p),
        ("id", ctypes.c_char * 8),
    )


_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


class _Engine:
    """The library, of which a process has one."""

    def __init__(self) -> None:
        loader: Any = import_extra("espeakng_loader", "voices", "speaking with the voices of espeak")
        self._library = ctypes.CDLL(loader.get_library_path())
        self._lock = threading.Lock()
        self._blocks: list[NDArray[np.int16]] = []
        self._marks: list[Mark] = []
        data = str(loader.get_data_path()).encode()
        self.rate: int = self._library.espeak_Initialize(_SYNCHRONOUS, 0, data, _OPTIONS)
        if self.rate <= 0:
            raise DataError(f"espeak could not read its data in {data.decode()}. Install espeakng-loader again.")
        self._callback = _Callback(self._receive)  # kept alive as long as the library may call it
        self._library.espeak_SetSynthCallback(self._callback)

    def speak(self, text: str, voice: EspeakVoice) -> tuple[Samples, int, list[Mark]]:
        """Speak a text in SSML."""
        with self._lock:
            self._blocks, self._marks = [], []
            if self._library.espeak_SetVoiceByName(voice.name.encode()):
                raise DataError(f"espeak has no voice {voice.name!r}. Install espeakng-loader 0.2.4 or newer.")
            settings = ((_RATE, voice.words_per_minute), (_PITCH, voice.pitch), (_RANGE, voice.range))
            for parameter, value in settings:
                self._library.espeak_SetParameter(parameter, value, 0)
            data = text.encode()
            if self._library.espeak_Synth(data, len(data) + 1, 0, 1, 0, _FLAGS, None, None):
                raise DataError(f"espeak could not speak {text!r}.")
            whole = np.concatenate(self._blocks) if self._blocks else np.zeros(0, np.int16)
            return (whole / 32768).astype(np.float32), self.rate, self._marks

    def _receive(self, samples: Any, count: int, events: Any) -> int:
        """Keep a block of samples and its events; 0 means to go on."""
        number = 0
        while events[number].type:
            event = events[number]
            if event.type in (_WORD, _PHONE):
                phone = event.id.decode(errors="replace") if event.type == _PHONE else None
                self._marks.append(Mark(phone, event.place, event.sample))
            number += 1
        if samples and count > 0:
            self._blocks.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0


@lru_cache(maxsize=1)
def _engine() -> _Engine:
    return _Engine()

"""espeak_engine: the library eSpeak NG, called through ctypes.

The extra `voices` installs espeakng-loader, which brings the library (GPL 3) and its data. The library has one state
per process, so a lock serializes calls.
"""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.data.text import import_extra
from saccade.errors import DataError
from saccade.files import wrap_os_errors

__all__ = ["VARIANTS", "EspeakVoice", "Mark", "Samples", "engine"]

VARIANTS = {
    "train": (
        "m1", "m2", "m3", "m4", "m5", "m6", "f1", "f2", "f3", "adam", "anika", "aunty", "belinda", "benjamin", "boris",
        "caleb", "david", "edward", "grandma", "iven", "linda", "marcelo", "max", "miguel", "pablo",
    ),
    "valid": ("m7", "f4", "quincy", "steph", "Michael"),
    "test": ("m8", "f5", "travis", "rob", "Lee"),
}  # fmt: skip
"""The timbres of each split, for splits that share no voice; otherwise every split has those of train."""
_WORD, _PHONE = 1, 7
_RATE, _PITCH, _RANGE = 1, 3, 4
"""Numbers of events and parameters in espeak's header."""
_SYNCHRONOUS, _OPTIONS, _FLAGS = 2, 0x8001, 0x11
"""The mode: output by callback. Options: report phones, and return errors. Flags: the text is UTF-8 with SSML."""
Samples = NDArray[np.float32]


@dataclass(frozen=True)
class EspeakVoice:
    """A voice of espeak: its name, words a minute, and pitch and range of pitch from 0 to 99."""

    name: str
    words_per_minute: int = 170
    pitch: int = 50
    range: int = 50


class Mark(NamedTuple):
    """An event: a phone or the beginning of a word, where in the text it is, and when it is heard.

    `phone` is None for a word, and "" for a phone without a name; `sample` counts from the start of the utterance.
    """

    phone: str | None
    place: int
    sample: int


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


class Engine:
    """The library, of which a process has one."""

    def __init__(self) -> None:
        loader: Any = import_extra("espeakng_loader", "voices", "speaking with the voices of espeak")
        self._library = ctypes.CDLL(loader.get_library_path())
        self._lock = threading.Lock()
        self._blocks: list[NDArray[np.int16]] = []
        self._marks: list[Mark] = []
        self._folder = tempfile.TemporaryDirectory(prefix="saccade-espeak-")  # removed when the process ends
        data = _steady(Path(loader.get_data_path()), Path(self._folder.name) / "espeak-ng-data")
        self.rate: int = self._library.espeak_Initialize(_SYNCHRONOUS, 0, str(data).encode(), _OPTIONS)
        if self.rate <= 0:
            raise DataError(f"espeak could not read its data in {data}. Install espeakng-loader again.")
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
        """Keep a block of samples and its events; return 0 to continue."""
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


def _steady(data: Path, folder: Path) -> Path:
    """Make a data folder whose timbres have no flutter; all else links to the installed one.

    Flutter varies the pitch by a table whose position depends on all earlier speech, so the length of an utterance
    would vary by a few samples.
    """
    with wrap_os_errors(folder):
        for place, below in ((data, folder), (data / "voices", folder / "voices")):
            below.mkdir()
            for entry in place.iterdir():
                if entry.name not in ("voices", "!v"):
                    _link(entry, below / entry.name)
        (folder / "voices" / "!v").mkdir()
        for variant in (variant for found in VARIANTS.values() for variant in found):
            text = (data / "voices" / "!v" / variant).read_text(encoding="utf-8")
            (folder / "voices" / "!v" / variant).write_text(f"{text}\nflutter 0\n", encoding="utf-8")
    return folder


def _link(origin: Path, path: Path) -> None:
    try:
        path.symlink_to(origin)
    except OSError:  # Windows, without the right to make links
        (shutil.copytree if origin.is_dir() else shutil.copy)(origin, path)


@lru_cache(maxsize=1)
def engine() -> Engine:
    """Return the library, loaded once."""
    return Engine()

"""The Free Spoken Digit Dataset: recordings of single digits, joined to strings of digits with the time of each.

A string has one to seven digits of one speaker, with random pauses and levels. As published, recordings 0 to 4 of each
digit and speaker are the test set; 5 to 9 are for validation here. Each folder without-NAME has the same files without
one speaker in training and validation, and with this speaker alone in the test set.
"""

from __future__ import annotations

import json
import random
import re
import tarfile
import wave
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from lzma import LZMAError
from pathlib import Path
from typing import Any

import numpy as np

from saccade.data.recordings import joined_times
from saccade.errors import DataError
from saccade.files import file_error, writing, writing_folder

__all__ = ["DIGITS", "LONGEST", "Take", "convert_fsdd", "digit_string", "read_fsdd", "split_of_take"]

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LONGEST = 7
"""Most digits of a string."""
_STRINGS, _TESTED = 40_000, 1000
"""Strings to train on, of which there is a fifth without a speaker, and to test. New strings of the same recordings
cost little, and a model cannot memorize them all."""
_PAUSE, _MARGIN, _LEVEL = (0.025, 0.25), (0.05, 0.3), (-14.0, -1.0)
"""Seconds between digits, and around a string; decibels of the loudest sample."""
_UNEVEN = 2.0
"""Decibels by which digits of a string differ in level."""
_NAME = re.compile(r"([0-9])_([a-z]+)_([0-9]{1,3})\.wav")
_LARGEST, _MOST = 1 << 20, 100_000
"""Maximum bytes of a recording, and maximum members of an archive."""


@dataclass(frozen=True)
class Take:
    """One recording of a digit: its speaker and number, its duration in seconds, and its loudest sample."""

    digit: int
    speaker: str
    number: int
    seconds: float
    peak: float
    rate: int

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.digit}_{self.speaker}_{self.number}.wav"


def convert_fsdd(origin: Path, out: Path, strings: int = _STRINGS) -> list[Path]:
    """Write the recordings, strings of digits and single digits, and the same with each speaker held out."""
    takes: list[Take] = []
    with writing_folder(out / "recordings") as draft:
        for take, data in read_fsdd(origin):
            takes.append(take)
            (draft / take.file).write_bytes(data)
    written = [out / "recordings"]
    speakers = sorted({take.speaker for take in takes})
    parts = {split: [take for take in takes if split_of_take(take) == split] for split in ("train", "valid", "test")}
    written += _write_sets(parts, out, "recordings", (strings, _TESTED, _TESTED))
    for speaker in speakers if len(speakers) > 1 else ():
        apart = {
            split: [
                take
                for take in (takes if split == "test" else parts[split])
                if (take.speaker == speaker) == (split == "test")
            ]
            for split in parts
        }
        written += _write_sets(
            apart, out / f"without-{speaker}", "../recordings", (strings // 5, _TESTED // 2, _TESTED)
        )
    return written


def read_fsdd(origin: Path) -> Iterator[tuple[Take, bytes]]:
    """Yield recordings with their files: those of a folder `recordings`, or of the archives in the folder, in order."""
    folder = origin / "recordings" if (origin / "recordings").is_dir() else origin
    files = sorted(path for path in _listed(folder) if _NAME.fullmatch(path.name))
    archives = [] if files else sorted(path for path in _listed(origin) if ".tar" in path.suffixes)
    found = {path.name: path.read_bytes() for path in files}
    for archive in archives:
        found |= _unpacked(archive)
    if not found:
        raise DataError(
            f"{origin} has no recordings such as 7_jackson_32.wav, in it or in its folder recordings. Clone the data "
            "set, and name the clone."
        )
    for name in sorted(found, key=_key):
        yield _take(name, found[name]), found[name]


def split_of_take(take: Take) -> str:
    """Return the split of a recording by its number: test as published, valid the next five."""
    return "test" if take.number < 5 else "valid" if take.number < 10 else "train"


def digit_string(takes: Sequence[Take], folder: str, rng: random.Random) -> dict[str, Any]:
    """Return the line of a string made of these recordings."""
    pauses = [round(rng.uniform(*(_PAUSE if number else _MARGIN)), 3) for number in range(len(takes))]
    level = 10 ** (rng.uniform(*_LEVEL) / 20)
    gains = [10 ** (rng.uniform(-_UNEVEN, 0) / 20) * level / max(take.peak, 1e-4) for take in takes]
    sound: list[Any] = []
    for pause, take in zip(pauses, takes, strict=True):
        sound += [pause, f"{folder}/{take.file}"]
    return {
        "sound": [*sound, round(rng.uniform(*_MARGIN), 3)],
        "text": " ".join(DIGITS[take.digit] for take in takes),
        "times": joined_times([take.seconds for take in takes], pauses),
        "gains": [round(gain, 4) for gain in gains],
    }


def _write_sets(parts: dict[str, list[Take]], out: Path, folder: str, counts: Sequence[int]) -> list[Path]:
    """Write strings of each split, and single digits of those that are not trained on."""
    written = []
    for (split, takes), count in zip(parts.items(), counts, strict=True):
        if not takes:
            continue
        rng = random.Random(f"fsdd {split} {folder} {out.name if folder.startswith('..') else ''}")
        written.append(out / f"{split}.jsonl")
        with writing(written[-1]) as file:
            for _ in range(count):
                file.write(json.dumps(digit_string(_chosen(takes, rng), folder, rng)) + "\n")
        if split != "train":
            written.append(out / f"{split}.digits.jsonl")
            with writing(written[-1]) as file:
                for take in takes:
                    file.write(json.dumps(digit_string([take], folder, rng)) + "\n")
    return written


def _chosen(takes: Sequence[Take], rng: random.Random) -> list[Take]:
    """Return the recordings of a random string: one speaker, and every digit equally often."""
    speaker = rng.choice(takes).speaker
    own: dict[int, list[Take]] = {}
    for take in takes:
        if take.speaker == speaker:
            own.setdefault(take.digit, []).append(take)
    digits = sorted(own)
    return [rng.choice(own[rng.choice(digits)]) for _ in range(rng.randint(1, LONGEST))]


def _take(name: str, data: bytes) -> Take:
    match = _NAME.fullmatch(name)
    assert match is not None
    try:
        with wave.open(BytesIO(data)) as file:
            rate, frames, layout = file.getframerate(), file.getnframes(), (file.getsampwidth(), file.getnchannels())
            samples = np.frombuffer(file.readframes(frames), "<i2") if layout == (2, 1) else np.zeros(0, "<i2")
    except (wave.Error, EOFError, ValueError) as error:
        raise DataError(f"{name} is damaged ({str(error) or 'it ends early'}). Copy it again.") from error
    if layout != (2, 1) or not len(samples):
        raise DataError(f"{name} does not hold samples of 16 bits in one channel. Copy it again.")
    peak = float(np.abs(samples.astype(np.int64)).max()) / 32768
    return Take(int(match[1]), match[2], int(match[3]), len(samples) / rate, peak, rate)


def _unpacked(archive: Path) -> dict[str, bytes]:
    """Read the recordings of an archive into memory; nothing is unpacked to the names that it gives."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(archive) as file:
            for number, member in enumerate(file):
                name = Path(member.name).name
                if number >= _MOST or (member.isfile() and member.size > _LARGEST and _NAME.fullmatch(name)):
                    raise DataError(f"{archive} is far larger than the data set. Download it again.")
                if member.isfile() and _NAME.fullmatch(name) and (content := file.extractfile(member)) is not None:
                    found[name] = content.read()
    except OSError as error:
        raise file_error(error, archive) from error
    except (tarfile.TarError, LZMAError, EOFError) as error:
        raise DataError(f"{archive} is damaged ({error}). Copy or download it again.") from error
    return found


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise file_error(error, folder) from error


def _key(name: str) -> tuple[str, int, int]:
    digit, speaker, number = name.removesuffix(".wav").split("_")
    return speaker, int(digit), int(number)

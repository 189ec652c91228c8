"""Recordings with transcripts, read from JSON lines or from lines of `file <tab> text`.

    {"sound": "clips/7.wav", "text": "one two", "times": [[0.1, 0.42], [0.5, 0.81]]}

`times` are optional: begin and end in seconds of each word. For speech translation, `translation` is the text to write,
and `links` are optional gold links from the words of `text` to its words. `sound` may be a list: files to join, and
between them seconds of silence; then `gains` are optional factors, one for each file. Paths are relative to the file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.data.example import Example, Recording, Time
from saccade.data.formats import parse_links, records
from saccade.data.recordings import JoinedSound, Part, SoundFile
from saccade.data.sounds import wave_bytes
from saccade.data.text import check_encodable, numbered, shorten, shown, stem_suffix
from saccade.errors import DataError, unknown_name
from saccade.files import writing, writing_folder

__all__ = ["speech", "speech_lines", "speech_table", "write_speech"]

_KEYS = {name: name for name in ("sound", "text", "times", "translation", "links", "gains")}
"""The parts of an example, and their usual keys in JSON lines."""


def speech(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read JSON lines, or lines of a file name, a tab and a transcript."""
    if stem_suffix(path) in (".json", ".jsonl"):
        return speech_lines(path, keys, first_word=first_word)
    return speech_table(path)


def speech_table(path: Path) -> Iterator[Example]:
    """Read lines of a file name, a tab and a transcript."""
    for number, line in numbered(path):
        cells = line.split("\t")
        if len(cells) != 2 or not cells[0]:
            raise DataError(
                f"{path}, line {number} is not the name of a sound file, a tab and its text: {shorten(line)}."
            )
        yield Example(target=cells[1], sound=SoundFile(path.parent / cells[0]))


def speech_lines(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read one JSON object per line; `keys` renames its parts."""
    keys = _KEYS | dict(keys or {})
    for field in keys:
        if field not in _KEYS:
            raise unknown_name("field", field, _KEYS)
    return _speech_lines(path, keys, first_word)


def _speech_lines(path: Path, keys: Mapping[str, str], first_word: int) -> Iterator[Example]:
    for where, record in records(path, {"text": keys["text"], "sound": keys["sound"]}):
        text, translation = (_text(record.get(keys[name]), where, keys[name]) for name in ("text", "translation"))
        if text is None:
            raise DataError(f"{where}: {keys['text']!r} is null, but must be what is said in the sound.")
        sound = _sound(record.get(keys["sound"]), record.get(keys["gains"]), path.parent, where, keys)
        times = _times(record.get(keys["times"]), len(text.split()), f"{where}: {keys['times']!r}")
        if translation is None:
            yield Example(target=text, sound=sound, times=times)
            continue
        gold = _text(record.get(keys["links"]), where, keys["links"])
        links = None if gold is None else parse_links(gold, text, translation, where, first_word)
        yield Example(source=text, target=translation, links=links, sound=sound, times=times)


def write_speech(examples: Iterable[Example], folder: Path, name: str) -> list[Path]:
    """Write sounds as .wav to the folder NAME.sounds, and texts with times to NAME.jsonl; return both paths."""
    sounds, path = folder / f"{name}.sounds", folder / f"{name}.jsonl"
    number = 0
    with writing_folder(sounds) as draft, writing(path) as file:
        for number, example in enumerate(examples, 1):
            if example.sound is None or example.text is None or example.target is None:
                raise DataError(f"example {number} has no sound or no text to write.")
            check_encodable(example.text, f"example {number}: its text")
            (draft / f"{number:06}.wav").write_bytes(wave_bytes(example.sound.load()))
            record: dict[str, Any] = {"sound": f"{sounds.name}/{number:06}.wav", "text": example.text}
            if example.times:
                record["times"] = example.times
            if example.source is not None:
                record["translation"] = example.target
            if example.links is not None:
                record["links"] = str(example.links)
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
        if not number:
            raise DataError(f"there is no example to write to {path}.")
    return [path, sounds]


def _text(given: Any, where: str, key: str) -> str | None:
    if given is not None and not isinstance(given, str):
        raise DataError(f"{where}: {key!r} is {shown(given)}, but must be text.")
    if given is not None:
        check_encodable(given, where)
    return given


def _sound(given: Any, gains: Any, folder: Path, where: str, keys: Mapping[str, str]) -> Recording:
    if isinstance(given, str) and given:
        return SoundFile(folder / given)
    files = [entry for entry in given if isinstance(entry, str)] if isinstance(given, list) else []
    if not files or not all(isinstance(entry, str) or _is_seconds(entry) for entry in given):
        raise DataError(
            f"{where}: {keys['sound']!r} is {shown(given)}, but must be the path of a file, or a list of paths and "
            "of seconds of silence between them."
        )
    factors = [1.0] * len(files) if gains is None else gains
    if not isinstance(factors, list) or len(factors) != len(files) or not all(map(_is_seconds, factors)):
        raise DataError(f"{where}: {keys['gains']!r} is {shown(gains)}, but must be {len(files)} factors, one a file.")
    parts: list[Part] = []
    pause = 0.0
    for entry in given:
        if isinstance(entry, str):
            parts.append(Part(folder / entry, pause, factors[len(parts)]))
            pause = 0.0
        else:
            pause += entry
    return JoinedSound(tuple(parts), pause)


def _times(given: Any, words: int, where: str) -> tuple[Time, ...]:
    if given is None:
        return ()
    pairs = given if isinstance(given, list) else []
    times = tuple((pair[0], pair[1]) for pair in pairs if _is_time(pair))
    if len(times) != words or len(pairs) != words:
        raise DataError(
            f"{where} is {shown(given)}, but the text has {words} words. Write [begin, end] in seconds for each, in "
            "order, or leave the times out."
        )
    return times


def _is_time(pair: Any) -> bool:
    return isinstance(pair, Sequence) and len(pair) == 2 and all(map(_is_seconds, pair)) and pair[0] < pair[1]


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value <= 3600

"""Texts from files that arguments of a command name, such as a long article."""

from __future__ import annotations

from pathlib import Path

from saccade.data.text import find_file, lines, stem_suffix
from saccade.errors import DataError

__all__ = ["text_or_file"]

_SUFFIX = ".txt"
_LARGEST = 4 << 20
"""Maximum characters of a file that is one text."""


def text_or_file(word: str) -> str:
    """Return an argument, or the text of the `.txt` file that it names; its lines, of any kind, are joined by spaces.

    A text that ends in .txt is taken as a path if such a file exists, or if it has no spaces.
    """
    path = Path(word)
    if stem_suffix(path) != _SUFFIX or "\n" in word or len(word) > 1000:
        return word
    there = find_file(path)
    if not there.is_file() and len(word.split()) > 1:
        return word
    found, room = [], _LARGEST
    for line in lines(there, any_end=True):
        room -= len(line)
        if room < 0:
            raise DataError(
                f"{there} has more than {_LARGEST:,} characters, the most that one text may have. Split it."
            )
        found.append(line.strip())
    if not (text := " ".join(filter(None, found))):
        raise DataError(f"{there} has no text. Write some, or name another file.")
    return text

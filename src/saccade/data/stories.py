"""News stories as CNN/DailyMail publishes them: a file each, the article and then its highlights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from saccade.data.example import Example
from saccade.data.text import lines, stem_suffix
from saccade.errors import DataError

__all__ = ["is_stories", "read_stories", "read_story"]

_SUFFIX = ".story"
_MARK = "@highlight"
"""Stands on a line of its own before each highlight."""
_ENDS = (".", "!", "?", "...", "'", "`", '"', "\u2019", "\u201d", ")")
"""Ends of lines that need no full stop; headlines and highlights often lack one."""


def is_stories(path: Path) -> bool:
    """Return whether a path is a story, or a folder of stories."""
    return stem_suffix(path) == _SUFFIX or path.is_dir()


def read_stories(paths: Sequence[Path]) -> Iterator[Example]:
    """Read stories and folders of stories, the stories of a folder in the order of their names."""
    for path in paths:
        found = sorted(part for part in path.iterdir() if stem_suffix(part) == _SUFFIX) if path.is_dir() else [path]
        if not found:
            raise DataError(f"{path} has no file named *{_SUFFIX}. Name the folder that holds the stories.")
        yield from map(read_story, found)


def read_story(path: Path) -> Example:
    """Read a story: lines of the article, then `@highlight` before each sentence of the summary.

    Lines are joined by spaces; a line that does not end like a sentence gets ` .`, as in See et al. 2017.
    """
    article: list[str] = []
    highlights: list[str] = []
    marked = False
    for line in lines(path):
        text = line.strip()
        if text == _MARK:
            marked = True
        elif text:
            (highlights if marked else article).append(_ended(text))
    if not highlights:
        raise DataError(f"{path} has no summary: write {_MARK} on a line of its own before each sentence of it.")
    return Example(source=" ".join(article), target=" ".join(highlights))


def _ended(line: str) -> str:
    return line if line.endswith(_ENDS) else f"{line} ."

"""Sentences with slots: how the kinds of events write down their wordings.

A script has one sentence on a line; its words are separated by spaces. Lines that follow each other are wordings of
the same statement, an empty line begins the next statement. Slots name facts:

    {place}        the fact; a person is introduced with the whole name once, and is then called by the last name
    {who.last}     the last name of a person
    {new.place}    a name or number that is drawn for this sentence, and has nothing to do with the event
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Line", "Slot", "Statement", "line", "script"]


class Slot(NamedTuple):
    """A place for a fact."""

    fact: str
    part: str


Line = tuple[str | Slot, ...]
"""A sentence: words and slots."""
Statement = tuple[Line, ...]
"""A statement: its wordings."""


def line(text: str) -> Line:
    """Parse one sentence."""
    return tuple(_word(word) for word in text.split())


def script(text: str) -> tuple[Statement, ...]:
    """Parse the statements of a script."""
    blocks = text.strip().split("\n\n")
    return tuple(tuple(line(row) for row in block.split("\n")) for block in blocks)


def _word(word: str) -> str | Slot:
    if not word.startswith("{"):
        return word
    fact, _, part = word.strip("{}").partition(".")
    return Slot(fact, part)

"""Dialogues: DailyDialog's layout, or JSON lines. Every turn from the second on is a reply to those before it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from saccade.data.example import Example
from saccade.data.formats import parse_links, records
from saccade.data.text import check_encodable, numbered, shorten, shown, stem_suffix
from saccade.errors import DataError, unknown_name

__all__ = ["by_dialogue", "dialogue_lines", "dialogues", "plain_dialogues"]

_KEYS = {"turns": "turns", "replies": "replies", "links": "links"}
"""The parts of a dialogue, and their usual keys in JSON lines."""
_END = "__eou__"
"""Ends a turn ("end of utterance")."""


def dialogues(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read JSON lines, or a plain file in DailyDialog's layout."""
    if stem_suffix(path) in (".json", ".jsonl"):
        return dialogue_lines(path, keys, first_word=first_word)
    return plain_dialogues(path)


def plain_dialogues(path: Path) -> Iterator[Example]:
    """Read one dialogue per line; `__eou__` ends each turn. Empty lines are skipped; CR alone ends a line too."""
    short = 0
    for number, line in numbered(path, any_end=True):
        if not line.strip():
            continue
        turns = [turn.strip() for turn in line.split(_END)]
        if len(turns) == 1:
            raise DataError(
                f"{path}, line {number} has no {_END}: {shorten(line)}. End each turn with it, all turns of a dialogue "
                'on one line, or write .jsonl with {"turns": […]}.'
            )
        if not turns[-1]:
            turns.pop()
        short += len(turns) < 2
        yield from _examples(turns, range(1, len(turns)), [None] * len(turns))
    _warn(path, short)


def dialogue_lines(path: Path, keys: Mapping[str, str] | None = None, *, first_word: int = 0) -> Iterator[Example]:
    """Read one JSON object per line: {"turns": ["How much is it ?", "34 euros ."]}.

    Optional are `replies`, the numbers of the turns to learn (from 0; by default all from 1 on), and `links`, a list
    with an entry for each turn: null, or a text in Pharaoh format that links words of all turns before, counted one
    turn after the other, to words of this one. `keys` renames the three.
    """
    keys = _KEYS | dict(keys or {})
    for field in keys:
        if field not in _KEYS:
            raise unknown_name("field", field, _KEYS)
    return _dialogue_lines(path, keys, first_word)


def by_dialogue(examples: Iterable[Example]) -> Iterator[tuple[int, Example]]:
    """Yield each example with the number of its dialogue, from 0.

    An example belongs to the same dialogue as the one before if its history continues that example and its reply.
    """
    number = -1
    known: tuple[str | None, ...] = ()
    for position, example in enumerate(examples, 1):
        if not example.turns:
            raise DataError(f"example {position} has no turns, which are the history of a dialogue. Add them.")
        if number < 0 or example.turns[: len(known)] != known:
            number += 1
        known = (*example.turns, example.target)
        yield number, example


def _dialogue_lines(path: Path, keys: Mapping[str, str], first_word: int) -> Iterator[Example]:
    short = 0
    for where, record in records(path, {"turns": keys["turns"]}):
        turns = record.get(keys["turns"])
        if not isinstance(turns, list) or not all(isinstance(turn, str) for turn in turns):
            raise DataError(f"{where}: {keys['turns']!r} is {shown(turns)}, but must be a list of texts, one a turn.")
        for number, turn in enumerate(turns, 1):
            check_encodable(turn, f"{where}, turn {number}")
        short += len(turns) < 2
        replies = _replies(record.get(keys["replies"]), len(turns), f"{where}: {keys['replies']!r}")
        links = record.get(keys["links"])
        links = [None] * len(turns) if links is None else links
        if not isinstance(links, list) or len(links) != len(turns):
            raise DataError(f"{where}: {keys['links']!r} must be a list with an entry for each of {len(turns)} turns.")
        yield from _examples(turns, replies, links, where, first_word)
    _warn(path, short)


def _examples(
    turns: Sequence[str], replies: Sequence[int], links: Sequence[Any], where: str = "", first_word: int = 0
) -> Iterator[Example]:
    for place in replies:
        gold, place_name = links[place], f"{where}, links of turn {place}"
        if gold is not None and not isinstance(gold, str):
            raise DataError(f"{place_name} are {shown(gold)}, but must be text such as 0-0 1-2, or null.")
        history = tuple(turns[:place])
        known = None if gold is None else parse_links(gold, " ".join(history), turns[place], place_name, first_word)
        yield Example(target=turns[place], turns=history, links=known)


def _replies(given: Any, turns: int, where: str) -> Sequence[int]:
    if given is None:
        return range(1, turns)
    good = isinstance(given, list) and all(type(place) is int and 0 < place < turns for place in given)
    if not good or given != sorted({*given}):
        raise DataError(f"{where} is {shown(given)}, but must list turns from 1 to {turns - 1}, in order.")
    found: list[int] = given
    return found


def _warn(path: Path, short: int) -> None:
    if short:
        _log(f"{path}: {short} dialogues have fewer than two turns, so there is no reply to learn; left out")


@cache
def _log(message: str) -> None:
    """Log a warning once: training reads its files several times."""
    logging.getLogger("saccade").warning(message)

"""The gold alignments of the HLT-NAACL 2003 shared task, converted to three parallel files."""

from __future__ import annotations

import re
from pathlib import Path

from saccade.data.example import Example, Link, Links
from saccade.data.text import find_file, numbered, shorten
from saccade.data.write import write_pairs
from saccade.errors import DataError

__all__ = ["convert_hansards", "read_hansards"]

_SENTENCE = re.compile(r"<s snum=(\d+)>(.*)</s>")


def convert_hansards(origin: Path, out: Path) -> list[Path]:
    """Write dev.en, dev.fr and dev.align, which counts words from 0."""
    return write_pairs(read_hansards(origin), out, "dev")


def read_hansards(origin: Path) -> list[Example]:
    """Read sentences with their links from FILE.e, FILE.f and FILE.wa."""
    found = sorted({path.name.split(".wa")[0] for path in origin.glob("*.wa*")})
    if not found:
        raise DataError(f"{origin} has no file that ends in .wa. Name the folder of the English-French gold standard.")
    english, french, links = (find_file(origin / f"{found[0]}.{end}") for end in ("e", "f", "wa"))
    sides, gold = (_sentences(english), _sentences(french)), _links(links)
    if set(sides[0]) != set(sides[1]):
        odd = sorted(set(sides[0]) ^ set(sides[1]))[0]
        raise DataError(f"{english} and {french} have different sentences: number {odd} is only in one of them.")
    nothing: tuple[set[Link], set[Link]] = (set(), set())
    made = []
    for number in sides[0]:
        sure, possible = gold.get(number, nothing)
        made.append(
            Example(
                source=sides[0][number],
                target=sides[1][number],
                links=Links(frozenset(sure), frozenset(possible - sure)),
            )
        )
    return made


def _sentences(path: Path) -> dict[int, str]:
    found = {}
    for number, line in numbered(path):
        match = _SENTENCE.fullmatch(line.strip())
        if match is None:
            raise DataError(f"{path}, line {number} is no sentence such as <s snum=1> text </s>: {shorten(line)}.")
        found[int(match[1])] = " ".join(match[2].split())
    return found


def _links(path: Path) -> dict[int, tuple[set[Link], set[Link]]]:
    """Read sure and possible links by sentence; the file counts words from 1, and 0 means no word."""
    found: dict[int, tuple[set[Link], set[Link]]] = {}
    for number, line in numbered(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) < 3 or not all(cell.isdecimal() for cell in cells[:3]):
            raise DataError(f"{path}, line {number} is no link such as 18 1 1 S: {shorten(line)}.")
        sentence, source, target = map(int, cells[:3])
        sure, possible = found.setdefault(sentence, (set(), set()))
        if source and target:
            (possible if "P" in cells[3:] else sure).add((source - 1, target - 1))
    return found

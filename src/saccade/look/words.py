"""Words made fit to be shown: harmless, and measured in the cells of a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["clip", "clusters", "numbered", "pad_left", "percent", "visible", "width"]

_JOINERS = "\u200c\u200d"  # Persian, the scripts of India and emoji are misspelt without them
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def visible(text: str) -> str:
    """The text with every character that would act instead of being seen replaced by one that is seen.

    Text comes from models and strangers. An escape sequence in it could rewrite the terminal and an override of the
    writing direction could shuffle a page, so ESC becomes ␛, a line break ␊, and what has no picture of its own �.
    A text of nothing but spaces becomes as many ␣.
    """
    shown = "".join(_visible(character) for character in text)
    return shown if shown.strip() else "␣" * len(shown)


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if character in _JOINERS:
        return character
    return _UNKNOWN if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else character


def width(text: str) -> int:
    """How many cells of a terminal the text fills: two for a wide character, none for an accent of its own."""
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if character in _JOINERS or unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clusters(text: str) -> list[str]:
    """The text letter by letter, each with the accents and vowel signs that belong to it."""
    found: list[str] = []
    for character in text:
        if found and (character in _JOINERS or unicodedata.category(character) in {"Mn", "Me", "Mc"}):
            found[-1] += character
        else:
            found.append(character)
    return found


def clip(text: str, cells: int) -> str:
    """The text, or as much of its beginning as fits into so many cells, with … for the rest."""
    if width(text) <= cells:
        return text
    kept = ""
    for cluster in clusters(text):
        if width(kept) + width(cluster) > cells - 1:
            break
        kept += cluster
    return kept + "…" if cells > 0 else ""


def pad_left(text: str, cells: int) -> str:
    """The text at the right end of so many cells."""
    return " " * (cells - width(text)) + text


def numbered(words: Iterable[str]) -> list[str]:
    """The words; one that occurs more than once says which it is: the₁ cat and the₂ dog."""
    words = list(words)
    seen: dict[str, int] = {}
    names = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        names.append(word if words.count(word) == 1 else word + str(seen[word]).translate(_SUBSCRIPTS))
    return names


def percent(weight: float) -> str:
    """A weight for people: 0.974 -> "97 %"."""
    return f"{100 * weight:z.0f} %"

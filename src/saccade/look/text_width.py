"""Words made fit to be shown: harmless, and measured in the cells of a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["clip", "clusters", "is_mark", "kept_in_order", "numbered", "pad_left", "percent", "visible", "width"]

_JOINERS = "\u200c\u200d"  # Persian, the scripts of India and emoji are misspelt without them
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SPECIAL = re.compile(r"</?(bos|eos|sos|s|pad|source|cls|sep|mask)>")
_SPACES = "▁Ġ_"  # how tokenizers write the space before a piece
_ZWJ, _AS_EMOJI = "\u200d", "\ufe0f"
_LEFT_TO_RIGHT = "\N{LEFT-TO-RIGHT MARK}"
_WITHOUT_WIDTH = _JOINERS + _LEFT_TO_RIGHT


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
    if code & 0xFFFE == 0xFFFE:  # never to be letters, and no file of XML may have them
        return _UNKNOWN
    return _UNKNOWN if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else character


def is_mark(word: str) -> bool:
    """Whether a word is a sink rather than a word: a special token such as <eos>, or punctuation alone.

    Models that have nothing to look at look there, so pictures set them apart.
    """
    bare = word.strip(_SPACES)
    return bool(_SPECIAL.fullmatch(word)) or (
        bare != "" and all(unicodedata.category(character)[0] == "P" for character in bare)
    )


def width(text: str) -> int:
    """How many cells of a terminal the text fills: two for a wide character, none for an accent of its own.

    What terminals do with an emoji of several characters differs; this is what those that join them do.
    """
    return sum(_cells(cluster) for cluster in clusters(text))


def _cells(cluster: str) -> int:
    kind = unicodedata.category(cluster[0])
    if (_AS_EMOJI in cluster and kind[0] != "L") or (kind == "So" and any(map(_joins, cluster[1:]))):
        return 2
    return sum(_cell(character) for character in cluster)


def _cell(character: str) -> int:
    if character in _WITHOUT_WIDTH or unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clusters(text: str) -> list[str]:
    """The text letter by letter, each with the accents and vowel signs that belong to it; emoji are letters."""
    found: list[str] = []
    for character in text:
        if found and _belongs(character, found[-1]):
            found[-1] += character
        else:
            found.append(character)
    return found


def _belongs(character: str, cluster: str) -> bool:
    """Whether a character is part of what stands before it."""
    if character in _JOINERS or unicodedata.category(character) in {"Mn", "Me", "Mc"}:
        return True
    if _is_flag_letter(character):  # two of them make a flag
        return len(cluster) == 1 and _is_flag_letter(cluster)
    pictures = unicodedata.category(cluster[0]) == "So"
    return pictures and (_joins(character) or (cluster[-1] == _ZWJ and unicodedata.category(character) == "So"))


def _joins(character: str) -> bool:
    """Whether a character changes the emoji before it: skin tones, and the other half of a flag or a family."""
    return "\U0001f3fb" <= character <= "\U0001f3ff" or character == _ZWJ or _is_flag_letter(character)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def kept_in_order(text: str) -> str:
    """The text, such that numbers behind a word written from right to left stay behind it.

    Terminals and editors that know of writing directions would put them before it.
    """
    backwards = any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text)
    return text + _LEFT_TO_RIGHT if backwards else text


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

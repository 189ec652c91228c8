"""Text for display: control characters made visible, widths measured in terminal cells."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

__all__ = [
    "clip",
    "clusters",
    "is_mark",
    "kept_in_order",
    "numbered",
    "pad_left",
    "percent",
    "runs_left",
    "visible",
    "width",
]

_JOINERS = "\u200c\u200d"  # Persian, Indic scripts and emoji need them
_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SPECIAL = re.compile(r"</?(bos|eos|sos|s|pad|source|cls|sep|mask)>")
_SPACES = "▁Ġ_"  # how tokenizers mark the space before a subword
_ZWJ, _AS_EMOJI = "\u200d", "\ufe0f"
_LEFT_TO_RIGHT = "\N{LEFT-TO-RIGHT MARK}"
_WITHOUT_WIDTH = _JOINERS + _LEFT_TO_RIGHT


def visible(text: str) -> str:
    """Return the text with control and format characters replaced by visible characters.

    Text comes from models and untrusted users. An escape sequence could rewrite the terminal, and a direction override
    could reorder a page. So ESC becomes ␛, a line break ␊, and a control character without a symbol �. A text of only
    spaces becomes as many ␣.
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
    if code & 0xFFFE == 0xFFFE:  # Unicode noncharacters, of which XML forbids U+FFFE and U+FFFF
        return _UNKNOWN
    return _UNKNOWN if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} else character


def is_mark(word: str) -> bool:
    """Return True for an attention sink: a special token such as <eos>, or punctuation alone.

    Models often attend to these when no word is relevant, so figures set them apart.
    """
    bare = word.strip(_SPACES)
    return bool(_SPECIAL.fullmatch(word)) or (
        bare != "" and all(unicodedata.category(character)[0] == "P" for character in bare)
    )


def width(text: str) -> int:
    """Return the text's width in terminal cells: two for a wide character, none for a combining mark.

    Terminals differ on emoji of several characters; this is the width in terminals that join them.
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
    """Split the text into letters with their combining marks, and emoji with all their characters."""
    found: list[str] = []
    for character in text:
        if found and _belongs(character, found[-1]):
            found[-1] += character
        else:
            found.append(character)
    return found


def _belongs(character: str, cluster: str) -> bool:
    """Return True if a character belongs to the cluster before it."""
    if character in _JOINERS or unicodedata.category(character) in {"Mn", "Me", "Mc"}:
        return True
    if _is_flag_letter(character):  # two of them make a flag
        return len(cluster) == 1 and _is_flag_letter(cluster)
    is_emoji = unicodedata.category(cluster[0]) == "So"
    return is_emoji and (_joins(character) or (cluster[-1] == _ZWJ and unicodedata.category(character) == "So"))


def _joins(character: str) -> bool:
    """Return True if a character modifies the emoji before it: a skin tone, a joiner or a flag letter."""
    return "\U0001f3fb" <= character <= "\U0001f3ff" or character == _ZWJ or _is_flag_letter(character)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def kept_in_order(text: str) -> str:
    """Append a left-to-right mark to right-to-left text, so that a number after it stays after it.

    Bidirectional terminals and editors would put the number before it.
    """
    backwards = any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text)
    return text + _LEFT_TO_RIGHT if backwards else text


def clip(text: str, cells: int) -> str:
    """Cut the text to at most `cells` cells, with … at the end if it was longer."""
    if width(text) <= cells:
        return text
    kept = ""
    for cluster in clusters(text):
        if width(kept) + width(cluster) > cells - 1:
            break
        kept += cluster
    return kept + "…" if cells > 0 else ""


def pad_left(text: str, cells: int) -> str:
    """Pad the text on the left to `cells` cells."""
    return " " * (cells - width(text)) + text


def numbered(words: Iterable[str]) -> list[str]:
    """Return the words, with repeated ones numbered: the₁ cat and the₂ dog."""
    words = list(words)
    seen: dict[str, int] = {}
    names = []
    for word in words:
        seen[word] = seen.get(word, 0) + 1
        names.append(word if words.count(word) == 1 else word + str(seen[word]).translate(_SUBSCRIPTS))
    return names


def runs_left(texts: Iterable[str]) -> bool:
    """Return True if most letters run from right to left; then lines of these words do too."""
    kinds = [unicodedata.bidirectional(character) for text in texts for character in text]
    return sum(kind in {"R", "AL"} for kind in kinds) > kinds.count("L")


def percent(weight: float) -> str:
    """Format a weight as a percentage: 0.974 -> "97 %"."""
    return f"{100 * weight:z.0f} %"

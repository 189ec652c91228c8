"""Arabic shaping and right-to-left ordering, for renderers that draw letters one by one from left to right.

The form of an Arabic letter depends on its neighbors. Unicode encodes these forms as presentation forms; `_table`
is built from their decompositions. This is enough for single words and short phrases in Arabic, Persian,
Urdu and Hebrew, not for nested quotations in several directions.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import groupby

from saccade.look.text_width import clusters

__all__ = ["shaped"]

_ALEFS = "\u0622\u0623\u0625\u0627"
"""The alefs that form a ligature with lam: with madda, with hamza above or below, plain."""
_FORMS = [*range(0xFB50, 0xFDF0), *range(0xFE70, 0xFEFD)]
_LAM = "\u0644"
_STRETCH, _JOINER, _APART = "\u0640", "\u200d", "\u200c"
_BRACKETS = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")


def shaped(text: str) -> str:
    """Return the letters of a text in visual order from left to right, with Arabic letters in their joined forms."""
    if not any(_backwards(character) for character in text):
        return text
    joined = _joined(text)
    strong = (character for character in joined if unicodedata.bidirectional(character) in {"R", "AL", "L"})
    leftward = _backwards(next(strong))  # the first letter sets the direction of the whole text
    runs = groupby(zip(_directions(joined, leftward), joined, strict=True), key=lambda pair: pair[0])
    turned = [(_turned if left else str)("".join(letter for _, letter in run)) for left, run in runs]
    return "".join(reversed(turned) if leftward else turned)


def _backwards(character: str) -> bool:
    return unicodedata.bidirectional(character) in {"R", "AL"}


def _directions(text: str, leftward: bool) -> list[bool]:
    """Return for each character whether it is written from right to left.

    A combining mark has the direction of its letter. A neutral character, such as a space, has that of its neighbors if
    they agree, else that of the text.
    """
    found: list[bool | None] = []
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind == "NSM" and found:
            found.append(found[-1])
        else:
            found.append({"R": True, "AL": True, "L": False, "EN": False, "AN": False}.get(kind))
    known: list[bool] = []
    for place, direction in enumerate(found):
        before = next((known[p] for p in range(place - 1, -1, -1) if found[p] is not None), leftward)
        after = next((d for d in found[place:] if d is not None), leftward)
        known.append(direction if direction is not None else before if before == after else leftward)
    return known


def _turned(run: str) -> str:
    return "".join(reversed(clusters(run))).translate(_BRACKETS)


@cache
def _table() -> dict[str, dict[str, str]]:
    """Return the forms of each letter, and of lam with alef, by name: isolated, final, initial, medial."""
    table: dict[str, dict[str, str]] = {}
    for code in _FORMS:
        name, *letters = unicodedata.decomposition(chr(code)).split() or [""]
        base = "".join(chr(int(letter, 16)) for letter in letters)
        if len(base) == 1 or (len(base) == 2 and base[0] == _LAM and base[1] in _ALEFS):
            table.setdefault(base, {})[name.strip("<>")] = chr(code)
    return table


def _joined(text: str) -> str:
    """Replace each Arabic letter by the form that its neighbors require."""
    letters = _with_ligatures(text)
    found = []
    for place, letter in enumerate(letters):
        forms = _table().get(letter, {})
        before = _neighbour(letters[:place][::-1])
        after = _neighbour(letters[place + 1 :])
        ahead = "initial" in forms and _takes(after)
        behind = "final" in forms and _gives(before)
        form = {(True, True): "medial", (True, False): "final", (False, True): "initial"}.get(
            (behind, ahead), "isolated"
        )
        found.append(forms.get(form, letter))
    return "".join(found).replace(_JOINER, "").replace(_APART, "")


def _with_ligatures(text: str) -> list[str]:
    """Split the text into characters, with lam and a following alef as one."""
    found: list[str] = []
    for character in text:
        if found and found[-1] == _LAM and _LAM + character in _table():
            found[-1] += character
        else:
            found.append(character)
    return found


def _neighbour(letters: list[str]) -> str:
    """Return the first letter; skip combining marks, since they do not interrupt joining."""
    return next((letter for letter in letters if unicodedata.category(letter[0]) != "Mn"), "")


def _gives(letter: str) -> bool:
    """Return True if a letter joins the next one."""
    return letter in {_STRETCH, _JOINER} or "initial" in _table().get(letter, {})


def _takes(letter: str) -> bool:
    """Return True if a letter joins the previous one."""
    return letter in {_STRETCH, _JOINER} or "final" in _table().get(letter, {})

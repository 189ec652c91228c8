"""Text for those who draw letters one after the other from the left: joined and turned round as its readers expect.

Arabic letters change with their neighbours. Unicode keeps the four forms of each as letters of their own, for
programs that cannot choose themselves; the table below is made from what it says about those. This is enough for
single words and short phrases in Arabic, Persian, Urdu and Hebrew, not for nested quotations in several directions.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import groupby

from saccade.look.words import clusters

__all__ = ["shaped"]

_ALEFS = "\u0622\u0623\u0625\u0627"
"""Those that lam must be joined with: plain, with madda, with hamza above or below; fonts have these ligatures."""
_FORMS = [*range(0xFB50, 0xFDF0), *range(0xFE70, 0xFEFD)]
_LAM = "\u0644"
_STRETCH, _JOINER, _APART = "\u0640", "\u200d", "\u200c"
_BRACKETS = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")


def shaped(text: str) -> str:
    """The letters of a text in the order and form in which to draw them from left to right."""
    if not any(_backwards(character) for character in text):
        return text
    joined = _joined(text)
    strong = (character for character in joined if unicodedata.bidirectional(character) in {"R", "AL", "L"})
    leftward = _backwards(next(strong))  # the first letter decides which way the whole text runs
    runs = groupby(zip(_directions(joined, leftward), joined, strict=True), key=lambda pair: pair[0])
    turned = [(_turned if left else str)("".join(letter for _, letter in run)) for left, run in runs]
    return "".join(reversed(turned) if leftward else turned)


def _backwards(character: str) -> bool:
    return unicodedata.bidirectional(character) in {"R", "AL"}


def _directions(text: str, leftward: bool) -> list[bool]:
    """For each character whether it runs to the left. A vowel sign does as its letter, a space as both its sides."""
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
    """For each letter, or lam with an alef, its forms by name: isolated, final, initial, medial."""
    table: dict[str, dict[str, str]] = {}
    for code in _FORMS:
        name, *letters = unicodedata.decomposition(chr(code)).split() or [""]
        base = "".join(chr(int(letter, 16)) for letter in letters)
        if len(base) == 1 or (len(base) == 2 and base[0] == _LAM and base[1] in _ALEFS):
            table.setdefault(base, {})[name.strip("<>")] = chr(code)
    return table


def _joined(text: str) -> str:
    """Each Arabic letter in the form its neighbours ask for."""
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
    """The characters, lam and a following alef as one."""
    found: list[str] = []
    for character in text:
        if found and found[-1] == _LAM and _LAM + character in _table():
            found[-1] += character
        else:
            found.append(character)
    return found


def _neighbour(letters: list[str]) -> str:
    """The nearest that is no vowel sign: letters join below and above those."""
    return next((letter for letter in letters if unicodedata.category(letter[0]) != "Mn"), "")


def _gives(letter: str) -> bool:
    """Whether a letter joins the one behind it."""
    return letter in {_STRETCH, _JOINER} or "initial" in _table().get(letter, {})


def _takes(letter: str) -> bool:
    """Whether a letter joins the one before it."""
    return letter in {_STRETCH, _JOINER} or "final" in _table().get(letter, {})

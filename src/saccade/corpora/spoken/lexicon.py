"""lexicon: how words are pronounced. Regular forms come from base forms, compounds from their parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from saccade.corpora.spoken.words import LETTERS, WORDS
from saccade.errors import DataError

__all__ = ["pronounce"]

_HISSING = ("s", "z", "S", "Z", "tS", "dZ")
_VOICELESS = ("p", "t", "k", "f", "T")


@lru_cache(maxsize=8192)
def pronounce(word: str) -> str:
    """Return the phones of a word in X-SAMPA; raise DataError for one that is neither in the lexicon nor regular."""
    found = _pronounced(word)
    if found is None:
        raise DataError(
            f"the formant voices cannot pronounce {word!r}: they know the words of the built-in corpora alone. Use "
            "other words, or the voices of espeak."
        )
    return found


def _pronounced(word: str) -> str | None:
    if word in WORDS:
        return WORDS[word]
    if len(word) == 1 and "a" <= word <= "z":
        return LETTERS[ord(word) - ord("a")]
    for ending, lengthen in (("'s", _plural), ("ing", _ing), ("ed", _past), ("er", _agent), ("s", _plural)):
        if word.endswith(ending):
            for base in _bases(word.removesuffix(ending)):
                if base in WORDS:
                    return lengthen(WORDS[base])
    parts = word.split("-")
    if len(parts) > 1 and (spoken := [_pronounced(part) for part in parts]) and None not in spoken:
        return "".join(part if "'" in part else re.sub(_VOWEL, r"'\1", part, count=1) for part in spoken if part)
    return None


_VOWEL = r"(eI|aI|OI|aU|oU|[iIEaAOUuV3@])"


def _bases(stem: str) -> Iterator[str]:
    """Yield the base forms that a stem may come from: stopp, stop; clos, close; carri, carry; box(e)."""
    yield stem
    yield f"{stem}e"
    if len(stem) > 2 and stem[-1] == stem[-2]:
        yield stem[:-1]
    if stem.endswith("ie"):
        yield f"{stem[:-2]}y"
    if stem.endswith("i"):
        yield f"{stem[:-1]}y"
    if stem.endswith("e"):
        yield stem[:-1]


def _plural(phones: str) -> str:
    if phones.endswith(_HISSING):
        return f"{_marked(phones)}Iz"
    return f"{phones}{'s' if phones.endswith(_VOICELESS) else 'z'}"


def _past(phones: str) -> str:
    if phones.endswith(("t", "d")):
        return f"{_marked(phones)}Id"
    return f"{phones}{'t' if phones.endswith((*_VOICELESS, 's', 'S')) else 'd'}"


def _ing(phones: str) -> str:
    return f"{_marked(phones)}IN"


def _agent(phones: str) -> str:
    return f"{_marked(phones)}3"


def _marked(phones: str) -> str:
    """Mark the stress of a word that grows beyond one syllable."""
    return phones if "'" in phones else re.sub(_VOWEL, r"'\1", phones, count=1)

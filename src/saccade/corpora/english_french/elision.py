"""How French words change before the next word: l' for le, du for de le, cet for ce, bel for beau.

The grammar writes full forms, with capitals for words that are ambiguous in lower case: `LE LA LES` (articles; the
pronouns `le la les` never contract to `du`), `CE` (this), `MA SA`, `BEAU NOUVEAU VIEUX` (before a noun).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from saccade.corpora.english_french.words import Source, Target

__all__ = ["join", "vowel"]

Written = tuple[str, "tuple[Source, ...]", "tuple[Source, ...]"]

_VOWELS = frozenset("aeiouâàéèêëîïôûùœæAEIOUÉÈÊÎÔŒ")
_ELIDED = {"LE": "l'", "LA": "l'", "le": "l'", "la": "l'", "je": "j'", "me": "m'", "se": "s'", "ne": "n'", "de": "d'"}
_ELIDED |= {"que": "qu'", "CE": "cet", "MA": "mon", "SA": "son", "BEAU": "bel", "NOUVEAU": "nouvel", "VIEUX": "vieil"}
_WHOLE = {word: word.lower() for word in ("LE", "LA", "LES", "CE", "MA", "SA", "BEAU", "NOUVEAU", "VIEUX")}
_MELTED = {("de", "LE"): "du", ("de", "LES"): "des", ("à", "LE"): "au", ("à", "LES"): "aux"}
# Words with an aspirated h, which blocks elision, and two numbers that block it too.
_ASPIRATED = (
    "héros haricot haricots hibou hiboux hérisson hérissons hache haches harpe harpes hameau hameaux haut haute hauts "
    "hautes Hongrie Hambourg huit huitième haine hongrois hongroise hongroises onze onzième harengs hamac hamacs"
)
_known: dict[str, bool] = dict.fromkeys(_ASPIRATED.split(), False)


def vowel(word: str) -> bool:
    """Return whether a French word begins with a vowel sound, so that the word before it is elided."""
    known = _known.get(word)
    if known is None:
        known = _known[word] = word[0] in _VOWELS or word[0] in "hH" or word == "y"
    return known


def join(words: list[Target]) -> list[Written]:
    """Apply elision and contraction; each written word has the links of all words that it contains."""
    written: list[Written] = []
    last = len(words) - 1
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
            continue
        text = word.text
        if place < last:
            following = words[place + 1]
            after = following.text
            if text in _ELIDED and vowel(after):
                text = _ELIDED[text]
            elif text == "si" and after in ("il", "ils"):
                text = "s'"
            elif (text, after) in _MELTED and (after == "LES" or place + 1 == last or not vowel(words[place + 2].text)):
                text = _MELTED[text, after]
                written.append((text, word.sure + following.sure, word.maybe + following.maybe))
                skip = True
                continue
        written.append((_WHOLE.get(text, text), word.sure, word.maybe))
    return written

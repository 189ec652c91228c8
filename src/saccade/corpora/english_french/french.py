"""French forms: plurals, feminines, numbers."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FrenchAdjective", "adjective", "number", "plural"]

_PLURALS = {
    "festival": "festivals",
    "eu": "eus",
    "hibou": "hiboux",
    "bijou": "bijoux",
    "grand-mère": "grands-mères",
    "grand-père": "grands-pères",
}
_FEMININES = {
    "blanc": "blanche",
    "long": "longue",
    "gros": "grosse",
    "beau": "belle",
    "vieux": "vieille",
    "nouveau": "nouvelle",
    "bon": "bonne",
    "gentil": "gentille",
    "public": "publique",
    "sec": "sèche",
    "frais": "fraîche",
    "secret": "secrète",
    "complet": "complète",
    "inquiet": "inquiète",
    "jaloux": "jalouse",
    "doux": "douce",
    "marron": "marron",
    "actif": "active",
}
_BEFORE_VOWEL = {"beau": "BEAU", "nouveau": "NOUVEAU", "vieux": "VIEUX"}


def plural(word: str) -> str:
    """Return the plural of a noun or masculine adjective: gâteau -> gâteaux, journal -> journaux, prix -> prix."""
    if word in _PLURALS:
        return _PLURALS[word]
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith(("eau", "au", "eu")) and word not in ("bleu", "pneu") else "s")


class FrenchAdjective(NamedTuple):
    """Four forms; `before` is the masculine singular before a noun, which may change before a vowel."""

    masculine: str
    feminine: str
    masculines: str
    feminines: str
    before: str

    def form(self, feminine: bool, plural: bool) -> str:
        """Return the form that agrees."""
        if plural:
            return self.feminines if feminine else self.masculines
        return self.feminine if feminine else self.masculine


def adjective(masculine: str) -> FrenchAdjective:
    """Return all forms of an adjective or participle."""
    feminine = _FEMININES.get(masculine) or _feminine(masculine)
    if masculine == "marron":  # invariable
        return FrenchAdjective(*[masculine] * 5)
    return FrenchAdjective(
        masculine, feminine, plural(masculine), feminine + "s", _BEFORE_VOWEL.get(masculine, masculine)
    )


def _feminine(masculine: str) -> str:
    if masculine.endswith("e"):
        return masculine
    for ending, feminine in (
        ("eux", "euse"),
        ("er", "ère"),
        ("en", "enne"),
        ("el", "elle"),
        ("f", "ve"),
        ("eur", "euse"),
    ):
        if masculine.endswith(ending):
            return masculine[: -len(ending)] + feminine
    return masculine + "e"


def number(value: int, feminine: bool = False) -> str:
    """Write 1 to 99 in words: `vingt et une`, `soixante-dix`, `quatre-vingts`, `quatre-vingt-onze`; `une` agrees."""
    if value <= 16:
        return "une" if value == 1 and feminine else _SMALL[value]
    if value < 20:
        return f"dix-{_SMALL[value - 10]}"
    if value == 80:
        return "quatre-vingts"
    ten, one = divmod(value, 10)
    if ten in (7, 9):
        ten, one = ten - 1, one + 10
    if one == 0:
        return _TENS[ten]
    if one in (1, 11) and ten != 8:
        return f"{_TENS[ten]} et {number(one, feminine)}"
    return f"{_TENS[ten]}-{number(one, feminine)}"


_UNITS = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize"
_SMALL = _UNITS.split()
_TENS = ["", "dix", "vingt", "trente", "quarante", "cinquante", "soixante", "", "quatre-vingt", ""]

"""Invented names, made of syllables.

There are hundreds of thousands of first names and millions of the others, so nearly every article has names of its
own. A stable hash of a name decides its split, whatever the seed. So a name of validation or test never occurs in
training, and the only way to write it is to copy it.
"""

from __future__ import annotations

from hashlib import blake2b

from saccade.corpora.stream import Dice

__all__ = ["Names"]

# Names begin with a consonant, so that "a" before one is right, and no syllables make an unpleasant word.
_ONSETS = ("b", "br", "d", "dr", "j", "k", "kr", "l", "m", "n", "pr", "r", "s", "st", "t", "tr", "v", "th")
_VOWELS = ("a", "e", "i", "o", "u")
_CLOSES = ("", "", "n", "r", "l", "m", "s")
_FIRST_ENDS = ("n", "l", "ra", "na", "ris", "do", "nia", "lio", "vik", "lo", "mar", "sta")
_LAST_ENDS = ("ov", "sen", "ano", "ell", "ard", "ic", "ez", "mann", "ski", "vall", "ero", "sson", "ault", "ette")
_PLACE_ENDS = ("ford", "stad", "mouth", "ville", "berg", "holm", "wick", "port", "minster", "dale")
_FIRM_ENDS = ("ex", "on", "ix", "ora", "tron", "ico", "ax", "eon")
_THING_ENDS = ("a", "en", "or", "is", "ul", "am")


class Names:
    """Draws names of one split."""

    def __init__(self, split: str, dice: Dice) -> None:
        self._split, self._dice = split, dice

    def first(self) -> str:
        """Return the first name of a person."""
        return self._draw(_FIRST_ENDS, ("",))

    def last(self) -> str:
        """Return the last name of a person."""
        return self._draw(_LAST_ENDS)

    def place(self) -> str:
        """Return the name of a town."""
        return self._draw(_PLACE_ENDS)

    def firm(self) -> str:
        """Return the name of a business."""
        return self._draw(_FIRM_ENDS)

    def thing(self) -> str:
        """Return the name of a river, a storm, a prize or a building."""
        return self._draw(_THING_ENDS)

    def _draw(self, ends: tuple[str, ...], closes: tuple[str, ...] = _CLOSES) -> str:
        """Join two syllables and an end; `closes`: how the second syllable may close."""
        pick = self._dice.pick
        while True:
            start = pick(_ONSETS) + pick(_VOWELS) + pick(_CLOSES) + pick(_ONSETS) + pick(_VOWELS) + pick(closes)
            end = pick(ends)
            joint = "v" if end[0] in _VOWELS and start[-1] in _VOWELS else ""  # Belavex, not Belaex
            name = (start + joint + end).capitalize()
            if _split(name) == self._split:
                return name


def _split(name: str) -> str:
    number = blake2b(name.encode(), digest_size=1).digest()[0] & 3
    return {0: "valid", 1: "test"}.get(number, "train")

"""Words of a sentence pair with their alignment.

A `Source` is one English word of one sentence. A `Target` is a French word, with references to the English words that
it translates. Phrases are two lists of these, joined in any order. `Pair.example` numbers the words and returns the
links.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from saccade.corpora.english_french.elision import join
from saccade.data.example import Example, Links

__all__ = ["Pair", "Phrase", "Source", "Target", "Who", "fixed", "sources", "with_article"]

_AN = frozenset("aeiouAEIOU")
_SOUNDS_LIKE_CONSONANT = ("uni", "use", "Euro", "one", "euro")
_SOUNDS_LIKE_VOWEL = ("hour", "honest")


class Source:
    """An English word."""

    __slots__ = ("place", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = -1


class Target:
    """A French word, with the English words of its sure links and those of its merely possible links."""

    __slots__ = ("maybe", "sure", "text")

    def __init__(self, text: str, sure: tuple[Source, ...] = (), maybe: tuple[Source, ...] = ()) -> None:
        self.text = text
        self.sure = sure
        self.maybe = maybe


class Who(NamedTuple):
    """Person, number and gender, with which verbs, participles and adjectives agree."""

    person: int = 3
    plural: bool = False
    feminine: bool = False

    @property
    def form(self) -> int:
        """Index into the six forms of a tense: je tu il nous vous ils."""
        return self.person - 1 + 3 * self.plural


class Phrase:
    """A part of a sentence in both languages."""

    __slots__ = ("source", "target")

    def __init__(self, source: list[Source], target: list[Target]) -> None:
        self.source = source
        self.target = target

    def __len__(self) -> int:
        return len(self.source)

    def add(self, other: Phrase) -> None:
        """Append another phrase in both languages."""
        self.source += other.source
        self.target += other.target


class Pair:
    """A sentence and its translation, before its length and split are checked."""

    __slots__ = ("_phrase", "_words", "length", "target")

    def __init__(self, phrase: Phrase) -> None:
        self._phrase = phrase
        self._words = join(phrase.target)
        self.length = len(phrase.source)
        self.target = " ".join([text for text, _, _ in self._words])

    @property
    def source(self) -> str:
        """The English text."""
        return " ".join(with_article([word.text for word in self._phrase.source]))

    def example(self) -> Example:
        """Return the texts and their gold links."""
        for place, word in enumerate(self._phrase.source):
            word.place = place
        sure = {(word.place, place) for place, (_, words, _) in enumerate(self._words) for word in words}
        maybe = {(word.place, place) for place, (_, _, words) in enumerate(self._words) for word in words}
        return Example(self.source, self.target, links=Links(frozenset(sure), frozenset(maybe - sure)))


def with_article(words: list[str]) -> list[str]:
    """Replace `a` by `an`, in place, where the next English word begins with a vowel sound."""
    for place, word in enumerate(words):
        if word == "a" and _vowel_sound(words[place + 1]):
            words[place] = "an"
    return words


def _vowel_sound(word: str) -> bool:
    if word[0] in _AN:
        return not word.startswith(_SOUNDS_LIKE_CONSONANT)
    return word.startswith(_SOUNDS_LIKE_VOWEL)


def sources(text: str) -> list[Source]:
    """Return new English words."""
    return [Source(word) for word in text.split()]


def fixed(english: str, french: str, links: str = "") -> Phrase:
    """Return a fixed phrase. Links are `0-0 1-2P`; by default words pair in order, extra words with the last."""
    source = sources(english)
    words = french.split()
    sure: list[list[Source]] = [[] for _ in words]
    maybe: list[list[Source]] = [[] for _ in words]
    for english_place, french_place, possible in _links(links, len(source), len(words)):
        (maybe if possible else sure)[french_place].append(source[english_place])
    return Phrase(source, [Target(word, tuple(sure[i]), tuple(maybe[i])) for i, word in enumerate(words)])


def _links(links: str, english: int, french: int) -> Iterable[tuple[int, int, bool]]:
    if links:
        for link in links.split():
            source, target = link.rstrip("P").split("-")
            yield int(source), int(target), link.endswith("P")
    else:
        for place in range(max(english, french)):
            yield min(place, english - 1), min(place, french - 1), False

"""reading: English sentences in which a late word depends on a much earlier one.

    the keys that the man near the cabinets holds are old .

A language model has to attend far back: `holds` agrees with the man, not with the cabinets, and `are` with the keys.
Nouns of the other number in between are distractors. Reflexives (the girl ... herself), pairs (either ... or,
both ... and, if ... then) and people named again at the end also depend on earlier words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from saccade.corpora.english_french import english
from saccade.corpora.english_french.words import with_article
from saccade.corpora.stream import Dice, stream
from saccade.data.example import Example, Link, Links

__all__ = ["reading"]


def reading(
    split: str, size: int | None, seed: int = 1, *, min_length: int = 3, max_length: int = 20
) -> Iterator[Example]:
    """Generate sentences as `target`, with gold links (earlier word, later word that it determines) within it.

    `size` None never ends. Lengths count words, the final period included, and are uniformly distributed. The same
    arguments give the same sentences, and a larger size only appends to them. Splits share no sentence.
    """
    return stream("reading", _writer, split, size, seed, min_length, max_length)


def _writer(dice: Dice) -> Callable[[int], _Line | None]:
    return _Writer(dice)


_MEN = "man boy king brother father uncle son grandfather"
_WOMEN = "woman girl queen sister mother aunt daughter grandmother"
_PEOPLE = "doctor teacher student farmer writer singer judge soldier sailor neighbour friend lawyer painter visitor"
_OBJECTS = "key box chair letter book lamp map bottle coat basket ring picture knife clock drawer flower"
_PLACES = "house garden bridge tower cabinet window river castle church station table tree wall door market school"
_NAMES = {
    "him": "Paul Thomas Robert David Peter Henry Martin Simon",
    "her": "Anna Maria Julia Clara Helen Laura Susan Emma",
}

_PERSON_ADJECTIVES = "old young tall happy tired clever famous quiet rich honest curious patient proud angry"
_THING_ADJECTIVES = "old new large small heavy beautiful expensive dirty broken strange useful white red green empty"
_ACTS = "sleep laugh sing dance swim travel work smile wait walk listen hesitate"
_HAPPENINGS = "fall disappear burn shine rot"
_TO_THINGS = "hold carry paint repair buy sell find keep clean draw break hide"
_TO_PEOPLE = "see help follow know admire thank watch visit remember teach call meet"
_TO_ONESELF = "see admire hurt watch help wash praise blame"
_ADVERBS = "often rarely sometimes always never"
_LATELY = "today now again here outside quietly slowly alone"
_BETWEEN = "near behind beside"
_DETERMINERS = "the the the the this our"


class _Noun(NamedTuple):
    one: str
    many: str
    kind: str  # person, object, place
    oneself: str  # himself, herself, or empty if the noun shows no gender


class _Head(NamedTuple):
    """The word that a verb or a reflexive agrees with."""

    place: int
    plural: bool
    kind: str
    oneself: str


def _nouns(words: str, kind: str, oneself: str) -> list[_Noun]:
    return [_Noun(word, english.plural(word), kind, oneself) for word in words.split()]


_PERSONS = _nouns(_MEN, "person", "himself") + _nouns(_WOMEN, "person", "herself") + _nouns(_PEOPLE, "person", "")
_NOUNS = {"person": _PERSONS, "object": _nouns(_OBJECTS, "object", ""), "place": _nouns(_PLACES, "place", "")}
_VERBS = {
    name: [english.verb(base) for base in bases.split()]
    for name, bases in {
        "act": _ACTS,
        "happen": _HAPPENINGS,
        "thing": _TO_THINGS,
        "person": _TO_PEOPLE,
        "self": _TO_ONESELF,
    }.items()
}
_ADJECTIVES = {"person": _PERSON_ADJECTIVES.split(), "object": _THING_ADJECTIVES.split()}
_ADJECTIVES["place"] = _ADJECTIVES["object"]
_KNOWN = [(name, oblique) for oblique, names in _NAMES.items() for name in names.split()]
_WORDS = {name: words.split() for name, words in {"often": _ADVERBS, "now": _LATELY, "near": _BETWEEN}.items()}
_TIMES = ("today", "now", "again")
_THE = _DETERMINERS.split()
_JOINTS = (", and", ", but", ";", ", while", ", yet")


class _Line:
    """A sentence under construction."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.links: list[Link] = []

    @property
    def length(self) -> int:
        return len(self.words)

    @property
    def target(self) -> str:
        return " ".join(with_article(self.words))

    def example(self) -> Example:
        return Example(target=self.target, links=Links(frozenset(self.links)))

    def say(self, text: str) -> int:
        """Append some words, and return the position of the last."""
        self.words += text.split()
        return len(self.words) - 1

    def answer(self, head: _Head, one: str, many: str) -> None:
        """Append a word in the form that an earlier word determines, and link the two."""
        self.links.append((head.place, self.say(many if head.plural else one)))


class _Writer(Dice):
    """Writes sentences. `n` is always the requested number of words."""

    line: _Line

    def __call__(self, n: int) -> _Line:
        self.line = _Line()
        self._sentence(n - 1)
        self.line.say(".")
        return self.line

    def _sentence(self, n: int) -> None:
        """Write one unit, or several in a row."""
        units = 1 if n < 14 or (n <= 24 and self.chance(0.5)) else max(2, round(n / self.between(10, 20)))
        for left in range(units, 0, -1):
            room = n - self.line.length
            self._unit(room if left == 1 else max(3, room // left + self.between(-2, 2) - 1))
            if left > 1:
                if n - self.line.length < 6:
                    break
                self.line.say(self.pick(_JOINTS))

    def _unit(self, n: int) -> None:
        chance = self.random()
        if n >= 8 and chance < 0.12:
            self._pair(n, "if", ", then")
        elif n >= 8 and chance < 0.24:
            self._pair(n, "either", ", or")
        elif n >= 6 and chance < 0.36:
            self._both(n)
        elif n >= 9 and chance < 0.5:
            self._comes_back(n)
        else:
            self._clause(n)

    def _clause(self, n: int) -> None:
        size = 1 if n <= 2 else self.between(2, n - 1) if n <= 6 else self.between(n // 3, n - 2)
        start = self.line.length
        head = self._noun_phrase(min(size, 14), self.pick(("person", "person", "object")))
        self._predicate(n - (self.line.length - start), head)

    def _pair(self, n: int, first: str, second: str) -> None:
        """Write a pair such as `if ..., then ...`: the first word requires the second."""
        start = self.line.length
        opening = self.line.say(first)
        self._clause(self.between(3, n - 6))
        self.line.links.append((opening, self.line.say(second)))
        self._clause(max(2, n - (self.line.length - start)))

    def _both(self, n: int) -> None:
        """Write a sentence such as `both the king and the queen sleep`."""
        start = self.line.length
        kind = self.pick(("person", "person", "object"))
        opening = self.line.say("both")
        self._noun_phrase(self.between(2, max(2, n - 5)) if n < 14 else self.between(2, 8), kind)
        joint = self.line.say("and")
        self.line.links.append((opening, joint))
        self._noun_phrase(max(2, min(8, n - (self.line.length - start) - self.between(1, 4))), kind)
        self._predicate(n - (self.line.length - start), _Head(joint, True, kind, ""))

    def _comes_back(self, n: int) -> None:
        """Write a sentence that names people again: `Anna sees the man ..., so the man thanks Anna`."""
        start = self.line.length
        name, _ = self.pick(_KNOWN)
        known = self.line.say(name)
        self._verb("person", _Head(known, False, "person", ""))
        head = self._noun_phrase(max(2, n - 7), "person", plain_head=True)
        noun = self.line.words[head.place]
        self.line.say(", so the")
        again = _Head(self.line.say(noun), head.plural, "person", head.oneself)
        self.line.links.append((head.place, again.place))
        if n - (self.line.length - start) >= 3:
            self.line.say(self.pick(_WORDS["often"]))
        self._verb("person", again)
        self.line.links.append((known, self.line.say(name)))

    def _noun_phrase(self, n: int, kind: str, *, plain_head: bool = False, unlike: bool | None = None) -> _Head:
        """Write a noun and distractors after it; it mostly avoids the number `unlike` (True for plural)."""
        if n <= 1 and kind == "person" and not plain_head and self.chance(0.5):
            name, oblique = self.pick(_KNOWN)
            return _Head(self.line.say(name), False, "person", oblique + "self")
        noun = self._noun(kind)
        plural = self.chance(0.5) if unlike is None else (not unlike if self.chance(0.7) else unlike)
        if n <= 1:
            plural = True
        else:
            determiner = self.pick(_THE)
            self.line.say({"this": "these"}.get(determiner, determiner) if plural else determiner)
        tail = 0 if n < 5 else self.between(3, n - 2)
        if kind == "place" and tail < 4:  # no "near the house behind the trees"
            tail = 0
        if n - tail >= 3:
            self.line.say(self.pick(_ADJECTIVES[kind]))
        place = self.line.say(noun.many if plural else noun.one)
        head = _Head(place, plural, kind, "" if kind != "person" else "themselves" if plural else noun.oneself)
        if tail:
            self._behind(tail, head)
        return head

    def _noun(self, kind: str) -> _Noun:
        """Pick a noun; pick once more if it is already in the sentence."""
        noun = self.pick(_NOUNS[kind])
        words = self.line.words
        return self.pick(_NOUNS[kind]) if noun.one in words or noun.many in words else noun

    def _behind(self, n: int, head: _Head) -> None:
        """Write a preposition or a relative clause of n words, between a noun and its verb."""
        chance = self.random()
        if head.kind != "place" and (n < 4 or chance < 0.35):
            self.line.say(self.pick(_WORDS["near"]))
            self._noun_phrase(min(n - 1, 9), "place", unlike=head.plural)
        elif chance < 0.7 or head.kind == "place":
            start = self.line.length
            self.line.say("that" if head.kind != "person" else "whom")
            inner = self._noun_phrase(max(1, min(n - 2, 9)), "person", unlike=head.plural)
            if n - (self.line.length - start) >= 2:
                self.line.say(self.pick(_WORDS["often"]))
            self._verb("person" if head.kind == "person" else "thing", inner)
        else:
            self.line.say("that" if head.kind != "person" else "who")
            self._predicate(n - 1, head, unlike=head.plural)

    def _predicate(self, n: int, head: _Head, unlike: bool | None = None) -> None:
        """Write a verb that agrees with the head, and n - 1 more words."""
        start = self.line.length
        chance = self.random()
        if n <= 1:
            self._verb("act" if head.kind == "person" else "happen", head)
        elif n == 2 and head.oneself and chance < 0.3:
            self._oneself(head)
        elif n == 2 and head.kind == "person" and chance < 0.6:
            self._verb("act", head)
            self.line.say(self.pick(_WORDS["now"]))
        elif n == 2 or head.kind != "person":
            self.line.answer(head, "is", "are")
            self._described(n - 1, head.kind)
        elif head.oneself and chance < 0.3:
            self._oneself(head)
        elif chance < 0.45:
            self.line.answer(head, "is", "are")
            self._described(n - 1, "person")
        else:
            if n >= 5 and self.chance(0.3):
                self.line.say(self.pick(_WORDS["often"]))
            kind = self.pick(("thing", "person"))
            self._verb(kind, head)
            room = n - (self.line.length - start)
            self._noun_phrase(min(room, 10), "object" if kind == "thing" else "person", unlike=unlike)
        room = n - (self.line.length - start)
        if room >= 3:
            self.line.say(self.pick(_WORDS["near"]))
            self._noun_phrase(min(room - 1, 8), "place", unlike=head.plural)
        elif room >= 1:
            self.line.say(self.pick(_TIMES))

    def _described(self, n: int, kind: str) -> None:
        """Write the adjectives after `is` or `are`."""
        first, second = self.pick(_ADJECTIVES[kind]), self.pick(_ADJECTIVES[kind])
        self.line.say(f"{first} and {second}" if n >= 3 and first != second else first)

    def _oneself(self, head: _Head) -> None:
        self._verb("self", head)
        self.line.links.append((head.place, self.line.say(head.oneself)))

    def _verb(self, kind: str, head: _Head) -> None:
        verb = self.pick(_VERBS[kind])
        self.line.answer(head, verb.third, verb.base)

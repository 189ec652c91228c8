"""Noun phrases of a requested length: names, described nouns, owners, lists, prepositions, relative clauses."""

from __future__ import annotations

from saccade.corpora.english_french.adjectives import ORDINALS, PLURAL_ORDINALS, Adjective, adjectives
from saccade.corpora.english_french.describe import NounPhrase, describe
from saccade.corpora.english_french.namewriter import GROUP, PERSON, PLACE, NameWriter
from saccade.corpora.english_french.nouns import Noun, nouns
from saccade.corpora.english_french.words import Phrase, Source, Target, Who

__all__ = ["NounWriter"]

_OWN = ("my", "your", "his", "her", "our", "their")
_SINGULAR = ("the",) * 12 + ("a",) * 7 + ("this",) * 2 + ("*",) * 5 + ("every",)
_PLURAL = ("the",) * 10 + ("some",) * 5 + ("these",) * 2 + ("*",) * 3 + ("several", "many", "#", "#", "#", "#")
_MASS = ("the",) * 8 + ("some",) * 8 + ("this", "*", "*")
# Possible owners of a kind or noun; the default is all.
_OWNERS = {
    "group": ("our", "their"),
    "plan": ("our", "their", "your", "his"),
    "legal": ("our",),
    "event": ("our", "their"),
    "topic": ("our",),
    "place": ("our",),
    "husband": ("my", "your", "her"),
    "wife": ("my", "your", "his"),
}
_OWNED = frozenset(
    {"object", "clothes", "vehicle", "room", "animal", "text", "chief", "music", "fruit", "kin", "youth"}
)
_WILD = frozenset({"owl", "hedgehog", "wolf", "fox", "bird", "tree", "wall"})
_OWNED_NOUNS = frozenset(
    {"friend", "neighbour", "teacher", "doctor", "lawyer", "secretary", "student", "house", "office", "farm", "garden"}
)
_NUMBERS = (2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 11, 12, 15, 20)
_NUMEROUS = frozenset({"person", "youth", "animal", "text", "fruit", "building", "object", "chief"})
# Nouns used only in the singular.
_ONE = frozenset(
    {"mother", "father", "husband", "wife", "king", "queen", "government", "parliament", "army", "mayor", "president"}
)
_GROUPS = ("quality", "origin", "domain")

# Prepositions after a noun of a kind: English, French, the kinds of the noun after it ("@" for names).
_AFTER = {
    "person": (("from", "de", "@city"),),
    "kin": (("of", "de", "person"),),
    "chief": (("of", "de", "group"),),
    "group": (("in", "à", "@city"), ("of", "de", "@country")),
    "animal": (("of", "de", "person"),),
    "text": (
        ("about", "sur", "topic event"),
        ("about", "sur", "matter"),
        ("of", "de", "person"),
        ("on", "sur", "matter"),
    ),
    "legal": (
        ("on", "sur", "matter"),
        ("on", "sur", "matter"),
        ("between", "entre", "@countries"),
        ("of", "de", "@city"),
    ),
    "plan": (("of", "de", "group"), ("of", "de", "@country"), ("for", "pour", "matter")),
    "topic": (("of", "de", "group"), ("of", "de", "@country")),
    "event": (("in", "à", "@city"),),
    "talk": (("in", "à", "@city"), ("on", "sur", "matter"), ("about", "sur", "topic")),
    "object": (("of", "de", "person"), ("near", "près de", "building")),
    "vehicle": (("of", "de", "person"), ("in front of", "devant", "building")),
    "building": (("near", "près de", "building place"), ("in", "à", "@city")),
    "place": (("near", "près de", "parted"), ("near", "près de", "@city"), ("of", "de", "@country")),
}


class NounWriter(NameWriter):
    """Writes noun phrases. `n` is the requested number of English words; results have about as many, mostly exactly."""

    def relative(self, head: NounPhrase, n: int) -> Phrase | None:
        """Write a relative clause of about n words for this head."""
        raise NotImplementedError

    def noun_phrase(
        self,
        n: int,
        kinds: tuple[str, ...],
        *,
        subject: bool = False,
        negated: bool = False,
        loose: bool = True,
        flat: bool = False,
    ) -> NounPhrase:
        """Write a noun phrase of about n words, of one of these kinds.

        Without `loose` (after de and à), it does not begin with des or du, and it is not a list, which would have to
        repeat de and à. With `flat`, it has no relative clause.
        """
        if n <= 1:
            return self._short(kinds, subject, negated, loose)
        person = "person" in kinds
        if n == 2 and person and self.chance(0.1):
            return self.titled()
        if n >= 3 and "group" in kinds and self.chance(0.3):
            return self.institution()
        if n >= 5 and loose and not negated and self.chance(0.2 if n < 12 else 0.35):
            return self._list(n, kinds, flat)
        noun = self.pick(nouns(kinds))
        if n == 3 and person and loose and self.chance(0.15):
            return self._list(3, ("person",), flat)
        if noun.kind == "kin":
            return self._relation(n, noun, flat)
        if n >= 4 and self.chance(0.15) and _may_be_owned(noun):
            return self._owned(n, noun)
        if n <= 3 or (n == 4 and self.chance(0.4)):
            return self.described(n, noun, negated=negated, loose=loose)
        return self.extended(n, noun, negated=negated, loose=loose, flat=flat)

    def extended(
        self, n: int, noun: Noun, *, negated: bool = False, loose: bool = True, flat: bool = False
    ) -> NounPhrase:
        """Write a noun followed by a preposition or a relative clause."""
        tail = self.between(2, n - 2) if n < 9 else self.between(n // 2, n - 2)
        if not flat and self.chance(0.5):
            phrase = self.described(n - tail, noun, negated=negated, loose=loose)
            relative = self.relative(phrase, n - len(phrase))
            if relative is not None:
                phrase.add(relative)
                return phrase
        choices = _AFTER.get(noun.kind, ())
        if flat:  # other words will express the place
            choices = tuple(choice for choice in choices if choice[0] not in ("near", "in", "in front of"))
        if not choices:
            return self.described(min(n, 5), noun, negated=negated, loose=loose)
        preposition, translation, kinds = self.pick(choices)
        tail = max(tail, 2)
        after = self.after(preposition, translation, kinds, tail)
        room = 2 if kinds == "@country" else max(2, n - len(after))
        phrase = self.described(room, noun, negated=negated, loose=loose, owned=preposition != "of")
        phrase.add(after)
        return phrase

    def after(self, preposition: str, translation: str, kinds: str, n: int, flat: bool = False) -> Phrase:
        """Write a preposition and its noun, n words together."""
        words = [Source(word) for word in preposition.split()]
        if kinds == "@city":
            other: Phrase = self.city()
        elif kinds == "@country":
            other = self.country()
        elif kinds == "@countries":
            other = self.country()
            other.add(_and())
            other.add(self.country())
        else:
            loose = translation != "à" and not translation.endswith("de")
            other = self.noun_phrase(max(1, n - len(words)), tuple(kinds.split()), loose=loose, flat=flat)
        sure = tuple(words)
        return Phrase(words + other.source, [Target(word, sure) for word in translation.split()] + other.target)

    def described(
        self, n: int, noun: Noun, *, negated: bool = False, loose: bool = True, owned: bool = True
    ) -> NounPhrase:
        """Write determiner, numbers, adjectives and the noun: 2 to 5 words."""
        if noun.kind == "matter":
            return describe(noun, "", False, self.some_adjectives(noun, min(n - 1, 2), last=True))
        if noun.kind == "kin":
            return self._relation(n, noun, True)
        plural = not noun.mass and noun.english not in _ONE and self.chance(0.35)
        determiner = self.pick(_MASS if noun.mass else _PLURAL if plural else _SINGULAR)
        if determiner == "*" and owned:
            determiner = (
                self.pick(_OWNERS.get(noun.kind, _OWN)) if _may_be_owned(noun) or noun.kind in _OWNERS else "the"
            )
        person = noun.kind in ("person", "chief", "youth")
        odd = negated and (person or determiner not in ("a", "some", "the", "this"))
        if odd or (determiner in ("some", "many") and not loose) or (not owned and determiner not in ("the", "#")):
            determiner = "the"
        number = None
        room = n - 2
        if determiner == "#":
            number, determiner = self._number(noun), ""
        elif plural and determiner == "the" and room and self.chance(0.2):
            if self.chance(0.5):
                number = self.pick(_NUMBERS)
            else:
                determiner = "all the"
            room -= 1
        elif plural and room and determiner == "several" and self.chance(0.5):
            determiner = "a few"
            room -= 1
        if room and determiner == "the" and number is None and not noun.mass and self.chance(0.12):
            ordinals = ORDINALS if not plural else PLURAL_ORDINALS
            chosen = [self.pick(ordinals), *self.some_adjectives(noun, room - 1, last=True)]
        else:
            chosen = self.some_adjectives(noun, min(room, 3 if self.chance(0.1) else 2))
        return describe(noun, determiner, plural, chosen, number=number, negated=negated)

    def some_adjectives(self, noun: Noun, count: int, last: bool = False) -> list[Adjective]:
        """Pick up to `count` adjectives, in English order; with `last`, none that French puts before the noun."""
        if count <= 0:
            return []
        kind = frozenset({noun.kind})
        groups = [group for group in _GROUPS if adjectives(group, kind)]
        if not last and adjectives("size", kind) and (count > len(groups) or self.chance(0.5)):
            groups.insert(0, "size")
            while len(groups) > count:
                groups.pop(self.between(1, len(groups) - 1))
        while len(groups) > count:
            groups.pop(self.between(0, len(groups) - 1))
        chosen = sorted((self.pick(adjectives(group, kind)) for group in groups), key=_rank)
        if len(chosen) > 1 and any(adjective.english in ("old", "new") for adjective in chosen):
            chosen = [adjective for adjective in chosen if adjective.english not in ("modern", "recent")]
        return chosen

    def _number(self, noun: Noun) -> int:
        chance = self.random()
        if chance < 0.8 or noun.kind not in _NUMEROUS:
            return self.pick(_NUMBERS)
        return self.between(13, 99) if chance < 0.95 else 50 * self.between(2, 40)

    def _short(self, kinds: tuple[str, ...], subject: bool, negated: bool, loose: bool) -> NounPhrase:
        """Write a single word if possible."""
        if "person" in kinds:
            return self.personal() if subject and self.chance(0.6) else self.name()
        if "matter" in kinds:
            return self.described(1, self.pick(nouns(("matter",))))
        if "place" in kinds and loose and not subject:  # a city is no subject: its French gender is unclear
            city = self.city()
            return NounPhrase(city.source, city.target, Who(), PLACE)
        if "group" in kinds and self.chance(0.5):
            return self.country()
        return self.described(2, self.pick(nouns(kinds)), negated=negated, loose=loose)

    def _owned(self, n: int, noun: Noun) -> NounPhrase:
        """Write a noun with its owner: Marie 's old house; the doctor 's house."""
        owner = self.name()
        if n > 4 and self.chance(0.6):
            owner = describe(self.pick(nouns(("person",))), self.pick(("the", "a", "this", "the")))
            if "kin" in owner.kinds:
                owner = describe(self.pick(nouns(("kin",))), "my")
        plural = not noun.mass and noun.english not in _ONE and self.chance(0.3)
        chosen = self.some_adjectives(noun, min(3, n - len(owner) - 2))
        return describe(noun, "", plural, chosen, owner=owner)

    def _relation(self, n: int, noun: Noun, flat: bool) -> NounPhrase:
        """Write a family member with a possessor: my sister, Marie 's old uncle, the brother of the queen."""
        plural = noun.english not in _ONE and self.chance(0.2)
        owners = _OWNERS.get(noun.english)
        if n >= 3 and not owners and self.chance(0.3):
            owner = self.name()
            return describe(noun, "", plural, self.some_adjectives(noun, min(1, n - 3)), owner=owner)
        if n >= 4 and not owners and self.chance(0.4):
            phrase = describe(noun, "the", plural)
            phrase.add(self.after("of", "de", "person", n - 2))
            return phrase
        phrase = describe(noun, self.pick(owners or _OWN), plural, self.some_adjectives(noun, min(1, n - 2)))
        if n - len(phrase) >= 2 and not flat:
            relative = self.relative(phrase, n - len(phrase))
            if relative is not None:
                phrase.add(relative)
        return phrase

    def _list(self, n: int, kinds: tuple[str, ...], flat: bool) -> NounPhrase:
        """Write a list: A and B; A , B and C."""
        size = self.between(1, n // 2) if n < 8 else n // 3
        items = [first := self.noun_phrase(size, kinds, loose=False, flat=True)]  # not loose: no nested list
        if n >= 9 and self.chance(0.5):
            items.append(self.noun_phrase(max(2, (n - len(first) - 2) // 2), kinds, loose=False, flat=True))
        rest = n - sum(map(len, items)) - len(items)
        last = self.noun_phrase(max(1, rest), kinds, loose=False, flat=flat)
        if any(_same(last, item) for item in items):
            return first  # avoids "the boys and a boy"; the sentence is then too short and is rejected
        items.append(last)
        source, target = list(items[0].source), list(items[0].target)
        for item in items[1:-1]:
            comma = Source(",")
            source += [comma, *item.source]
            target += [Target(",", (comma,)), *item.target]
        joint = _and()
        source += joint.source + items[-1].source
        target += joint.target + items[-1].target
        feminine = all(item.who.feminine for item in items)
        shared = frozenset.intersection(*(item.kinds for item in items)) or first.kinds
        return NounPhrase(source, target, Who(3, True, feminine), shared)


def _may_be_owned(noun: Noun) -> bool:
    return (noun.kind in _OWNED and noun.english not in _WILD) or noun.english in _OWNED_NOUNS


def _same(one: NounPhrase, other: NounPhrase) -> bool:
    """Return whether two phrases have the same noun; the kinds of a noun include the noun itself."""
    if one.kinds == other.kinds and one.kinds not in (PERSON, GROUP, PLACE):
        return True
    return one.source[-1].text == other.source[-1].text


def _rank(adjective: Adjective) -> int:
    return adjective.rank


def _and() -> Phrase:
    word = Source("and")
    return Phrase([word], [Target("et", (word,))])

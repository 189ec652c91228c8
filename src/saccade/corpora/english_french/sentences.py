"""Whole sentences: fragments, statements, questions, commands, and long sentences of several clauses."""

from __future__ import annotations

from saccade.corpora.english_french import english, french
from saccade.corpora.english_french.conjugation import conjugate
from saccade.corpora.english_french.describe import NounPhrase, describe
from saccade.corpora.english_french.groups import pronoun
from saccade.corpora.english_french.namewriter import PERSON
from saccade.corpora.english_french.nouns import nouns
from saccade.corpora.english_french.plans import FUTURE, PAST, PERFECT, PRESENT, REPORTED, Plan
from saccade.corpora.english_french.questions import QuestionWriter
from saccade.corpora.english_french.verbs import BE, REPORTS, VERBS, doing_to, done_by
from saccade.corpora.english_french.words import Pair, Phrase, Source, Target, Who, fixed

__all__ = ["SentenceWriter"]

_ORDERED_VERBS = (
    "read write sign prepare open close eat drink wash clean repair visit watch listen wait help invite thank follow "
    "choose draw take translate finish accept give show send bring answer explain study sell buy"
)
_MODES = (PRESENT, PRESENT, PAST, PAST, PAST, FUTURE)
_THINGS = ("person", "animal", "vehicle", "object", "text", "building", "group", "plan", "legal")
_FRAGMENTS = (
    *(((kind,)) for kind in _THINGS),
    ("group",),
    ("legal",),
    ("event",),
    ("place",),
    ("topic",),
    ("food",),
    ("fruit",),
    ("clothes",),
)
_WEATHER = {
    PRESENT: (
        ("it is raining", "il pleut", "0-0 1-1P 2-1"),
        ("it is snowing", "il neige", "0-0 1-1P 2-1"),
        ("it is cold", "il fait froid", ""),
        ("it is hot", "il fait chaud", ""),
    ),
    PAST: (
        ("it was raining", "il pleuvait", "0-0 1-1P 2-1"),
        ("it was snowing", "il neigeait", "0-0 1-1P 2-1"),
        ("it was cold", "il faisait froid", ""),
        ("it was hot", "il faisait chaud", ""),
    ),
    FUTURE: (
        ("it will rain", "il pleuvra", "0-0 1-1P 2-1"),
        ("it will snow", "il neigera", "0-0 1-1P 2-1"),
        ("it will be cold", "il fera froid", "0-0 1-1P 2-1 3-2"),
    ),
}
_JOINTS = (
    (", and", ", et"),
    (", and", ", et"),
    (", but", ", mais"),
    (", but", ", mais"),
    (", so", ", donc"),
    (";", ";"),
    ("; however ,", "; cependant ,"),
    (", while", ", tandis que"),
    (", yet", ", pourtant"),
)
_ORDERED = [
    verb for verb in VERBS if verb.frame in ("direct", "give", "to") and verb.english.base in _ORDERED_VERBS.split()
]


class SentenceWriter(QuestionWriter):
    """Writes sentences."""

    def __call__(self, n: int) -> Pair:
        """Write a sentence of about n English words, punctuation included."""
        chance = self.random()
        if n <= 12 and chance < (0.3 if n <= 4 else 0.14):
            return self._fragment(n)
        if 4 <= n <= 24 and chance < 0.3:
            return Pair(self._stop(self.question(n - 1), "?"))
        if n <= 14 and chance < 0.34:
            return Pair(self._stop(self._command(n - 1), self.pick((".", "!"))))
        return Pair(self._stop(self.statement(n - 1, self.pick(_MODES)), "."))

    def _stop(self, phrase: Phrase, mark: str) -> Phrase:
        stop = Source(mark)
        phrase.source.append(stop)
        phrase.target.append(Target(mark, (stop,)))
        return phrase

    def _fragment(self, n: int) -> Pair:
        stop = n == 3 or self.chance(0.5)
        phrase = self.noun_phrase(n - stop, self.pick(_FRAGMENTS))
        return Pair(self._stop(phrase, ".") if stop else phrase)

    def _command(self, n: int) -> Phrase:
        """Write a command: open the door , please !"""
        you = NounPhrase([], [], Who(2, True), PERSON, True)
        plan = Plan("command", "not" if n >= 5 and self.chance(0.3) else "", time=False)
        please = n >= 5 and self.chance(0.3)
        n -= 2 * please
        phrase = None
        while phrase is None:
            verb = self.pick(_ORDERED)
            phrase = self.command(verb, n - plan.cost, you, plan)
        if please:
            phrase.add(fixed(", please", ", s' il vous plaît", "0-0 1-1 1-2 1-3 1-4"))
        return phrase

    def statement(self, n: int, mode: tuple[str, ...]) -> Phrase:
        """Write one unit, or several in a row."""
        units = 1 if n <= 22 and self.chance(0.8 if n <= 14 else 0.5) else max(2, round(n / self.between(9, 20)))
        if n < 9:
            units = 1
        phrase = self._unit(n if units == 1 else (n - 2 * units) // units + self.between(-2, 2), mode)
        last = ""
        for left in range(units - 1, 0, -1):
            joint = self.pick([joint for joint in _JOINTS if joint[0] != last and (joint[0] != ", so" or last == "")])
            last = joint[0]
            size = n - len(phrase) - len(joint[0].split())
            if left > 1:
                size = size // left + self.between(-3, 3)
            if size < 3:
                break
            phrase.add(fixed(*joint))
            phrase.add(self._unit(size, mode, fronted=joint[0] in (";", ", and", ", but")))
        return phrase

    def _unit(self, n: int, mode: tuple[str, ...], fronted: bool = True) -> Phrase:
        """Write a main clause with at most one other clause."""
        if n <= 6 or (n <= 18 and self.chance(0.45)):
            return self._simple(n, mode, main=True)
        chance = self.random()
        if chance < 0.32:
            return self._because(n, mode)
        if chance < 0.6:
            return self._report(n, mode)
        if chance < 0.8 or not fronted:
            return self._shared(n, mode)
        return self._fronted(n, mode)

    def _simple(
        self, n: int, mode: tuple[str, ...], *, main: bool = False, governor: NounPhrase | None = None
    ) -> Phrase:
        chance = self.random()
        if mode == PAST and main and chance > 0.8:
            return self.clause(n, PERFECT)
        if chance < 0.04 and n <= 6:
            return self._weather(n, mode)
        if chance < 0.1 and n >= 5:
            return self._there_is(n, mode)
        if chance < 0.13 and 5 <= n <= 8:
            return self._age(n, mode)
        if chance < 0.15 and n >= 3:
            return self._nobody(n, mode)
        return self.clause(n, mode, governor=governor, time=main)

    def _join(self, first: Phrase, english_words: str, french_words: str, second: Phrase, links: str = "") -> Phrase:
        first.add(fixed(english_words, french_words, links))
        first.add(second)
        return first

    def _cut(self, n: int) -> int:
        return self.between(max(2, n // 3), max(3, n - max(3, n // 3)))

    def _because(self, n: int, mode: tuple[str, ...]) -> Phrase:
        left = self.clause(self._cut(n - 1), mode)
        who = self.spoken_of
        rest = n - 1 - len(left)
        chance = self.random()
        if chance < 0.5 or mode == FUTURE:
            reason = PRESENT if mode == FUTURE else mode
            return self._join(left, "because", "parce que", self._simple(rest, reason, governor=who), "0-0 0-1")
        if chance < 0.75:
            return self._join(left, "when", "quand", self._simple(rest, mode, governor=who))
        background = self.clause(
            rest, ("was doing",) if mode == PAST else ("doing",), governor=who, time=False, event=True
        )
        return self._join(left, "while", "pendant que", background, "0-0 0-1")

    def _fronted(self, n: int, mode: tuple[str, ...]) -> Phrase:
        """Write a fronted clause or time: if it rains , we will stay; in 1992 , the minister signed."""
        chance = self.random()
        if chance < 0.35:
            time = self.time(min(6, n // 2), mode[0])
            if len(time):
                time.add(fixed(",", ","))
                rest = n - len(time)
                subject = self.subject(self._subject_size(rest))
                predicate = self.predicate(rest - len(subject), subject, Plan(mode[0], time=False, event=True))
                time.add(Phrase(subject.source + predicate.source, subject.target + predicate.target))
                return time
        self.spoken_of = None
        if mode == FUTURE:
            opening = fixed("if", "si")
            opening.add(self._simple(self._cut(n - 2), PRESENT))
        else:
            opening = fixed("when", "quand")
            opening.add(self._simple(self._cut(n - 2), mode))
        opening.add(fixed(",", ","))
        opening.add(self.clause(n - len(opening), mode, governor=self.spoken_of))
        return opening

    def _report(self, n: int, mode: tuple[str, ...]) -> Phrase:
        """Write reported speech: the minister said that he would come."""
        verb = self.pick(REPORTS)
        subject = self.noun_phrase(
            1 if n < 9 else self.between(1, min(8, n // 3)), verb.subjects, subject=True, flat=n < 20
        )
        tense = mode[0] if not (mode == FUTURE and (verb.state or self.chance(0.6))) else "present"
        group, _ = self.group(verb, Plan(tense), subject.who)
        phrase = Phrase(subject.source + group.source, subject.target + group.target)
        inner = REPORTED if mode == PAST else self.pick((PRESENT, PAST, FUTURE))
        if verb.english.base == "promise":
            inner = ("would",) if mode == PAST else FUTURE
        time = mode != PAST  # times such as "tomorrow" would shift in the reported past
        rest = n - 1 - len(phrase)
        first = rest if rest < 12 or self.chance(0.4) else self._cut(rest - 2)
        self._join(phrase, "that", "que", self.clause(first, inner, governor=subject, time=time))
        if first < rest:
            self._join(phrase, "and that", "et que", self.clause(n - 2 - len(phrase), inner, time=time))
        return phrase

    def _shared(self, n: int, mode: tuple[str, ...]) -> Phrase:
        """Write one subject with two verbs; the second object may be `it`."""
        subject = self.subject(self._subject_size(n))
        tense = mode[0]
        rest = n - len(subject) - 1
        if self.chance(0.4):
            both = self._again(rest, subject, Plan(tense))
            if both is not None:
                return both
        left = self.predicate(self._cut(rest), subject, Plan(tense))
        right = self.predicate(rest - len(left), subject, Plan(tense))
        phrase = Phrase(subject.source + left.source, subject.target + left.target)
        if [word.text for word in right.target] == [word.text for word in left.target]:
            return phrase  # too short, and therefore rejected
        return self._join(phrase, "and", "et", Phrase(right.source, right.target))

    def _again(self, n: int, subject: NounPhrase, plan: Plan) -> Phrase | None:
        """Write two verbs with the same object: bought a car and sold it."""
        verbs = [verb for verb in done_by("direct", subject.kinds) if "person" not in verb.objects]
        if not verbs or n < 5:
            return None
        verb = self.pick(verbs)
        noun = self.pick(nouns(verb.objects))
        others = [
            other
            for other in doing_to(noun.kinds)
            if other in verbs and other.french != verb.french and not other.state
        ]
        if not others or verb.state:
            return None
        left, _ = self.group(verb, plan, subject.who)
        thing = self.described(2 if n < 7 else 3, noun, loose=False)
        left.add(thing)
        it = pronoun("them" if thing.who.plural else "it", True, thing.who)
        right, tense = self.group(self.pick(others), plan, subject.who, pronoun=it)
        phrase = Phrase(subject.source + left.source, subject.target + left.target)
        self._join(phrase, "and", "et", right)
        rest = n - len(left) - len(right)
        if 1 <= rest <= 6:
            phrase.add(self.adverbials(rest, tense, place="city"))
        return phrase

    def _weather(self, n: int, mode: tuple[str, ...]) -> Phrase:
        phrase = fixed(*self.pick(_WEATHER[mode]))
        if n - len(phrase) >= 2:
            phrase.add(self.in_city())
        return phrase

    def _there_is(self, n: int, mode: tuple[str, ...]) -> Phrase:
        """Write an existential clause: there are three letters on the table."""
        noun = self.pick(nouns(("person", "animal", "object", "vehicle", "building")))
        while noun.kind == "kin":
            noun = self.pick(nouns(("person", "animal", "object", "vehicle", "building")))
        plural = self.chance(0.4)
        no = self.chance(0.2)
        size = min(n - 2, 4) if n < 7 else self.between(2, 4)
        chosen = self.some_adjectives(noun, size - 2)
        number = self.between(2, 12) if plural and not no and self.chance(0.5) else None
        determiner = "" if number else "no" if no else "some" if plural else "a"
        there, verb = (
            Source("there"),
            self.group(BE, Plan("past" if mode == PAST else "will" if mode == FUTURE else "present"), Who(3, plural))[
                0
            ],
        )
        has = {PRESENT: "a", PAST: "avait", FUTURE: "aura"}[mode]
        sure = tuple(verb.source[-1:])
        maybe = tuple(verb.source[:-1])
        thing = describe(noun, "a" if no else determiner, plural, chosen, number=number, negated=no)
        target = [Target("il", (there,)), Target("y", (there,)), Target(has, sure, maybe)]
        if no:
            thing.source[0].text = "no"
            word = (thing.source[0],)
            target = [target[0], Target("ne", word), target[1], target[2], Target("pas", word)]
        phrase = Phrase([there, *verb.source, *thing.source], [*target, *thing.target])
        rest = n - len(phrase)
        if rest >= 2:
            phrase.add(self.place(min(rest, 9)))
        return phrase

    def _age(self, n: int, mode: tuple[str, ...]) -> Phrase:
        """Write an age: Marie is thirty years old."""
        subject = self.noun_phrase(n - 4, ("person",), subject=True)
        years = self.between(13, 99)
        tense = "past" if mode == PAST else "present"
        be = self.group(BE, Plan(tense), subject.who)[0]
        count, year, old = Source(english.number(years)), Source("years"), Source("old")
        has = _HAVE[tense][subject.who.form]
        number = [Target(word, (count,)) for word in french.number(years).split()]
        return Phrase(
            [*subject.source, *be.source, count, year, old],
            [*subject.target, Target(has, tuple(be.source)), *number, Target("ans", (year, old))],
        )

    def _nobody(self, n: int, mode: tuple[str, ...]) -> Phrase:
        word = Source("nobody")
        subject = NounPhrase([word], [Target("personne", (word,))], Who(), PERSON, True)
        predicate = self.predicate(n - 1, subject, Plan(mode[0], negative_subject=True, fresh=False))
        predicate.target[0].sure = (word,)  # ne
        return Phrase([word, *predicate.source], [*subject.target, *predicate.target])


_HAVE = {"present": conjugate("avoir").present, "past": conjugate("avoir").imperfect}

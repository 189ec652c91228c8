"""Clauses of a subject and a predicate, and relative clauses after a noun."""

from __future__ import annotations

from saccade.corpora.english_french.describe import NounPhrase, describe
from saccade.corpora.english_french.namewriter import PERSON
from saccade.corpora.english_french.nouns import nouns
from saccade.corpora.english_french.plans import PAST, PRESENT
from saccade.corpora.english_french.predicates import PredicateWriter
from saccade.corpora.english_french.verbs import doing_to, done_by
from saccade.corpora.english_french.words import Phrase, Source, Target, Who

__all__ = ["ClauseWriter"]

_ANY = (PRESENT, PAST, PAST)
# Kinds of subjects.
_SUBJECTS = (
    *((("person",),) * 11),
    ("group",),
    ("group",),
    ("chief",),
    ("youth",),
    ("legal",),
    ("text",),
    ("plan",),
    ("building",),
    ("vehicle",),
    ("object",),
    ("animal",),
    ("event",),
    ("topic", "place", "clothes", "music", "fruit"),
)
_HAD = tuple(
    noun for noun in nouns(("kin", "vehicle", "building", "animal", "clothes")) if noun.english not in ("bridge",)
)


class ClauseWriter(PredicateWriter):
    """Writes clauses."""

    spoken_of: NounPhrase | None = None  # the subject of the clause written last

    def subject(self, n: int, asked: bool = False) -> NounPhrase:
        """Write the subject of a clause; in questions (`asked`), it is definite and short."""
        if n == 1:
            return self.noun_phrase(1, ("person",), subject=True)
        return self.noun_phrase(n, self.pick(_SUBJECTS), subject=True, loose=not asked, flat=asked)

    def clause(
        self,
        n: int,
        tenses: tuple[str, ...],
        *,
        governor: NounPhrase | None = None,
        time: bool = True,
        event: bool = False,
    ) -> Phrase:
        """Write a clause of about n words.

        `governor` is the subject of the governing clause: if it is feminine plural, `they` becomes elles. Without
        `time`, the clause has no time adverbial. With `event`, its verb is not a state.
        """
        subject = self.subject(self._subject_size(n))
        if governor is not None and subject.pronoun and subject.source[0].text == "they":
            subject = _they(governor.who)
        rest = n - len(subject)
        predicate = self.predicate(rest, subject, self.plan(rest, tenses, time=time)._replace(event=event))
        self.spoken_of = subject
        return Phrase(subject.source + predicate.source, subject.target + predicate.target)

    def _subject_size(self, n: int) -> int:
        if n <= 3 or self.chance(0.3):
            return 1
        return self.between(2, max(2, min(2 * n // 5 + 1, 11)))

    def relative(self, head: NounPhrase, n: int) -> Phrase | None:
        """Write a relative clause: who reads, whom we saw, whose house is old, where they live, about which we talk."""
        if n < 2 or "matter" in head.kinds:
            return None
        person = "person" in head.kinds
        chance = self.random()
        tenses = self.pick(_ANY)
        if n >= 5 and person and chance < 0.2:
            return self._whose(head, n, tenses)
        if n >= 4 and not head.kinds.isdisjoint(("building", "place")) and chance < 0.35:
            return self._where(n, tenses)
        if n >= 5 and not head.kinds.isdisjoint(("topic", "plan", "event")) and chance < 0.2:
            return self._about(head, n, tenses)
        if n >= 3 and chance < 0.6:
            found = self._object_relative(head, n, tenses)
            if found is not None:
                return found
        word = Source("who" if person else "that")
        predicate = self.predicate(n - 1, head, self.plan(n - 1, tenses))
        return Phrase([word, *predicate.source], [Target("qui", (word,)), *predicate.target])

    def _object_relative(self, head: NounPhrase, n: int, tenses: tuple[str, ...]) -> Phrase | None:
        verbs = [verb for verb in doing_to(head.kinds) if verb.english.base != "have"]
        if not verbs:
            return None
        verb = self.pick(verbs)
        word = Source("whom" if "person" in head.kinds else "that")
        plan = self.plan(n - 2, tenses)
        room = n - 1 - plan.cost - len(verb.english.particles)
        size = room if room < 4 or self.chance(0.5) else self.between(1, room - 2)
        subject = self.noun_phrase(max(1, min(size, 8)), verb.subjects, subject=True, flat=n < 14)
        group, tense = self.group(verb, plan, subject.who, agrees=head.who)
        rest = room - len(subject)
        phrase = Phrase(
            [word, *subject.source, *group.source], [Target("que", (word,)), *subject.target, *group.target]
        )
        if 0 < rest <= 8:
            phrase.add(self.adverbials(rest, tense))
        return phrase

    def _whose(self, head: NounPhrase, n: int, tenses: tuple[str, ...]) -> Phrase:
        word = Source("whose")
        noun = self.pick(_HAD)
        had = describe(
            noun,
            "",
            self.chance(0.2) and noun.kind not in ("kin", "building"),
            self.some_adjectives(noun, min(1, n - 5)),
        )
        rest = n - 1 - len(had)
        predicate = self.predicate(rest, had, self.plan(rest, tenses))
        return Phrase([word, *had.source, *predicate.source], [Target("dont", (word,)), *had.target, *predicate.target])

    def _where(self, n: int, tenses: tuple[str, ...]) -> Phrase:
        word = Source("where")
        subject = self.noun_phrase(1 if n < 6 else self.between(1, min(6, n - 4)), ("person",), subject=True)
        rest = n - 1 - len(subject)
        predicate = self.predicate(rest, subject, self.plan(rest, tenses, place=""))
        return Phrase(
            [word, *subject.source, *predicate.source], [Target("où", (word,)), *subject.target, *predicate.target]
        )

    def _about(self, head: NounPhrase, n: int, tenses: tuple[str, ...]) -> Phrase:
        words = (Source("about"), Source("which"))
        verb = next(verb for verb in done_by("of", PERSON) if verb.english.base == "talk")
        plan = self.plan(n - 3, tenses)
        subject = self.noun_phrase(max(1, min(n - 2 - plan.cost, 7)), ("person",), subject=True)
        group, _ = self.group(verb._replace(english=verb.english._replace(particles=())), plan, subject.who)
        return Phrase([*words, *subject.source, *group.source], [Target("dont", words), *subject.target, *group.target])


def _they(who: Who) -> NounPhrase:
    word = Source("they")
    feminine = who.feminine and who.plural and who.person == 3
    return NounPhrase([word], [Target("elles" if feminine else "ils", (word,))], Who(3, True, feminine), PERSON, True)

"""Questions. French uses est-ce que, which keeps the word order."""

from __future__ import annotations

from saccade.corpora.english_french.clauses import ClauseWriter
from saccade.corpora.english_french.describe import NounPhrase, describe
from saccade.corpora.english_french.namewriter import PERSON
from saccade.corpora.english_french.nouns import nouns
from saccade.corpora.english_french.plans import FUTURE, PAST, PERFECT, PRESENT, Plan
from saccade.corpora.english_french.verbs import Verb, doing_to
from saccade.corpora.english_french.words import Phrase, Source, Target, Who

__all__ = ["QuestionWriter"]

_MODES = (PRESENT, PRESENT, PAST, PAST, PAST, FUTURE, PERFECT)
_WH = (("where", "où"), ("when", "quand"), ("why", "pourquoi"), ("why", "pourquoi"))
_ASKABLE = ("text", "legal", "object", "building", "vehicle", "plan", "person", "fruit", "clothes")


class QuestionWriter(ClauseWriter):
    """Writes questions."""

    def question(self, n: int) -> Phrase:
        chance = self.random()
        mode = self.pick(_MODES)
        if chance < 0.15:
            return self._who(n, mode)
        if chance < 0.4 and n >= 5:
            return self._which(n, mode)
        word = []
        target = []
        place = "any"
        if chance < 0.7 and n >= 4:
            english_word, french_word = self.pick(_WH)
            source = Source(english_word)
            word, target = [source], [Target(french_word, (source,))]
            place = "" if english_word == "where" else "any"
        subject = self.subject(min(self._subject_size(n - len(word) - 1), 5), asked=True)
        rest = n - len(word) - len(subject)
        plan = Plan(self.pick(mode), inverted=True, place=place, asked=word[0].text if word else "")
        plan = plan._replace(event=plan.asked in ("when", "where"))
        if plan.asked == "when":
            plan = plan._replace(tense="past" if mode == PERFECT else mode[0], time=False)
        predicate = self.predicate(rest, subject, plan)
        front = tuple(predicate.front)
        ask = [Target("est-ce", (), front), Target("que", (), front)]
        return Phrase(
            [*word, *predicate.front, *subject.source, *predicate.source],
            [*target, *ask, *subject.target, *predicate.target],
        )

    def _who(self, n: int, mode: tuple[str, ...]) -> Phrase:
        word = Source("who")
        subject = NounPhrase([word], [Target("qui", (word,))], Who(), PERSON, True)
        predicate = self.predicate(n - 1, subject, self.plan(n - 1, mode))
        return Phrase([word, *predicate.source], [*subject.target, *predicate.target])

    def _which(self, n: int, mode: tuple[str, ...]) -> Phrase:
        """Write a question about an object: which letters did you write; how many letters; what; whom."""
        asked, agrees, verb = self._asked()
        tense = self.pick(mode)
        room = n - len(asked) - 2 - len(verb.english.particles)
        subject = self.noun_phrase(max(1, min(room, 5)), verb.subjects, subject=True, loose=False, flat=True)
        group, tense = self.group(verb, Plan(tense, inverted=True), subject.who, agrees=agrees)
        front = tuple(group.front)
        ask = [Target("est-ce", (), front), Target("que", (), front)]
        phrase = Phrase(
            [*asked.source, *group.front, *subject.source, *group.source],
            [*asked.target, *ask, *subject.target, *group.target],
        )
        rest = n - len(phrase)
        if 0 < rest <= 8 and not verb.state:
            phrase.add(self.adverbials(rest, tense, place="city"))
        return phrase

    def _asked(self) -> tuple[Phrase, Who, Verb]:
        chance = self.random()
        if chance < 0.25:
            word = Source("what")
            return Phrase([word], [Target("que", (word,))]), Who(), self.pick(doing_to(frozenset({"portable", "text"})))
        if chance < 0.4:
            word = Source("whom")
            return Phrase([word], [Target("qui", (word,))]), Who(), self.pick(doing_to(PERSON))
        noun = self.pick(
            nouns(("text", "legal", "object", "building", "vehicle", "plan", "person", "fruit", "clothes"))
        )
        verbs = doing_to(noun.kinds)
        while not verbs or noun.kind == "kin":
            noun = self.pick(nouns(("text", "legal", "object", "building")))
            verbs = doing_to(noun.kinds)
        many = chance < 0.7
        asked = describe(noun, "how many" if many else "which", many or self.chance(0.4))
        return asked, asked.who, self.pick(verbs)

"""Predicates: a verb with its objects and adverbials, of a requested length."""

from __future__ import annotations

from saccade.corpora.english_french.being import BeingWriter
from saccade.corpora.english_french.describe import NounPhrase, describe
from saccade.corpora.english_french.groups import Group, Pronoun, pronoun
from saccade.corpora.english_french.names import COUNTRIES
from saccade.corpora.english_french.namewriter import country
from saccade.corpora.english_french.nouns import nouns
from saccade.corpora.english_french.plans import Plan
from saccade.corpora.english_french.verbs import CONTROL, MUST, Verb, done_by
from saccade.corpora.english_french.words import Phrase, Source, Target, Who

__all__ = ["PredicateWriter"]

_MOVING = frozenset({"person", "animal", "vehicle", "object"})  # other subjects only get a city as place


class PredicateWriter(BeingWriter):
    """Writes predicates."""

    def predicate(self, n: int, subject: NounPhrase, plan: Plan) -> Group:
        """Write a predicate of about n English words for the subject, in the tense of the plan."""
        room = n - plan.cost
        if subject.kinds.isdisjoint(_MOVING) and plan.place:
            plan = plan._replace(place="city")
        if subject.source and subject.source[0].text == "every" and plan.negation:
            plan = plan._replace(negation="")
        if plan.adverb or plan.negation in ("never", "no longer"):
            plan = plan._replace(time=False)  # these already express time
        for _ in range(12):
            group = self._try(self._frame(room, subject, plan), room, subject, plan)
            if group is not None:
                return group
        return self.adjective(room, subject, plan)

    def _frame(self, room: int, subject: NounPhrase, plan: Plan) -> str:
        if "person" in subject.kinds or "group" in subject.kinds:
            if room <= 0:
                return "none"
            frames = _SHORT if room == 1 else _MIDDLING if room <= 3 else _LONG
        else:
            frames = _THING
        return self.pick(frames)

    def _try(self, frame: str, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        if plan.tense == "infinitive" and frame in ("be", "adjective", "compare", "passive"):
            return None  # no "decides to be tired"
        if plan.event and frame in ("be", "adjective", "compare"):
            return None
        if frame == "be":
            return self.adjective(room, subject, plan)
        if frame == "passive":
            return self.passive(room, subject, plan)
        if frame == "compare":
            return self.compare(room, subject, plan)
        if frame == "control":
            return self._control(room, subject, plan)
        verbs = done_by(frame, subject.kinds)
        if not verbs:
            return None
        verb = self.pick(verbs)
        going_on = plan.event and plan.tense in ("doing", "was doing")
        if (plan.event and verb.state) or (going_on and verb.brief) or (plan.asked == "where" and verb.still):
            return None
        if frame == "none":
            return self._plain(verb, room, subject, plan)
        if frame == "give":
            return self._give(verb, room, subject, plan)
        if frame in ("go", "live"):
            return self._place(verb, room, subject, plan)
        if frame == "adjective":
            return self.adjective(room, subject, plan, verb)
        return self._object(verb, room, subject, plan)

    def _plain(self, verb: Verb, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        if room > 9:
            return None
        group, tense = self.group(verb, plan, subject.who)
        room -= len(verb.english.particles)
        if verb.still:
            plan = plan._replace(place="")
        if (verb.pace or verb.calm) and room in (1, 4, 5) and self.chance(0.5):
            group.add(self.manner(verb.pace))
            room -= 1
        return self.fill(group, room, tense, plan)

    def _object(self, verb: Verb, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        room -= len(verb.english.particles)
        if room < 1:
            return None
        direct = verb.frame == "direct"
        if (
            verb.frame != "of"
            and (room == 1 or self.chance(0.12))
            and ("person" in verb.objects or (direct and room == 1 and verb.objects != ("drink",)))
        ):
            pronoun = self._pronoun(subject.who, direct, "person" in verb.objects)
            group, tense = self.group(verb, plan, subject.who, pronoun=pronoun)
            return self.fill(group, room - 1, tense, plan)
        if room == 1 and not {"person", "place"} & set(verb.objects):
            return None
        size, rest = self.share(room)
        group, tense = self.group(verb, plan, subject.who)
        negated = direct and bool(plan.negation or plan.negative_subject)
        if verb.still:
            plan = plan._replace(place="")
        thing = self.noun_phrase(size, verb.objects, negated=negated, loose=direct, flat=rest > 0 or negated)
        if verb.state:
            plan = plan._replace(place="", time=tense != "present")
        particles = (
            tuple(group.source[len(group.source) - len(verb.english.particles) :]) if verb.english.particles else ()
        )
        if not direct:
            group.target.append(
                Target("à" if verb.frame == "to" else "de", particles, () if particles else (thing.source[0],))
            )
        group.add(thing)
        return self.fill(group, room - len(thing) if rest else 0, tense, plan)

    def command(self, verb: Verb, room: int, you: NounPhrase, plan: Plan) -> Group | None:
        """Write a command: do not give the key to Marie. No pronouns: French would put them after the verb."""
        room = max(2, room - len(verb.english.particles))
        group, _ = self.group(verb, plan, you.who)
        particles = tuple(group.source[-1:]) if verb.english.particles else ()
        if verb.frame == "give":
            if room < 4:
                return None
            thing = self.noun_phrase(min(room - 2, 4), verb.objects, negated=bool(plan.negation), flat=True)
            group.add(thing)
            group.add(self.after("to", "à", "person", max(2, room - len(thing))))
            return group
        direct = verb.frame == "direct"
        thing = self.noun_phrase(room, verb.objects, negated=direct and bool(plan.negation), loose=direct)
        if not direct:
            group.target.append(Target("à", particles, () if particles else (thing.source[0],)))
        group.add(thing)
        return group

    def _pronoun(self, who: Who, direct: bool, person: bool) -> Pronoun:
        if not person:
            return pronoun("them", direct)
        if who.person == 1:
            choices: tuple[str, ...] = ("you", "him", "her", "them")
        elif who.person == 2:
            choices = ("me", "him", "her", "us", "them")
        else:
            choices = ("me", "you", "him", "her", "us", "them")
        return pronoun(self.pick(choices), direct)

    def _give(self, verb: Verb, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        if room < 3:
            return None
        negated = bool(plan.negation or plan.negative_subject)
        if not verb.no_shift and (room == 3 or self.chance(0.5)):
            group, tense = self.group(verb, plan, subject.who, pronoun=self._pronoun(subject.who, False, True))
            size, rest = self.share(room - 1)
            thing = self.noun_phrase(size, verb.objects, negated=negated, flat=rest > 0 or negated)
            group.add(thing)
            return self.fill(group, room - 1 - len(thing) if rest else 0, tense, plan)
        if room < 4:
            return None
        group, tense = self.group(verb, plan, subject.who)
        size = 2 if room < 6 else self.between(2, min(5, room - 3))
        thing = self.noun_phrase(size, verb.objects, negated=negated, flat=True)
        group.add(thing)
        group.add(self.after("to", "à", "person", max(2, room - len(thing))))
        return group

    def _place(self, verb: Verb, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        if room < 2 or not plan.place:
            return None
        group, tense = self.group(verb, plan, subject.who)
        size, rest = self.share(room)
        if verb.frame == "live":
            if size == 2:
                where: Phrase = self.in_city() if self.chance(0.6) else country(self.pick(COUNTRIES), "in")
            else:
                where = self._in(verb, size)
        elif size == 2 or self.chance(0.3):
            where = self.after("to", "à", "@city", 2)
        else:
            noun = self.pick(nouns(("worked",)))
            word = Source("to")
            there = describe(noun, "the", False, self.some_adjectives(noun, min(2, size - 3)))
            where = Phrase([word, *there.source], [Target("à", (word,)), *there.target])
        group.add(where)
        return self.fill(
            group, room - len(where) if rest else 0, tense, plan._replace(place="", time=plan.time and not verb.state)
        )

    def _in(self, verb: Verb, size: int) -> Phrase:
        word = Source("in")
        place = self.pick(nouns(verb.objects))
        where = describe(
            place, self.pick(("the", "a", "this", "the")), False, self.some_adjectives(place, min(2, size - 3))
        )
        if size - 1 - len(where) >= 2:
            relative = self.relative(where, size - 1 - len(where))
            if relative is not None:
                where.add(relative)
        return Phrase([word, *where.source], [Target("dans", (word,)), *where.target])

    def _control(self, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        """Write a verb with an infinitive: wants to read the letter; cannot leave."""
        if not plan.fresh or "person" not in subject.kinds or room < 2:
            return None
        verb, to, link = self.pick(CONTROL)
        if verb is MUST and plan.tense not in ("present", "doing"):
            return None
        group, _ = self.group(verb, plan._replace(adverb=False), subject.who)
        words = [Source("to")] if to else []
        rest = room + plan.cost - len(group) - len(group.front) - len(words)
        if rest < 1:
            return None
        inner = self.predicate(rest, subject, Plan("infinitive", place=plan.place, time=False, fresh=False))
        group.source += words + inner.source
        if link:
            group.target.append(Target(link, tuple(words)))
        elif words:
            inner.target[0].maybe += tuple(words)
        group.target += inner.target
        return group


_SHORT: tuple[str, ...] = ("direct", "direct", "be", "be", "none", "to", "control", "adjective")
_MIDDLING = ("direct",) * 8 + (
    "be",
    "none",
    "to",
    "of",
    "go",
    "live",
    "give",
    "control",
    "control",
    "passive",
    "adjective",
    "compare",
)
_LONG = ("direct",) * 9 + (
    "none",
    "to",
    "of",
    "go",
    "live",
    "give",
    "give",
    "control",
    "control",
    "passive",
    "compare",
    "be",
)
_THING = ("be", "be", "passive", "passive", "passive", "none", "direct", "compare", "to", "adjective")

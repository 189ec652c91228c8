"""Verb groups from a plan, and predicates with be: adjectives, comparisons, passives."""

from __future__ import annotations

from saccade.corpora.english_french import english
from saccade.corpora.english_french.adjectives import adjectives, comparable
from saccade.corpora.english_french.adverbials import AdverbialWriter
from saccade.corpora.english_french.describe import NounPhrase
from saccade.corpora.english_french.groups import Group, Pronoun, verb_group
from saccade.corpora.english_french.namewriter import PERSON
from saccade.corpora.english_french.plans import FUTURE, Plan
from saccade.corpora.english_french.verbs import BE, BE_DONE, CAN, MUST, Verb, doing_to
from saccade.corpora.english_french.words import Source, Target, Who

__all__ = ["BeingWriter"]

_OPPOSITES = (
    "dirty clean,full empty,open closed,hot cold,happy sad,young old,long short,small large,good bad,new old,"
    "simple complex,fresh hot,happy angry,happy worried,clear complex"
)
_AGAINST = {
    word: {other for pair in _OPPOSITES.split(",") if word in pair.split() for other in pair.split()}
    for word in _OPPOSITES.replace(",", " ").split()
}
_YOUTH = frozenset({"youth"})


class BeingWriter(AdverbialWriter):
    """Writes verb groups, and predicates that describe the subject."""

    def plan(
        self, n: int, tenses: tuple[str, ...], *, inverted: bool = False, place: str = "any", time: bool = True
    ) -> Plan:
        """Pick a tense and perhaps a negation or an adverb, with room left for other words."""
        tense = self.pick(tenses)
        plain = plan = Plan(tense, inverted=inverted, place=place, time=time)
        chance = self.random()
        if chance < 0.16:
            plan = plan._replace(negation="not")
        elif chance < 0.2 and tense in ("present", "past", "perfect", "will"):
            plan = plan._replace(negation="never")
        elif chance < 0.23 and tense in ("present", "will"):
            plan = plan._replace(negation="no longer")
        elif chance < 0.32 and tense in ("present", "past", "perfect", "pluperfect"):
            plan = plan._replace(adverb=True)
        if plan.cost > max(1, n - 1):
            plan = plain
        return plan

    def group(
        self, verb: Verb, plan: Plan, who: Who, *, pronoun: Pronoun | None = None, agrees: Who | None = None
    ) -> tuple[Group, str]:
        """Build the verb group; return it with its tense, since not every verb can take every tense."""
        tense = self._fit(verb, plan, who)
        if tense == "past" and verb.state and plan.negation == "never":
            plan = plan._replace(negation="not")  # French would have to choose between two pasts
        adverb = self.middle(tense) if plan.adverb and not plan.negation and verb not in (BE, BE_DONE) else None
        group = verb_group(
            verb,
            tense,
            who,
            negation=plan.negation,
            pronoun=pronoun,
            agrees=agrees,
            adverb=adverb,
            inverted=plan.inverted,
            negative_subject=plan.negative_subject,
        )
        return group, tense

    def _fit(self, verb: Verb, plan: Plan, who: Who) -> str:
        tense = plan.tense
        if tense == "backdrop":
            tense = "past" if verb.state else "pluperfect" if verb.brief or verb is BE_DONE else "was doing"
        if tense in ("doing", "was doing") and (
            verb.state or verb.brief or verb is BE_DONE or plan.negation not in ("", "not")
        ):
            tense = "present" if tense == "doing" else "past"
        if tense in ("perfect", "pluperfect") and verb.state:
            tense = "present" if tense == "perfect" else "past"
        if verb in (CAN, MUST):
            tense = "past" if verb is CAN and tense in ("past", "pluperfect", "was doing") else "present"
        if (
            tense == "past"
            and verb.english.past == verb.english.base
            and who.form != 2
            and not plan.inverted
            and plan.negation != "not"
        ):
            tense = "was doing"  # "they read" would look like the present
        return tense

    def fill(self, group: Group, room: int, tense: str, plan: Plan) -> Group:
        """Add adverbials if there is room left."""
        if room > 0:
            group.add(self.adverbials(room, tense, place=plan.place, time=plan.time))
        return group

    def adjective(self, room: int, subject: NounPhrase, plan: Plan, verb: Verb = BE) -> Group:
        kinds = _YOUTH if "youth" in subject.kinds else subject.kinds
        trait = adjectives("trait", kinds)
        if verb is BE:
            choices = (
                (adjectives("state", kinds) if self.chance(0.5) else trait) or trait or adjectives("trait", PERSON)
            )
            if plan.negation == "no longer" or plan.tense in (*FUTURE, "would"):
                choices = adjectives("state", kinds) or choices
        else:
            choices = adjectives("becoming" if verb.english.base == "become" else "seeming", kinds) or trait
        group, tense = self.group(verb, plan._replace(adverb=False), subject.who)
        chosen = self.pick(choices)
        room += plan.cost - len(group) - len(group.front) - 1
        self._describe(group, chosen.english, chosen.french.form(subject.who.feminine, subject.who.plural))
        against = _AGAINST.get(chosen.english, {chosen.english})
        others = [adjective for adjective in choices if adjective.english not in against]
        if room >= 2 and others and not plan.negation and self.chance(0.5):
            other = self.pick(others)
            self._describe(group, "and", "et")
            self._describe(group, other.english, other.french.form(subject.who.feminine, subject.who.plural))
            room -= 2
        if 0 < room <= 6 and plan.time and chosen.group == "state":
            group.add(self.time(room, "doing" if tense == "present" else tense))
        return group

    def _describe(self, group: Group, english: str, french: str) -> None:
        word = Source(english)
        group.source.append(word)
        group.target.append(Target(french, (word,)))

    def compare(self, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        """Write a comparison: is older than the church; is more important than the treaty."""
        choices = comparable(subject.kinds)
        if room < 4 or not choices or plan.tense not in ("present", "doing", "past") or plan.negation == "no longer":
            return None
        kinds = sorted(subject.kinds & {"person", "building", "place", "vehicle", "plan", "text", "animal", "object"})
        if not kinds:
            return None
        chosen = self.pick(choices)
        group, _ = self.group(BE, plan._replace(adverb=False), subject.who)
        form = chosen.french.form(subject.who.feminine, subject.who.plural)
        short = english.comparative(chosen.english)
        word = Source(short or chosen.english)
        if chosen.english == "good":
            meilleur = {"bon": "meilleur", "bonne": "meilleure", "bons": "meilleurs", "bonnes": "meilleures"}
            source, target = [word], [Target(meilleur[form], (word,))]
        elif chosen.english == "bad":
            return None
        elif short:
            source, target = [word], [Target("plus", (word,)), Target(form, (word,))]
        else:
            more = Source(self.pick(("more", "less")))
            french = "plus" if more.text == "more" else "moins"
            source, target = [more, word], [Target(french, (more,)), Target(form, (word,))]
        than = Source("than")
        other = self.noun_phrase(min(room - 2, 7), (kinds[0],), loose=False)
        group.source += [*source, than, *other.source]
        group.target += [*target, Target("que", (than,)), *other.target]
        return group

    def passive(self, room: int, subject: NounPhrase, plan: Plan) -> Group | None:
        """Write a passive: was signed by the minister in 1992."""
        verbs = doing_to(subject.kinds, True)
        if not verbs or room < 1 or (plan.event and plan.tense in ("doing", "was doing")):
            return None
        verb = self.pick(verbs)
        group, tense = self.group(BE_DONE, plan._replace(adverb=False), subject.who)
        self._describe(
            group, verb.english.participle, verb.french.participle.form(subject.who.feminine, subject.who.plural)
        )
        room += plan.cost - len(group) - len(group.front)
        if room >= 3 and self.chance(0.6):
            size, _ = self.share(room - 1)
            group.add(self.after("by", "par", " ".join(verb.subjects), min(size + 1, 7), flat=True))
        done = len(group) + len(group.front)
        return self.fill(group, room - max(0, done - (plan.cost + 1)), tense, plan) if room > 0 else group

    def share(self, room: int) -> tuple[int, int]:
        """Split the room into words for an object and words for adverbials."""
        if room >= 5 and self.chance(0.5):
            size = self.between(max(2, room - 8), min(room - 2, 5))
            return size, room - size
        return room, 0

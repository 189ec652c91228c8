"""Verb groups: the verb with its auxiliaries, negation, pronouns and adverbs.

she does not see them          elle ne les voit pas
we have never written to him   nous ne lui avons jamais écrit
they are going to get up       ils vont se lever
"""

from __future__ import annotations

from typing import NamedTuple

from saccade.corpora.english_french.conjugation import conjugate
from saccade.corpora.english_french.verbs import BE, BE_DONE, CAN, MUST, Verb
from saccade.corpora.english_french.words import Phrase, Source, Target, Who

__all__ = ["Group", "Pronoun", "pronoun", "verb_group"]

_AVOIR, _ETRE, _ALLER = conjugate("avoir"), conjugate("être"), conjugate("aller")
_REFLEXIVES = ("me", "te", "se", "nous", "vous", "se")
_NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus"}
_DEFECTIVE = (CAN, MUST)
_SIMPLE = {"present": "present", "will": "future", "would": "conditional", "doing": "present", "was doing": "imperfect"}


class Pronoun(NamedTuple):
    """An object pronoun. French puts it before the verb, and the participle agrees with a direct one (`agrees`)."""

    english: str
    french: str
    agrees: Who | None


_DIRECT = {
    "me": ("me", Who(1)),
    "you": ("vous", Who(2, True)),
    "him": ("le", Who()),
    "her": ("la", Who(3, False, True)),
    "us": ("nous", Who(1, True)),
    "them": ("les", Who(3, True)),
}
_INDIRECT = {"me": "me", "you": "vous", "him": "lui", "her": "lui", "us": "nous", "them": "leur"}


def pronoun(english: str, direct: bool, antecedent: Who | None = None) -> Pronoun:
    """Return the pronoun for a person, or for an antecedent within the sentence (`it`, `them`)."""
    if antecedent is not None:
        french = "les" if antecedent.plural else "la" if antecedent.feminine else "le"
        return Pronoun(english, french, antecedent)
    return Pronoun(english, *_DIRECT[english]) if direct else Pronoun(english, _INDIRECT[english], None)


class Group(Phrase):
    """A verb group; `front` is the auxiliary that an English question puts before the subject."""

    __slots__ = ("front",)

    def __init__(self, front: list[Source], source: list[Source], target: list[Target]) -> None:
        super().__init__(source, target)
        self.front = front


def verb_group(
    verb: Verb,
    tense: str,
    who: Who,
    *,
    negation: str = "",
    pronoun: Pronoun | None = None,
    agrees: Who | None = None,
    adverb: tuple[str, str] | None = None,
    inverted: bool = False,
    negative_subject: bool = False,
) -> Group:
    """Build a verb group in a tense.

    Tenses: present, doing, past, was doing, perfect, pluperfect, going, will, would, infinitive, command. `agrees` is a
    direct object before the verb, with which the participle agrees (the letters that I wrote: écrites).
    `negative_subject`: the subject is a negative word, so that French adds ne (personne n'est venu).
    """
    auxiliaries, main = _english(verb, tense, who, do=negation == "not" or inverted)
    middle = [Source(word) for word in negation.split()]
    often = [Source(adverb[0])] if adverb else []
    no = tuple(middle)
    if verb is CAN and negation == "not" and main.text == "can":
        main, middle, no = Source("cannot"), [], ()
        no = (main,)
    object_word = [Source(pronoun.english)] if pronoun else []

    first = auxiliaries or ([main] if verb in (BE, BE_DONE, *_DEFECTIVE) else [])
    rest = [*auxiliaries[1:], main] if auxiliaries else ([] if first else [main])
    if tense == "infinitive":
        first, rest = [], [main]
    after = [Source(word) for word in verb.english.particles] + object_word
    front, start = ([first[0]], []) if inverted and first else ([], first[:1])
    source = [*start, *middle, *often, *rest, *after]

    clitics = [Target(_REFLEXIVES[who.form], (), (main,))] if verb.french.reflexive else []
    if pronoun:
        clitics = [Target(pronoun.french, tuple(object_word), () if pronoun.agrees else tuple(after[:-1]))]
        agrees = agrees or pronoun.agrees
    before = [Target("ne", no)] if negation or negative_subject else []
    between = [Target(_NEGATIONS[negation], no)] if negation else []
    between += [Target(adverb[1], tuple(often))] if adverb else []
    finite, late = _french(verb, tense, who, auxiliaries, main, tuple(after[: len(verb.english.particles)]), agrees)
    tail = [Target(word, (main,)) for word in verb.french.tail]
    if tense == "infinitive":
        return Group(front, source, [*before, *between, *clitics, *finite, *tail])
    if tense == "going":
        return Group(front, source, [*before, *finite, *between, *clitics, *late, *tail])
    return Group(front, source, [*before, *clitics, *finite, *between, *late, *tail])


def _english(verb: Verb, tense: str, who: Who, do: bool) -> tuple[list[Source], Source]:
    """Return the English auxiliaries and the main verb."""
    forms = verb.english
    third = who.form == 2
    if tense in ("present", "past", "command"):
        if verb in (BE, BE_DONE):
            return [], Source(_be(who, past=tense == "past"))
        if verb in _DEFECTIVE:
            return [], Source(forms.past if tense == "past" else forms.base)
        if do:
            return [Source("did" if tense == "past" else "does" if third and tense == "present" else "do")], Source(
                forms.base
            )
        if tense == "past":
            return [], Source(forms.past)
        return [], Source(forms.third if third and tense == "present" else forms.base)
    if tense in ("doing", "was doing"):
        return [Source(_be(who, past=tense == "was doing"))], Source(forms.doing)
    if tense in ("perfect", "pluperfect"):
        return [Source("had" if tense == "pluperfect" else "has" if third else "have")], Source(forms.participle)
    if tense == "going":
        return [Source(_be(who, past=False)), Source("going"), Source("to")], Source(forms.base)
    if tense in ("will", "would"):
        return [Source(tense)], Source(forms.base)
    return [], Source(forms.base)


def _french(
    verb: Verb,
    tense: str,
    who: Who,
    auxiliaries: list[Source],
    main: Source,
    particles: tuple[Source, ...],
    agrees: Who | None,
) -> tuple[list[Target], list[Target]]:
    """Return the finite French words, and those after negation and adverb."""
    forms = verb.french
    helpers = tuple(auxiliaries)
    # "look for": both words are chercher; "write to": the preposition has its own French word.
    sure = (main, *particles) if verb.frame in ("direct", "none") else (main,)
    if tense == "infinitive":
        return [Target(forms.infinitive, sure)], []
    if tense == "command":
        return [Target("soyez" if forms.infinitive == "être" else forms.present[4], sure, helpers)], []
    if tense == "going":
        return [Target(_ALLER.present[who.form], helpers[:2])], [Target(forms.infinitive, sure, helpers[2:])]
    simple = "imperfect" if tense == "past" and verb.state else _SIMPLE.get(tense)
    if simple:
        return [Target(getattr(forms, simple)[who.form], sure, helpers)], []
    helper = _ETRE if forms.being else _AVOIR
    finite = (helper.imperfect if tense == "pluperfect" else helper.present)[who.form]
    link = who if forms.being else agrees or Who()
    participle = forms.participle.form(link.feminine, link.plural)
    if verb is BE_DONE:
        participle = forms.participle.masculine
    late = [Target(participle, sure)]
    if tense == "past":
        return [Target(finite, (), (main, *helpers))], late
    return [Target(finite, helpers, (main,))], late


def _be(who: Who, past: bool) -> str:
    if past:
        return "was" if not who.plural and who.person != 2 else "were"
    if who.plural or who.person == 2:
        return "are"
    return "am" if who.person == 1 else "is"

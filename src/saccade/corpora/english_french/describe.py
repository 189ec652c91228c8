"""A noun with its determiner, number and adjectives, in both languages."""

from __future__ import annotations

from collections.abc import Sequence

from saccade.corpora.english_french import english, french
from saccade.corpora.english_french.adjectives import Adjective
from saccade.corpora.english_french.nouns import Noun
from saccade.corpora.english_french.words import Phrase, Source, Target, Who

__all__ = ["NounPhrase", "describe"]

# masculine, feminine, plural
_DETERMINERS = {
    "the": ("LE", "LA", "LES"),
    "": ("LE", "LA", "LES"),
    "a": ("un", "une", "-"),
    "this": ("CE", "cette", "ces"),
    "these": ("CE", "cette", "ces"),
    "my": ("mon", "MA", "mes"),
    "your": ("votre", "votre", "vos"),
    "his": ("son", "SA", "ses"),
    "her": ("son", "SA", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
    "every": ("chaque", "chaque", "-"),
    "several": ("-", "-", "plusieurs"),
    "a few": ("-", "-", "quelques"),
}


class NounPhrase(Phrase):
    """A noun phrase: its words, the person, number and gender for agreement, and the kinds of its noun."""

    __slots__ = ("kinds", "pronoun", "who")

    def __init__(
        self, source: list[Source], target: list[Target], who: Who, kinds: frozenset[str], pronoun: bool = False
    ) -> None:
        super().__init__(source, target)
        self.who = who
        self.kinds = kinds
        self.pronoun = pronoun


def describe(
    noun: Noun,
    determiner: str = "the",
    plural: bool = False,
    adjectives: Sequence[Adjective] = (),
    *,
    number: int | None = None,
    negated: bool = False,
    owner: NounPhrase | None = None,
) -> NounPhrase:
    """Write a noun with its determiner, number and adjectives.

    `determiner` is English, "" for none. `negated` turns un, du and des into de. `owner` possesses the noun ('s).
    """
    head = Source(noun.englishes if plural else noun.english)
    described = [Source(adjective.english) for adjective in adjectives]
    count = [Source(english.number(number) if number < 100 else str(number))] if number is not None else []
    if determiner == "some" and negated:
        determiner = "any"
    words = [Source(word) for word in determiner.split()]

    feminine = noun.feminine
    first: list[Target] = []
    last: list[Target] = []
    for adjective, word in zip(adjectives, described, strict=True):
        if adjective.group in ("size", "ordinal"):
            form = adjective.french.form(feminine, plural) if feminine or plural else adjective.french.before
            first.append(Target(form, (word,)))
        else:
            last.append(Target(adjective.french.form(feminine, plural), (word,)))
    last.reverse()
    body = [*first, Target(noun.frenches if plural else noun.french, (head,)), *last]
    if number is not None:
        numeral = french.number(number, feminine) if number < 100 else str(number)
        body = [Target(word, tuple(count)) for word in numeral.split()] + body
    source = [*words, *count, *described, head]
    if owner is not None:
        mark = Source("'s")
        source = [*owner.source, mark, *source]
        article = Target(_article("the", feminine, plural), (), (mark,))
        target = [article, *body, Target("de", (mark,)), *owner.target]
    else:
        numbered = number is not None and not determiner
        target = body if numbered else _determine(determiner, words, head, noun, plural, bool(first), negated) + body
    return NounPhrase(source, target, Who(3, plural, feminine), noun.kinds)


def _determine(
    determiner: str, words: list[Source], head: Source, noun: Noun, plural: bool, adjective_first: bool, negated: bool
) -> list[Target]:
    sure = tuple(words)
    if determiner == "any" or (negated and determiner == "a"):
        return [Target("de", sure)]
    if determiner == "some":
        if not plural:  # du pain, de la viande, de l'eau
            return [Target("de", sure), Target(_article("the", noun.feminine, False), sure)]
        return [Target("de" if adjective_first else "des", sure)]
    if determiner == "many":
        return [Target("beaucoup", sure), Target("de", (), sure)]
    if determiner == "how many":
        return [Target("combien", sure), Target("de", (), sure)]
    if determiner == "which":
        return [
            Target(("quelles" if noun.feminine else "quels") if plural else "quelle" if noun.feminine else "quel", sure)
        ]
    if determiner == "all the":
        return [Target("toutes" if noun.feminine else "tous", sure[:1]), Target("LES", sure[1:])]
    article = _article(determiner, noun.feminine, plural)
    return [Target(article, sure) if sure else Target(article, (), (head,))]


def _article(determiner: str, feminine: bool, plural: bool) -> str:
    return _DETERMINERS[determiner][2 if plural else int(feminine)]

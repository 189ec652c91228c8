"""People, cities, countries and institutions as phrases."""

from __future__ import annotations

from saccade.corpora.english_french.describe import NounPhrase
from saccade.corpora.english_french.names import CITIES, COUNTRIES, INSTITUTIONS, PEOPLE, SURNAMES, Country
from saccade.corpora.english_french.words import Phrase, Source, Target, Who, fixed
from saccade.corpora.stream import Dice

__all__ = ["GROUP", "PERSON", "PLACE", "NameWriter", "country"]

PERSON = frozenset({"person"})
GROUP = frozenset({"group"})
PLACE = frozenset({"place"})
# "The United States" is singular in English and plural in French, so no verb can agree with it in both.
_COUNTRIES = [country for country in COUNTRIES if not country.plural]
_PERSONAL = (
    ("I", "je", Who(1)),
    ("you", "vous", Who(2, True)),
    ("he", "il", Who()),
    ("she", "elle", Who(3, False, True)),
    ("we", "nous", Who(1, True)),
    ("they", "ils", Who(3, True)),
)


class NameWriter(Dice):
    """Writes names and personal pronouns."""

    def personal(self) -> NounPhrase:
        """Write a personal pronoun as subject."""
        english, french, who = self.pick(_PERSONAL)
        word = Source(english)
        return NounPhrase([word], [Target(french, (word,))], who, PERSON, True)

    def name(self) -> NounPhrase:
        """Write a first name: Marie."""
        name, feminine = self.pick(PEOPLE)
        word = Source(name)
        return NounPhrase([word], [Target(name, (word,))], Who(3, False, feminine), PERSON)

    def titled(self) -> NounPhrase:
        """Write a title and a surname: Mrs Martin."""
        feminine = self.chance(0.5)
        name = self.pick(SURNAMES)
        phrase = fixed(f"{'Mrs' if feminine else 'Mr'} {name}", f"{'Mme' if feminine else 'M.'} {name}")
        return NounPhrase(phrase.source, phrase.target, Who(3, False, feminine), PERSON)

    def city(self) -> Phrase:
        """Write a city without a preposition: Paris."""
        english, french = self.pick(CITIES)
        return fixed(english, french)

    def country(self) -> NounPhrase:
        """Write a country, with its article in French."""
        return country(self.pick(_COUNTRIES))

    def institution(self) -> NounPhrase:
        """Write an institution: the European Economic Area."""
        chosen = self.pick(INSTITUTIONS)
        phrase = fixed(chosen.english, chosen.french, chosen.links)
        return NounPhrase(phrase.source, phrase.target, Who(3, False, chosen.feminine), GROUP)


def country(chosen: Country, preposition: str = "") -> NounPhrase:
    """Write a country alone (la France), after `in` (en France, au Japon) or after `from` (de France, du Japon)."""
    words = [Source(word) for word in chosen.english.split()]
    the, name = (tuple(words[:1]), tuple(words[1:])) if words[0].text == "the" else ((), tuple(words))
    article = "LES" if chosen.plural else "LA" if chosen.feminine else "LE"
    target = [Target(article, the, () if the else name), Target(chosen.french, name)]
    if preposition and chosen.feminine:
        target = target[1:]
    if preposition:
        word = Source(preposition)
        french = "de" if preposition == "from" else "en" if chosen.feminine else "à"
        words.insert(0, word)
        target.insert(0, Target(french, (word,)))
    return NounPhrase(words, target, Who(3, chosen.plural, chosen.feminine), GROUP)

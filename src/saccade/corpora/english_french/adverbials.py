"""Adverbials: where, when, how and with whom."""

from __future__ import annotations

import datetime

from saccade.corpora.english_french import english, french
from saccade.corpora.english_french.describe import describe
from saccade.corpora.english_french.names import COUNTRIES
from saccade.corpora.english_french.namewriter import country
from saccade.corpora.english_french.nounphrases import NounWriter
from saccade.corpora.english_french.nouns import BY_ENGLISH, Noun
from saccade.corpora.english_french.words import Phrase, Source, Target, fixed

__all__ = ["AdverbialWriter", "date"]

_MONTHS = [
    "January:janvier",
    "February:février",
    "March:mars",
    "April:avril",
    "May:mai",
    "June:juin",
    "July:juillet",
    "August:août",
    "September:septembre",
    "October:octobre",
    "November:novembre",
    "December:décembre",
]
_MONTH = [tuple(month.split(":")) for month in _MONTHS]
_DAY = [
    tuple(day.split(":"))
    for day in [
        "Monday:lundi",
        "Tuesday:mardi",
        "Wednesday:mercredi",
        "Thursday:jeudi",
        "Friday:vendredi",
        "Saturday:samedi",
        "Sunday:dimanche",
    ]
]
# English, French, links (empty: words are paired in order)
_PAST = (
    ("yesterday", "hier", ""),
    ("yesterday", "hier", ""),
    ("last week", "LA semaine dernière", "0-2 1-1 1-0P"),
    ("last year", "LA année dernière", "0-2 1-1 1-0P"),
    ("last month", "LE mois dernier", "0-2 1-1 1-0P"),
    ("this morning", "CE matin", ""),
    ("yesterday morning", "hier matin", ""),
    ("yesterday evening", "hier soir", ""),
    ("last summer", "LE été dernier", "0-2 1-1 1-0P"),
)
_PRESENT = (
    ("every day", "tous les jours", "0-0 0-1 1-2"),
    ("every week", "toutes les semaines", "0-0 0-1 1-2"),
    ("every evening", "tous les soirs", "0-0 0-1 1-2"),
    ("in the morning", "le matin", "1-0 0-0P 2-1"),
    ("in the evening", "le soir", "1-0 0-0P 2-1"),
    ("in summer", "en été", ""),
    ("in winter", "en hiver", ""),
)
_NOW = (
    ("now", "maintenant", ""),
    ("today", "aujourd'hui", ""),
    ("this morning", "CE matin", ""),
    ("at the moment", "en CE moment", ""),
)
_FUTURE = (
    ("tomorrow", "demain", ""),
    ("tomorrow", "demain", ""),
    ("soon", "bientôt", ""),
    ("tomorrow morning", "demain matin", ""),
    ("next week", "LA semaine prochaine", "0-2 1-1 1-0P"),
    ("next year", "LA année prochaine", "0-2 1-1 1-0P"),
    ("next month", "LE mois prochain", "0-2 1-1 1-0P"),
    ("this evening", "CE soir", ""),
)
_WHEN = {"present": _PRESENT, "doing": _NOW, "past": _PAST, "was doing": _PAST, "going": _FUTURE, "will": _FUTURE}
_PACE = (("slowly", "lentement", ""), ("quickly", "rapidement", ""))
_CALM = (("quietly", "tranquillement", ""), ("here", "ici", ""))
_MIDDLE = {
    "present": (("often", "souvent"), ("always", "toujours"), ("sometimes", "parfois"), ("rarely", "rarement")),
    "past": (("often", "souvent"), ("finally", "finalement")),
    "perfect": (("already", "déjà"), ("often", "souvent")),
    "pluperfect": (("already", "déjà"), ("often", "souvent")),
}
# Prepositions of places: English, French, the places
_PLACES = [
    (BY_ENGLISH[word], english_word, french_word)
    for english_word, french_word, words in (
        (
            "in",
            "dans",
            "house garden street park forest kitchen museum restaurant church castle library office village",
        ),
        ("in", "dans", "valley field hotel city hamlet shop factory bedroom garden street"),
        ("at", "à", "station airport market school hospital theatre harbour"),
        ("on", "sur", "beach bridge island"),
    )
    for word in words.split()
]
_AROUND = (("near", "près de"), ("in front of", "devant"), ("behind", "derrière"))
_WITH = (("me", "moi"), ("you", "vous"), ("him", "lui"), ("her", "elle"), ("us", "nous"), ("them", "eux"))


class AdverbialWriter(NounWriter):
    """Writes adverbials."""

    def adverbials(self, n: int, tense: str, *, place: str = "any", time: bool = True) -> Phrase:
        """Write about n words on where (`place`: any, city, or none: "") and when; nothing if n is 0."""
        phrase = Phrase([], [])
        here = place and (n >= 4 or (n >= 2 and self.chance(0.5)))
        if here:
            room = n - 3 if n >= 5 and time and tense in _WHEN else n
            phrase.add(self.place(2 if place == "city" else self.between(min(3, room), min(room, 9))))
        if n - len(phrase) >= 1 and time:
            phrase.add(self.time(n - len(phrase), tense))
        if 2 <= n - len(phrase) <= 10 and place == "any" and not here:
            phrase.add(self.company(n - len(phrase)))
        return phrase

    def middle(self, tense: str) -> tuple[str, str] | None:
        """Pick an adverb beside the verb, or return None if the tense has none."""
        return self.pick(_MIDDLE[tense]) if tense in _MIDDLE else None

    def manner(self, pace: bool) -> Phrase:
        """Write an adverb of manner."""
        return fixed(*self.pick(_PACE if pace else _CALM))

    def place(self, n: int) -> Phrase:
        """Write a place in about n words."""
        if n <= 2:
            return self.in_city() if self.chance(0.5) else country(self.pick(COUNTRIES), "in")
        noun, preposition, translation = self.pick(_PLACES)
        if n <= 3 and self.chance(0.2):
            preposition, translation = "near", "près de"
        elif self.chance(0.2):
            preposition, translation = self.pick(_AROUND if noun.kind == "building" else _AROUND[:1])
        return self._at(noun, preposition, translation, n)

    def _at(self, noun: Noun, preposition: str, translation: str, n: int) -> Phrase:
        words = [Source(word) for word in preposition.split()]
        room = n - len(words)
        plural = preposition != "at" and self.chance(0.1)
        determiner = "the" if plural or preposition == "at" else self.pick(("the", "the", "the", "a", "this"))
        where = describe(noun, determiner, plural, self.some_adjectives(noun, min(room - 2, 2)))
        if room >= 5:
            relative = self.relative(where, room - len(where))
            if relative is not None:
                where.add(relative)
        return Phrase(words + where.source, [Target(word, tuple(words)) for word in translation.split()] + where.target)

    def in_city(self) -> Phrase:
        """Write a city: in Paris."""
        return self.after("in", "à", "@city", 2)

    def company(self, n: int) -> Phrase:
        """Write with whom something happens."""
        word = Source("with")
        if n == 2 and self.chance(0.4):
            him, lui = self.pick(_WITH)
            phrase = fixed(him, lui)
        else:
            phrase = self.noun_phrase(n - 1, ("person",))
        return Phrase([word, *phrase.source], [Target("avec", (word,)), *phrase.target])

    def time(self, n: int, tense: str) -> Phrase:
        """Write a time that fits the tense; nothing if the tense takes none."""
        if n >= 3 and tense in ("past", "was doing", "will", "going", "present") and self.chance(0.25):
            return self.occasion(n)
        if tense in ("past", "was doing") and n >= 2 and self.chance(0.6):
            return self._past_date(n)
        if tense in ("going", "will") and n >= 3 and self.chance(0.4):
            return self._future_date(n)
        choices = _WHEN.get(tense, ())
        for _ in range(4):
            chosen = self.pick(choices) if choices else ("", "", "")
            if 0 < len(chosen[0].split()) <= n:
                return fixed(*chosen)
        return Phrase([], [])

    def occasion(self, n: int) -> Phrase:
        """Write an occasion: during the war."""
        word, translation = self.pick((("during", "pendant"), ("after", "après"), ("before", "avant")))
        return self.after(word, translation, "event", min(n, 6))

    def _past_date(self, n: int) -> Phrase:
        if n == 2:
            year = str(self.between(1980, 2010))
            return fixed(f"in {year}", f"en {year}")
        if n == 3 and self.chance(0.4):
            return self._ago()
        if n == 3 and self.chance(0.6):
            english_month, french_month = self.pick(_MONTH)
            year = str(self.between(1980, 2010))
            return fixed(f"in {english_month} {year}", f"en {french_month} {year}")
        day = datetime.date(1980, 1, 1) + datetime.timedelta(days=self.between(0, 11_000))
        return date(day, weekday=n >= 5 and self.chance(0.8), year=n >= 4)

    def _ago(self) -> Phrase:
        number = self.pick((2, 3, 4, 5, 6, 7, 8, 10, 12))
        unit, translation, feminine = self.pick(
            (("days", "jours", False), ("weeks", "semaines", True), ("months", "mois", False), ("years", "ans", False))
        )
        words = f"il y a {french.number(number, feminine)} {translation}"
        return fixed(f"{english.number(number)} {unit} ago", words, "0-3 1-4 2-0 2-1 2-2")

    def _future_date(self, n: int) -> Phrase:
        if self.chance(0.4):
            number = self.pick((2, 3, 4, 5, 6, 10))
            unit, translation = self.pick(
                (("days", "jours"), ("weeks", "semaines"), ("months", "mois"), ("years", "ans"))
            )
            return fixed(f"in {english.number(number)} {unit}", f"dans {french.number(number)} {translation}")
        return date(
            datetime.date(2024, 1, 1) + datetime.timedelta(days=self.between(0, 365)), weekday=False, year=False
        )


def date(day: datetime.date, *, weekday: bool, year: bool) -> Phrase:
    """Write a date: on Monday 3 August 1992; le lundi 3 août 1992."""
    english_month, french_month = _MONTH[day.month - 1]
    english_words, french_words = ["on"], ["le"]
    if weekday:
        english_words.append(_DAY[day.weekday()][0])
        french_words.append(_DAY[day.weekday()][1])
    english_words += [str(day.day), english_month]
    french_words += ["1er" if day.day == 1 else str(day.day), french_month]
    if year:
        english_words.append(str(day.year))
        french_words.append(str(day.year))
    return fixed(" ".join(english_words), " ".join(french_words))

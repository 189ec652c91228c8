"""Writes articles: chooses sentences, puts them in order, and links each word of the headline to the article."""

from __future__ import annotations

from typing import NamedTuple

from saccade.corpora.articles.events import EVENTS, GENERAL, OPENINGS
from saccade.corpora.articles.facts import Facts, Notes, Person
from saccade.corpora.articles.kind import Kind
from saccade.corpora.articles.script import Line, Slot, Statement
from saccade.corpora.english_french.words import with_article
from saccade.corpora.stream import Dice, Item, split_of
from saccade.data.example import Example, Links

__all__ = ["Article", "ArticleWriter"]

_FEWEST = 5  # sentences
_GENERAL = 0.25  # share of the sentences that are not about the event, as long as there are others
_OPENED = 0.3  # share of the articles that do not begin with what happened
_ROOM = 3  # words left over that no further sentence has to fill


class _Word(NamedTuple):
    """A word, the fact that it belongs to, and whether its sentence states that fact or merely mentions it."""

    text: str
    fact: str = ""
    states: bool = False


class _Sentence(NamedTuple):
    """A sentence before people are introduced; states: whether a headline may need it."""

    line: Line
    facts: Facts
    states: bool = False


class Article:
    """An article and its headline, before length and split are checked."""

    def __init__(self, words: list[_Word], headline: list[_Word]) -> None:
        self._words, self._headline = words, headline
        self.length = len(words)
        self.target = _text(headline)

    def example(self) -> Example:
        """Return the texts and their gold links."""
        sure, possible = set(), set()
        for target, word in enumerate(self._headline):
            if word.fact:
                same = [place for place, other in enumerate(self._words) if other[:2] == word[:2]]
                sure.add((next(place for place in same if self._words[place].states), target))
                possible |= {(place, target) for place in same}
        return Example(_text(self._words), self.target, links=Links(frozenset(sure), frozenset(possible - sure)))


class ArticleWriter:
    """Writes articles with the names of one split."""

    def __init__(self, split: str, dice: Dice) -> None:
        self._split, self._dice = split, dice

    def __call__(self, length: int) -> Article | None:
        """Write an article of about `length` words; None if its event has more to say than that."""
        notes = Notes(self._split, self._dice)
        kind = notes.pick(EVENTS)
        facts = kind.facts(notes)
        first = notes.between(0, len(kind.news) - 1)
        headline = _filled(kind.news[first].headline, facts)
        if split_of(_text(headline)) != self._split:
            return None  # before the work of writing the rest
        news = [each for place, each in enumerate(kind.news) if place == first or (place > first and notes.chance(0.5))]
        start = [_told(notes, notes.pick(OPENINGS), facts)] if notes.chance(_OPENED) else []
        start.append(_told(notes, kind.lead, facts, True))
        body = [_told(notes, each.statement, facts, True) for each in news]
        body += _more(notes, kind, facts, length - sum(map(_size, start + body)))
        if len(start + body) < _FEWEST:
            return None
        _shuffle(notes, body)
        return Article(_written(start + body), headline)


def _told(notes: Notes, statement: Statement, facts: Facts, states: bool = False) -> _Sentence:
    """Choose a wording, and draw the facts of its own."""
    line = notes.pick(statement)
    own: Facts = {}
    for number, word in enumerate(line):
        if isinstance(word, Slot) and word.fact == "new":
            own[f"new {number}"] = notes.fresh(word.part)
    if own:
        line = tuple(Slot(f"new {n}", "") if f"new {n}" in own else word for n, word in enumerate(line))
    return _Sentence(line, facts | own if own else facts, states)


def _more(notes: Notes, kind: Kind, facts: Facts, room: int) -> list[_Sentence]:
    """Choose further sentences, about the event or not, that fit into `room` words."""
    own, general = [*kind.more], [*GENERAL]
    _shuffle(notes, own)
    _shuffle(notes, general)
    found = []
    while room > _ROOM and (own or general):
        statement = (general if general and (not own or notes.chance(_GENERAL)) else own).pop()
        if len(statement[0]) <= room:
            sentence = _told(notes, statement, facts)
            if (size := _size(sentence)) <= room:
                found.append(sentence)
                room -= size
    return found


def _size(sentence: _Sentence) -> int:
    """Count the words of a sentence that introduces all its people."""
    return len(_filled(sentence.line, sentence.facts, set()))


def _written(sentences: list[_Sentence]) -> list[_Word]:
    """Write out all sentences; a person is introduced where the name occurs first."""
    words: list[_Word] = []
    known: set[str] = set()
    for line, facts, states in sentences:
        here = _filled(line, facts, known, states)
        here[0] = here[0]._replace(text=here[0].text[0].upper() + here[0].text[1:])
        words += here
    return words


def _filled(line: Line, facts: Facts, known: set[str] | None = None, states: bool = False) -> list[_Word]:
    """Fill the slots of a line; `known`: last names of the people that need no introduction, all if it is None."""
    words: list[_Word] = []
    for word in line:
        if isinstance(word, str):
            words.append(_Word(word))
            continue
        fact = facts[word.fact]
        if not isinstance(fact, Person):
            text = fact
        elif word.part:
            text = getattr(fact, word.part)
        elif known is None or fact.last in known:
            text = fact.last
        else:
            known.add(fact.last)
            text = fact.introduction
        words += [_Word(part, word.fact, states) for part in text.split()]
    return words


def _text(words: list[_Word]) -> str:
    return " ".join(with_article([word.text for word in words]))


def _shuffle(dice: Dice, items: list[Item]) -> None:
    """Shuffle in place; the standard library's shuffle may differ between versions of Python."""
    for last in range(len(items) - 1, 0, -1):
        other = dice.between(0, last)
        items[last], items[other] = items[other], items[last]

"""Facts of an article: people, names, numbers and fixed phrases, no two of which are alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from saccade.corpora.articles.names import Names
from saccade.corpora.stream import Dice

__all__ = ["Fact", "Facts", "Notes", "Person"]

_TEAMS = ("Rovers", "United", "City", "Rangers", "Wanderers", "Athletic")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Person(NamedTuple):
    """A person; an article gives the whole name and the role once, and then only the last name."""

    role: str
    first: str
    last: str

    @property
    def introduction(self) -> str:
        """Role and whole name."""
        return f"{self.role} {self.first} {self.last}".strip()


Fact = str | Person
Facts = dict[str, Fact]


class Notes(Dice):
    """Draws the facts of one article, without using a name or a number twice."""

    def __init__(self, split: str, dice: Dice) -> None:
        super().__init__(dice)
        self._names = Names(split, dice)
        self._used: set[str] = set()

    def _unused(self, draw: Callable[[], str]) -> str:
        while (found := draw()) in self._used:
            pass
        self._used.add(found)
        return found

    def person(self, *roles: str) -> Person:
        """Return a person with one of the roles."""
        first, last = self._unused(self._names.first), self._unused(self._names.last)
        return Person(self.pick(roles) if roles else "", first, last)

    def place(self) -> str:
        """Return a town."""
        return self._unused(self._names.place)

    def firm(self) -> str:
        """Return a business."""
        return self._unused(self._names.firm)

    def thing(self) -> str:
        """Return the name of a river, a storm, a prize or a building."""
        return self._unused(self._names.thing)

    def team(self) -> str:
        """Return a team: a town and a word."""
        return f"{self.place()} {self.pick(_TEAMS)}"

    def number(self, low: int = 3, high: int = 98, step: int = 1) -> str:
        """Return an unused multiple of `step` from low · step to high · step."""
        return self._unused(lambda: f"{step * self.between(low, high):,}")

    def few(self) -> str:
        """Return an unused small number."""
        return self.number(2, 12)

    def year(self) -> str:
        """Return an unused year of the past."""
        return self._unused(lambda: str(self.between(1951, 2014)))

    def day(self) -> str:
        """Return a day of the week."""
        return self._unused(lambda: self.pick(_DAYS))

    def score(self, low: int = 0, high: int = 4) -> str:
        """Return the result of a match that the first team won."""

        def draw() -> str:
            best = self.between(max(1, low), high)
            return f"{best}-{self.between(0, best - 1)}"

        return self._unused(draw)

    def level(self) -> str:
        """Return the result of a match that had no winner."""
        return self._unused(lambda: "{0}-{0}".format(self.between(0, 4)))

    def fresh(self, kind: str) -> Fact:
        """Return a new fact of a kind, for a sentence that is not about the event."""
        draw: Callable[[], Fact] = getattr(self, kind)
        return draw()

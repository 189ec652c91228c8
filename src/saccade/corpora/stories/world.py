"""The world of a story: who is where, who has what, and which sentence says so.

A thing is in a place, with a person or in a box; a box is a thing that holds others. People move only by sentences that
say so, and take, leave or pack only what is at hand. So a story never contradicts itself, and no sentence implies more
than the fact that it states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from saccade.corpora.stream import Dice

__all__ = ["BOXES", "PEOPLE", "PLACES", "THINGS", "Fact", "World"]

PEOPLE = ("Mary", "John", "Daniel", "Sandra", "Emily", "Victor", "Julia", "Bill", "Lucy", "Peter")
PLACES = (
    *("kitchen", "garden", "office", "bathroom", "hallway", "library", "garage"),
    *("wine cellar", "living room", "guest room"),
)
THINGS = ("lamp", "apple", "book", "letter", "ball", "key", "hat", "clock", "spoon", "ring")
BOXES = ("basket", "suitcase", "drawer", "bag")

_MOVES = ("{who} went to the {place}.", "{who} walked into the {place}.", "Then {who} moved to the {place}.")
_TAKES = ("{who} took the {thing}.", "{who} picked up the {thing}.", "{who} grabbed the {thing}.")
_LEAVES = ("{who} left the {thing} in the {place}.", "{who} put the {thing} down in the {place}.")
_GIVES = ("{who} gave the {thing} to {other}.", "{who} handed the {thing} to {other}.")
_PACKS = ("{who} put the {thing} into the {box}.", "{who} hid the {thing} in the {box}.")
_MENTIONS = (
    *("{who} talked about the {place}.", "{who} asked {other} about the {thing}.", "{who} never liked the {place}."),
    *("{who} sang a song for {other}.", "Meanwhile {who} thought of the {thing}.", "It began to rain."),
)
_MENTIONED = 0.15  # share of the sentences after which everything is where it was


class Fact(NamedTuple):
    """Where a person or thing is, a place, a person or a box; the number of the sentence that states it."""

    at: str
    sentence: int


class World:
    """Some people, places, things and boxes, and what has happened among them so far."""

    def __init__(self, dice: Dice, length: int) -> None:
        """Choose those that occur in a story of about `length` words."""
        few = 3 + length // 80
        self._dice = dice
        self.people, self.places = _some(dice, PEOPLE, few), _some(dice, PLACES, few + 2)
        self.boxes = _some(dice, BOXES, 1 + few // 4)
        self.things = [*_some(dice, THINGS, few - 1), *self.boxes]
        self.sentences: list[str] = []
        self.facts: dict[str, Fact] = {}
        """The last fact of each person and thing."""

    def happen(self) -> None:
        """Add a sentence: something happens, or is only mentioned."""
        acts = (self._move, self._move, self._take, self._take, self._leave, self._give, self._pack, self._pack)
        if self._dice.chance(_MENTIONED):
            self._mention()
            return
        while not self._dice.pick(acts)():  # a person can always move
            pass

    def chain(self, name: str) -> list[Fact]:
        """Return the facts that lead from a person or thing to its place, as far as the story states them."""
        found = []
        while (fact := self.facts.get(name)) is not None:
            found.append(fact)
            name = fact.at
        return found

    def place_of(self, name: str) -> str | None:
        """Return the place where a person or thing is; None if the story does not say."""
        last = self.chain(name)[-1:]
        return last[0].at if last and last[0].at in self.places else None

    def _move(self) -> bool:
        who = self._dice.pick(self.people)
        place = self._pick([place for place in self.places if place != self.place_of(who)])
        return self._state(_MOVES, who, place, who=who, place=place)

    def _take(self) -> bool:
        who = self._dice.pick(self.people)
        free = [thing for thing in self.things if thing not in self.facts or self._reaches(who, thing)]
        thing = self._pick([thing for thing in free if self._holder(thing) is None])
        return self._state(_TAKES, thing, who, who=who, thing=thing)

    def _leave(self) -> bool:
        who, thing = self._held()
        place = who and self.place_of(who)
        return self._state(_LEAVES, thing, place, who=who, thing=thing, place=place)

    def _give(self) -> bool:
        who, thing = self._held()
        other = self._pick([other for other in self.people if who and other != who and self._reaches(who, other)])
        return self._state(_GIVES, thing, other, who=who, thing=thing, other=other)

    def _pack(self) -> bool:
        who, thing = self._held(self.boxes)
        box = self._pick([box for box in self.boxes if who and (self._holder(box) == who or self._reaches(who, box))])
        return self._state(_PACKS, thing, box, who=who, thing=thing, box=box)

    def _mention(self) -> None:
        who, other = _some(self._dice, self.people, 2)
        place, thing = self._dice.pick(self.places), self._dice.pick(self.things)
        self.sentences.append(self._dice.pick(_MENTIONS).format(who=who, other=other, place=place, thing=thing))

    def _state(self, wordings: tuple[str, ...], name: str | None, at: str | None, **slots: str | None) -> bool:
        """Write the sentence that something is there now; return False if it cannot be."""
        if name is None or at is None:
            return False
        self.facts[name] = Fact(at, len(self.sentences))
        self.sentences.append(self._dice.pick(wordings).format(**slots))
        return True

    def _holder(self, thing: str) -> str | None:
        """Return the person who has a thing in hand."""
        fact = self.facts.get(thing)
        return fact.at if fact is not None and fact.at in self.people else None

    def _held(self, without: Sequence[str] = ()) -> tuple[str | None, str | None]:
        """Return a thing that a person has in hand, after that person."""
        thing = self._pick([thing for thing in self.things if thing not in without and self._holder(thing)])
        return (None, None) if thing is None else (self._holder(thing), thing)

    def _reaches(self, who: str, name: str) -> bool:
        """Return whether a person is known to be in the place where another, or a thing, is."""
        place = self.place_of(who)
        return place is not None and place == self.place_of(name)

    def _pick(self, names: list[str]) -> str | None:
        return self._dice.pick(names) if names else None


def _some(dice: Dice, names: Sequence[str], count: int) -> list[str]:
    """Return some different names."""
    left = list(names)
    return [left.pop(dice.between(0, len(left) - 1)) for _ in range(count)]

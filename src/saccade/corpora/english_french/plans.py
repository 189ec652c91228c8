"""How a verb is going to stand: its tense, its negation, and what may surround it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FUTURE", "PAST", "PERFECT", "PRESENT", "REPORTED", "Plan"]

PRESENT = ("present", "present", "doing")
PAST = ("past", "past", "past", "was doing")
PERFECT = ("perfect",)
FUTURE = ("will", "going", "will")
REPORTED = ("pluperfect", "would", "backdrop")  # after "he said that"
_COST = {"present": 1, "past": 1, "infinitive": 1, "command": 1, "going": 4}  # English words; all others 2


class Plan(NamedTuple):
    """How a verb is going to stand."""

    tense: str
    negation: str = ""
    inverted: bool = False
    adverb: bool = False
    place: str = "any"  # may say where: any place, a city, or none
    time: bool = True  # may say when
    asked: str = ""  # the question's first word
    event: bool = False  # something happens: no state, no quality
    fresh: bool = True  # may take another verb or clause
    negative_subject: bool = False

    @property
    def cost(self) -> int:
        """English words of the verb, about."""
        cost = _COST.get(self.tense, 2) + len(self.negation.split()) + self.adverb
        return cost + 1 if (self.negation == "not" or self.inverted) and self.tense in ("present", "past") else cost

"""Plan: the tense and negation of a verb, and what may surround it."""

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
    """The tense and negation of a verb, and what may surround it."""

    tense: str
    negation: str = ""
    inverted: bool = False
    adverb: bool = False
    place: str = "any"  # allowed adverbials of place: any, city, or none ("")
    time: bool = True  # may have an adverbial of time
    asked: str = ""  # first word of the question
    event: bool = False  # an event: no state and no quality
    fresh: bool = True  # may take another verb or clause
    negative_subject: bool = False

    @property
    def cost(self) -> int:
        """Approximate number of English words of the verb."""
        cost = _COST.get(self.tense, 2) + len(self.negation.split()) + self.adverb
        return cost + 1 if (self.negation == "not" or self.inverted) and self.tense in ("present", "past") else cost

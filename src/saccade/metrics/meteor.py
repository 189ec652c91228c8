"""METEOR-lite: METEOR with the stages that need no word lists (exact and stem), and its fragmentation penalty."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from saccade.errors import ConfigError
from saccade.metrics.stemming import stem

__all__ = ["Matches", "MeteorWeights", "best_matches", "match_words", "meteor_formula"]

AT_ONCE = 256
"""Beam of partial alignments kept after each word. Captions need fewer; it bounds the cost of repetitive text."""
NEAR = 8
"""Of the free positions of a word, the search tries the one after the last match and this many of the first ones."""

NOWHERE = -1

States = dict[tuple[int, int], int]
"""(used positions of the reference, as bits; position matched by the previous word) -> fewest chunks so far."""


class MeteorWeights(NamedTuple):
    """Parameters of METEOR's formula, as in the first paper; see `meteor_formula` for their roles."""

    alpha: float = 0.9
    beta: float = 3.0
    gamma: float = 0.5

    def check(self) -> MeteorWeights:
        """Raise ConfigError for parameters that can give scores outside 0 to 1."""
        for name, value in (("alpha", self.alpha), ("gamma", self.gamma)):
            if not 0 <= value <= 1:
                raise ConfigError(f"{name} is {value}, but must lie between 0 and 1.")
        if self.beta < 0:
            raise ConfigError(f"beta is {self.beta}, but must be 0 or more.")
        return self


class Matches(NamedTuple):
    """Counts of an alignment of a caption with a reference: matched words, both lengths, and chunks.

    A chunk is a run of matched words that are adjacent and in the same order on both sides.
    """

    words: float
    hypothesis: float
    reference: float
    chunks: float


def meteor_formula(matches: Matches, weights: MeteorWeights) -> float:
    """Compute METEOR from the counts of one caption, or summed over many; 0 if no word matches.

    P = words / hypothesis     R = words / reference
    F = P·R / (α·P + (1 − α)·R)     score = F · (1 − γ·(chunks / words)^β)
    """
    words, hypothesis, reference, chunks = matches
    if words <= 0:
        return 0.0
    precision, recall = words / hypothesis, words / reference
    mean = precision * recall / (weights.alpha * precision + (1 - weights.alpha) * recall)
    return mean * (1 - weights.gamma * math.pow(chunks / words, weights.beta))


def best_matches(hypothesis: Sequence[str], references: Sequence[Sequence[str]], weights: MeteorWeights) -> Matches:
    """Return the counts against the reference with the best score; of equal ones, the shortest."""
    found = (match_words(hypothesis, reference) for reference in references)
    return max(found, key=lambda counts: (meteor_formula(counts, weights), -counts.reference, -counts.chunks))


def match_words(hypothesis: Sequence[str], reference: Sequence[str]) -> Matches:
    """Align two captions with as many matches as possible and, among such alignments, the fewest chunks.

    A word matches equal words and words of the same stem, each at most once. An exact match is also a stem match, so
    both stages are resolved together, as METEOR does since its version 1.0. Counting stems gives the number of matches;
    a beam search from left to right over the used positions minimizes the chunks.
    """
    left, right = [stem(word) for word in hypothesis], [stem(word) for word in reference]
    places: dict[str, list[int]] = {}
    for place, word in enumerate(right):
        places.setdefault(word, []).append(place)
    counts, seen = Counter(left), Counter[str]()
    words = sum(min(counts[word], len(there)) for word, there in places.items())
    states: States = {(0, NOWHERE): 0}
    for word in left:
        there = sum(1 << place for place in places.get(word, []))
        # An occurrence may stay unmatched only while enough others are left to fill all positions of the word.
        states = _extend(states, there, seen[word], max(0, counts[word] - there.bit_count()))
        seen[word] += 1
    return Matches(words, len(left), len(right), min(states.values()))


def _extend(states: States, there: int, seen: int, spare: int) -> States:
    """Extend each state by the next word: match it to a free one of its positions (bits), or leave it unmatched."""
    grown: States = {}
    for (used, before), chunks in states.items():
        free = there & ~used
        for place in _tried(free, before):
            begins = before == NOWHERE or place != before + 1
            _keep(grown, (used | 1 << place, place), chunks + begins)
        passed_over = seen - (there.bit_count() - free.bit_count())
        if passed_over < spare or not there:
            _keep(grown, (used, NOWHERE), chunks)
    if len(grown) > AT_ONCE:
        grown = dict(sorted(grown.items(), key=lambda item: item[1])[:AT_ONCE])
    return grown


def _tried(free: int, before: int) -> Iterator[int]:
    if free >> (before + 1) & 1:
        yield before + 1
    for _ in range(NEAR):
        if not free:
            return
        lowest = free & -free
        yield lowest.bit_length() - 1
        free ^= lowest


def _keep(states: States, state: tuple[int, int], chunks: int) -> None:
    states[state] = min(chunks, states.get(state, chunks))

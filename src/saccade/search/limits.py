"""Limits: what is asked of a search beside how it chooses words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from saccade.attention.steering import Steering
from saccade.errors import unknown_name
from saccade.kernels.packed import Precision
from saccade.search.constraints import (
    Banned,
    MaximumLengths,
    MinimumLength,
    Phrase,
    Prefix,
    Required,
    Rule,
    narrowed,
)

__all__ = ["Limits", "Stop"]

Stop = Callable[[], None]
"""Called between steps: raises an Interruption when the answers are no longer wanted, say for want of time."""
MAX_LENGTH = 200
"""The most tokens of an answer, the end included, where no other limit is given."""


@dataclass(frozen=True)
class Limits:
    """What a search is asked for. A phrase is a list of tokens, also if it is one token.

    Options with an entry for each sentence (`max_lengths`, `prefix`, `required`, and rules that have an `of`) travel
    with their sentences when a batch is split.
    """

    max_length: int | None = None
    """The most tokens of an answer, the end included; left out, the largest of `max_lengths`, or 200."""
    max_lengths: Sequence[int] | None = None
    """The same for each sentence by itself."""
    min_length: int = 0
    """The fewest tokens of an answer, the end not counted."""
    prefix: Sequence[Phrase] | None = None
    """For each sentence, the tokens its answer begins with."""
    banned: Sequence[Phrase] = ()
    """Phrases that no answer may contain."""
    required: Sequence[Sequence[Phrase]] | None = None
    """For each sentence, the phrases its answer must contain."""
    constraints: Sequence[Rule] = ()
    """Rules of your own, applied before the others."""
    attention: bool = True
    """Whether to return the attention of each answer."""
    beams: bool = False
    """Whether to return the hypotheses that were dropped, too."""
    steering: Steering | None = None
    """An intervention in the attention."""
    precision: Precision = "full"
    """What the model computes in: "full", as it is, or "int8" where it can."""
    stop: Stop | None = None
    """Called before each step; raises an Interruption to end the search."""

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Limits:
        """Build limits from options by name; a ConfigError names one that does not exist."""
        known = [part.name for part in fields(cls)]
        for name in options:
            if name not in known:
                raise unknown_name("search option", name, known)
        return cls(**options)

    @property
    def longest(self) -> int:
        """The most tokens that any answer may have."""
        if self.max_length is not None:
            return self.max_length
        return MAX_LENGTH if self.max_lengths is None else max(self.max_lengths)

    @property
    def only_lengths(self) -> bool:
        """Whether nothing is asked that a step has to look at but `max_lengths`: then faster loops may be taken."""
        asked = (self.prefix, self.required, self.steering)
        return not (self.min_length or self.banned or self.constraints or self.beams) and all(a is None for a in asked)

    def rules(self) -> list[Rule]:
        """Return all constraints, in the order in which they are applied."""
        made = list(self.constraints)
        if self.min_length:
            made.append(MinimumLength(self.min_length))
        if self.banned:
            made.append(Banned(self.banned))
        if self.prefix is not None:
            made.append(Prefix(self.prefix, banned=self.banned))
        if self.required is not None:
            made.append(Required(self.required, prefixes=self.prefix, banned=self.banned, lengths=self.max_lengths))
        if self.max_lengths is not None:
            made.append(MaximumLengths(self.max_lengths))
        return made

    def of(self, rows: Sequence[int]) -> Limits | None:
        """Return the limits of some of the sentences; None where a rule knows only how to rule all of them."""
        rules = narrowed(self.constraints, rows)
        if rules is None:
            return None
        each: dict[str, Any] = {
            name: [values[row] for row in rows]
            for name in ("max_lengths", "prefix", "required")
            if (values := getattr(self, name)) is not None
        }
        return replace(self, constraints=rules, **each)

"""Limits: the options of a search apart from its strategy, such as lengths and constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from saccade.attention.steering import Steering
from saccade.batch import UNK
from saccade.errors import unknown_name
from saccade.kernels.packed import Precision
from saccade.search.constraints import (
    Banned,
    MaximumLengths,
    MinimumLength,
    NoRepeat,
    Phrase,
    Prefix,
    Required,
    Rule,
    narrowed,
)

__all__ = ["Limits", "Stop"]

Stop = Callable[[], None]
"""Called between steps; raises an Interruption to cancel the search, for example at a timeout."""
MAX_LENGTH = 200
"""Default maximum tokens of an answer, the end included."""


@dataclass(frozen=True)
class Limits:
    """Options of a search. A phrase is a list of tokens, even if it is a single token.

    Options with an entry for each sentence (`max_lengths`, `prefix`, `required`, and rules that have an `of`) are split
    together with the batch.
    """

    max_length: int | None = None
    """Maximum tokens of an answer, the end included; default: the largest of `max_lengths`, or 200."""
    max_lengths: Sequence[int] | None = None
    """Maximum tokens of each sentence's answer."""
    min_length: int = 0
    """Minimum tokens of an answer, without the end."""
    no_repeat_ngram: int | None = None
    """Length of n-grams that an answer may contain only once."""
    unknown: bool = True
    """Whether an answer may contain UNK."""
    prefix: Sequence[Phrase] | None = None
    """For each sentence, the tokens its answer begins with."""
    banned: Sequence[Phrase] = ()
    """Phrases that no answer may contain."""
    required: Sequence[Sequence[Phrase]] | None = None
    """For each sentence, the phrases its answer must contain."""
    constraints: Sequence[Rule] = ()
    """Your own rules, applied before the others."""
    attention: bool = True
    """Whether to return the attention of each answer."""
    beams: bool = False
    """Whether to return all hypotheses of each step, too."""
    steering: Steering | None = None
    """An intervention in the attention."""
    precision: Precision = "full"
    """Precision of matmuls: "full", the model's own, or "int8" where it is available."""
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
        """Maximum tokens of any answer."""
        if self.max_length is not None:
            return self.max_length
        return MAX_LENGTH if self.max_lengths is None else max(self.max_lengths)

    @property
    def only_lengths(self) -> bool:
        """Whether no option except `max_lengths` affects the steps, so that the faster loops may be used."""
        others = (self.no_repeat_ngram, self.prefix, self.required, self.steering)
        limited = self.min_length or not self.unknown or self.banned or self.constraints or self.beams
        return not limited and all(other is None for other in others)

    def rules(self) -> list[Rule]:
        """Return all constraints, in the order in which they are applied."""
        made = list(self.constraints)
        if self.min_length:
            made.append(MinimumLength(self.min_length))
        if self.no_repeat_ngram is not None:
            made.append(NoRepeat(self.no_repeat_ngram))
        if not self.unknown and not any(UNK in prefix for prefix in self.prefix or ()):
            made.append(Banned([[UNK]]))
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
        """Return the limits of these sentences; None if one of the constraints cannot be split."""
        rules = narrowed(self.constraints, rows)
        if rules is None:
            return None
        each: dict[str, Any] = {
            name: [values[row] for row in rows]
            for name in ("max_lengths", "prefix", "required")
            if (values := getattr(self, name)) is not None
        }
        return replace(self, constraints=rules, **each)

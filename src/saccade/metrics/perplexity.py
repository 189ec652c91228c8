"""Perplexity: the number of equally likely choices that would give the same loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

from saccade.errors import DataError, NumericsError

__all__ = ["Perplexity", "perplexities"]


@dataclass(frozen=True)
class Perplexity:
    """One loss in several units; a unit is None if the count it needs was not given.

    Only `per_word` and `bits_per_character` can be compared between models that cut text into different tokens.
    """

    nats_per_token: float
    per_token: float
    per_word: float | None = None
    bits_per_character: float | None = None


def perplexities(nats: float, tokens: int, *, words: int | None = None, characters: int | None = None) -> Perplexity:
    """Compute perplexities from a total negative log-likelihood in nats and the counts that it was summed over.

        per_token = exp(nats / tokens)
        per_word = exp(nats / words)
        bits_per_character = nats / (ln 2 · characters)

    Count the end of each sentence as a token if its loss is in the sum, and then also as a word. A perplexity too
    large for a float is infinity.
    """
    if math.isnan(nats):
        raise NumericsError("the negative log-likelihood is NaN. Find the first step with a NaN loss.")
    if nats < 0:
        raise DataError(f"the negative log-likelihood is {nats}, but must be 0 or more. Pass it with its sign changed.")
    for name, count in (("tokens", tokens), ("words", words), ("characters", characters)):
        if count is not None and count <= 0:
            raise DataError(f"the loss was summed over {count} {name}, but must be over 1 or more.")
    return Perplexity(
        nats_per_token=nats / tokens,
        per_token=_exp(nats / tokens),
        per_word=None if words is None else _exp(nats / words),
        bits_per_character=None if characters is None else nats / math.log(2) / characters,
    )


def _exp(power: float) -> float:
    try:
        return math.exp(power)
    except OverflowError:
        return math.inf

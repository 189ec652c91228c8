"""Limits: what a request may ask of a server that others use, too."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from saccade.errors import SaccadeError
from saccade.search.settings import SearchConfig
from saccade.serve.models import Answering
from saccade.serve.problems import Problem
from saccade.serve.settings import Settings

__all__ = ["check_attention", "check_count", "check_search", "check_texts"]

_NUMBERS = {"length_penalty": 100, "coverage_penalty": 100, "top_k": 2**31 - 1, "seed": 2**63 - 1}
"""What numbers have room for; nobody means more."""
_ATTENTION = 8_000_000
"""Numbers of attention in an answer: about 60 MB."""
_SHORT = 4000
"""Letters that are split into tokens quicker than a thread is asked to do it."""


def check_search(model: Answering, options: dict[str, Any], settings: Settings) -> SearchConfig:
    """The search that some options mean, if it is within the limits."""
    limits = {
        "beam": settings.max_beam,
        "nbest": settings.max_beam,
        "max_length": settings.max_output,
        "min_length": settings.max_output,
        **_NUMBERS,
    }
    for name, most in limits.items():
        if options.get(name, 0) > most:
            raise Problem(422, f"{name} is {_short(options[name])}, but this server allows at most {most:,}.")
    try:
        return model.search(options)
    except SaccadeError as error:
        raise Problem(422, str(error)) from error


def check_count(count: int, settings: Settings, what: str = "inputs") -> None:
    """Refuse more inputs than a request may have."""
    if count > settings.max_inputs:
        raise Problem(
            422, f"There are {count:,} {what}, but this server takes at most {settings.max_inputs:,} at a time."
        )


async def check_texts(model: Answering, texts: Sequence[str], settings: Settings) -> int:
    """The tokens of all texts, if they are within the limits."""
    check_count(len(texts), settings)
    if sum(map(len, texts)) > _SHORT:  # the other requests need not wait for it
        return await asyncio.to_thread(_count, model, texts, settings)
    return _count(model, texts, settings)


def check_attention(model: Answering, inputs: int, search: SearchConfig, tokens: int) -> None:
    """Refuse answers with more numbers of attention than a message should hold."""
    longest = -(-tokens // max(1, inputs))  # on average, which is what adds up
    numbers = inputs * model.looked(longest, search)
    if numbers > _ATTENTION:
        raise Problem(
            422,
            f"The attention of these answers could be {numbers:,} numbers, but this server sends at most "
            f"{_ATTENTION:,} at a time. Ask for fewer or shorter ones, or without attention.",
        )


def _count(model: Answering, texts: Sequence[str], settings: Settings) -> int:
    total = 0
    for number, text in enumerate(texts, 1):
        tokens = model.length(text)
        if tokens > settings.max_input:
            raise Problem(
                422, f"Input {number} has {tokens:,} tokens, but this server reads at most {settings.max_input:,}."
            )
        total += tokens
    return total


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 20 else f"{text[:20]}…"

"""Limits on the options and inputs of one request."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from saccade.errors import SaccadeError
from saccade.search.search_config import SearchConfig
from saccade.serve.models import Answering
from saccade.serve.problems import Problem
from saccade.serve.serve_config import Settings

__all__ = ["check_attention", "check_count", "check_search", "check_texts"]

_NUMBERS = {
    "length_penalty": 100,
    "coverage_penalty": 100,
    "overlap_penalty": 100,
    "no_repeat_ngram": 100,
    "top_k": 2**31 - 1,
    "seed": 2**63 - 1,
}
"""Upper limits of options that only have to fit their number types."""
_ATTENTION = 8_000_000
"""Maximum attention weights in a response; as JSON about 60 MB."""
_INLINE = 4000
"""Up to this many characters, tokenizing is faster than handing the work to a thread."""


def check_search(model: Answering, options: dict[str, Any], settings: Settings) -> SearchConfig:
    """Return the search config for `options`; raise a Problem if they are invalid or beyond the limits."""
    limits = {
        "beam": settings.max_beam,
        "nbest": settings.max_beam,
        "mbr": settings.max_beam,
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
    """Raise a Problem if a request has too many inputs."""
    if count > settings.max_inputs:
        raise Problem(
            422, f"There are {count:,} {what}, but this server takes at most {settings.max_inputs:,} at a time."
        )


async def check_texts(model: Answering, texts: Sequence[Any], settings: Settings) -> int:
    """Count the tokens of all inputs but images; raise a Problem if they are invalid or beyond the limits."""
    check_count(len(texts), settings)
    for number, given in enumerate(texts, 1):
        if (why := model.fault(given)) is not None:
            raise Problem(422, f"{_name(number, texts)} {why}")
        if isinstance(given, dict) and (turns := len(given.get("turns", ()))) > settings.max_turns:
            why = f"has {turns:,} turns, but this server reads at most {settings.max_turns:,}. Send the newest ones."
            raise Problem(422, f"{_name(number, texts)} {why}")
    if sum(map(_characters, texts)) > _INLINE:  # longer texts would block the event loop
        return await asyncio.to_thread(_count, model, texts, settings)
    return _count(model, texts, settings)


def check_attention(model: Answering, inputs: int, search: SearchConfig, tokens: int) -> None:
    """Raise a Problem if a response could have too many attention weights."""
    longest = -(-tokens // max(1, inputs))  # the average length; times `inputs` it gives the total
    numbers = inputs * model.looked(longest, search)
    if numbers > _ATTENTION:
        raise Problem(
            422,
            f"These answers could have {numbers:,} attention weights, but this server sends at most {_ATTENTION:,} "
            "at a time. Ask for fewer or shorter answers, or leave attention out.",
        )


def _characters(given: Any) -> int:
    if isinstance(given, dict | list):
        return sum(map(_characters, given.values() if isinstance(given, dict) else given))
    return len(given) if isinstance(given, str) else 0


def _count(model: Answering, texts: Sequence[Any], settings: Settings) -> int:
    total = 0
    for number, text in enumerate(texts, 1):
        tokens = model.length(text)
        if tokens > settings.max_input_tokens:
            most = f"but this server reads at most {settings.max_input_tokens:,}."
            raise Problem(422, f"{_name(number, texts)} has {tokens:,} tokens, {most}")
        total += tokens
    return total


def _name(number: int, texts: Sequence[Any]) -> str:
    if len(texts) > 1:
        return f"Input {number}"
    return "The text" if isinstance(texts[0], str) else "The input"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 20 else f"{text[:20]}…"

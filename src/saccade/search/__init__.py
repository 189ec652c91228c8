"""Search: one loop for all models, and three ways to choose words in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import torch

from saccade.attention.steering import Steering
from saccade.batch import Batch
from saccade.errors import unknown_name
from saccade.models.base import Precision, Seq2Seq
from saccade.search.beam import Beam
from saccade.search.constraints import Banned, Constraint, MaximumLengths, MinimumLength, Phrase, Prefix, Required, Rule
from saccade.search.history import Hypothesis
from saccade.search.loop import Stop, Strategy, run
from saccade.search.walk import Greedy, Sample

__all__ = [
    "Banned",
    "Beam",
    "Constraint",
    "Greedy",
    "Hypothesis",
    "Limits",
    "MaximumLengths",
    "MinimumLength",
    "Prefix",
    "Required",
    "Rule",
    "Sample",
    "Stop",
    "Strategy",
    "beam",
    "greedy",
    "run",
    "sample",
]

MAX_LENGTH = 200
"""How many words, the end included, an answer may have unless told otherwise."""


class Limits(TypedDict, total=False):
    """What every search can be told; a phrase is a list of words, also if it is one word."""

    max_length: int
    """How many words at most, the end included."""
    max_lengths: Sequence[int] | None
    """The same for each sentence by itself; `max_length` is left out then."""
    min_length: int
    """How many words at least, the end not counted."""
    prefix: Sequence[Phrase]
    """For each sentence, the words it begins with."""
    banned: Sequence[Phrase]
    """Phrases that may not come."""
    required: Sequence[Sequence[Phrase]]
    """For each sentence, the phrases it must contain."""
    constraints: Sequence[Rule]
    """Rules of your own, asked before the others."""
    attention: bool
    """Whether to record where the model looked; it does unless told otherwise."""
    beams: bool
    """Whether to remember the hypotheses that were left behind; it does not unless told so."""
    steering: Steering | None
    """What interferes with where the model looks."""
    precision: Precision
    """What the model computes in: "full", as it is, unless told "int8"."""
    stop: Stop | None
    """Called before each step; raises an Interruption to end the search."""


def greedy(model: Seq2Seq, batch: Batch, **limits: Unpack[Limits]) -> list[Hypothesis]:
    """The answer made of the likeliest word each time; one Hypothesis a sentence.

    For `limits` see Limits: lengths, prefixes, banned and required phrases.
    """
    return [found[0] for found in _run(model, batch, Greedy(), limits)]


def beam(
    model: Seq2Seq,
    batch: Batch,
    width: int = 5,
    *,
    length_penalty: float = 0.0,
    coverage_penalty: float = 0.0,
    nbest: int = 1,
    **limits: Unpack[Limits],
) -> list[list[Hypothesis]]:
    """The best answers a beam of `width` finds, best first; `nbest` for each sentence. Limits: see Limits."""
    strategy = Beam(width, length_penalty=length_penalty, coverage_penalty=coverage_penalty, nbest=nbest)
    return _run(model, batch, strategy, limits)


def sample(
    model: Seq2Seq,
    batch: Batch,
    samples: int = 1,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | Sequence[torch.Generator] | None = None,
    **limits: Unpack[Limits],
) -> list[list[Hypothesis]]:
    """Answers drawn from the model, `samples` for each sentence, the likeliest first. Limits: see Limits."""
    strategy = Sample(samples, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    return _run(model, batch, strategy, limits)


def _run(model: Seq2Seq, batch: Batch, strategy: Strategy, limits: Limits) -> list[list[Hypothesis]]:
    for name in limits:
        if name not in Limits.__annotations__:
            raise unknown_name("search option", name, Limits.__annotations__)
    prefix, required, banned = limits.get("prefix"), limits.get("required"), limits.get("banned") or ()
    asked = list(limits.get("constraints", ()))
    lengths = limits.get("max_lengths")
    if limits.get("min_length"):
        asked.append(MinimumLength(limits["min_length"]))
    if banned:
        asked.append(Banned(banned))
    if prefix is not None:
        asked.append(Prefix(prefix, banned=banned))
    if required is not None:
        asked.append(Required(required, prefixes=prefix, banned=banned, lengths=lengths))
    if lengths is not None:
        asked.append(MaximumLengths(lengths))
    length = limits.get("max_length", MAX_LENGTH if lengths is None else max(lengths))
    attention = limits.get("attention", True)
    beams, steering = limits.get("beams", False), limits.get("steering")
    return run(
        model,
        batch,
        strategy,
        max_length=length,
        constraints=asked,
        attention=attention,
        beams=beams,
        steering=steering,
        precision=limits.get("precision", "full"),
        stop=limits.get("stop"),
    )

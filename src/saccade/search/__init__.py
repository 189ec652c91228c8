"""Search: one loop for all models, and three ways to choose words in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from saccade.batch import Batch
from saccade.models.base import Seq2Seq
from saccade.search.beam import Beam
from saccade.search.constraints import Banned, Constraint, MinimumLength, Phrase, Prefix, Required, Rule
from saccade.search.loop import Strategy, run
from saccade.search.trace import Hypothesis
from saccade.search.walk import Greedy, Sample

__all__ = [
    "Banned",
    "Beam",
    "Constraint",
    "Greedy",
    "Hypothesis",
    "MinimumLength",
    "Prefix",
    "Required",
    "Rule",
    "Sample",
    "Strategy",
    "beam",
    "greedy",
    "run",
    "sample",
]

MAX_LENGTH = 200
"""How many words, the end included, an answer may have unless told otherwise."""


def greedy(model: Seq2Seq, batch: Batch, **limits: Any) -> list[Hypothesis]:
    """The answer made of the likeliest word each time; one Hypothesis a sentence.

    All searches take: max_length, min_length, prefix (words each sentence begins with, a list a sentence),
    banned (phrases that may not come), required (phrases that must, a list of them a sentence), constraints
    (your own, asked first), attention (whether to record where the model looked; True). A phrase is a list of
    words, also if it is one word.
    """
    return [found[0] for found in _run(model, batch, Greedy(), **limits)]


def beam(
    model: Seq2Seq,
    batch: Batch,
    width: int = 5,
    *,
    length_penalty: float = 0.0,
    coverage_penalty: float = 0.0,
    nbest: int = 1,
    **limits: Any,
) -> list[list[Hypothesis]]:
    """The best answers a beam of `width` finds, best first; `nbest` for each sentence. Limits as for greedy."""
    strategy = Beam(width, length_penalty=length_penalty, coverage_penalty=coverage_penalty, nbest=nbest)
    return _run(model, batch, strategy, **limits)


def sample(
    model: Seq2Seq,
    batch: Batch,
    samples: int = 1,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
    **limits: Any,
) -> list[list[Hypothesis]]:
    """Answers drawn from the model, `samples` for each sentence, the likeliest first. Limits as for greedy."""
    strategy = Sample(samples, temperature=temperature, top_k=top_k, top_p=top_p, generator=generator)
    return _run(model, batch, strategy, **limits)


def _run(
    model: Seq2Seq,
    batch: Batch,
    strategy: Strategy,
    *,
    max_length: int = MAX_LENGTH,
    min_length: int = 0,
    prefix: Sequence[Phrase] | None = None,
    banned: Sequence[Phrase] | None = None,
    required: Sequence[Sequence[Phrase]] | None = None,
    constraints: Sequence[Rule] = (),
    attention: bool = True,
) -> list[list[Hypothesis]]:
    asked = list(constraints)
    banned = banned or ()
    if min_length:
        asked.append(MinimumLength(min_length))
    if banned:
        asked.append(Banned(banned))
    if prefix is not None:
        asked.append(Prefix(prefix, banned=banned))
    if required is not None:
        asked.append(Required(required, prefixes=prefix, banned=banned))
    return run(model, batch, strategy, max_length=max_length, constraints=asked, attention=attention)

"""`decode`: pick the fastest search loop that supports the request.

All loops find the same hypotheses. `loop.run` supports everything; `continuous_search` refills free rows on a CPU;
`graphed_search` replays CUDA graphs. The last two support neither constraints nor interventions, and record no
attention; after `graphed_search` it is computed in one pass of teacher forcing.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from saccade.batch import Batch
from saccade.errors import ConfigError
from saccade.models.base import Seq2Seq
from saccade.search.beam import Beam
from saccade.search.consensus import by_consensus
from saccade.search.continuous_batching import continuous_search
from saccade.search.forced_attention import attend_again
from saccade.search.graphed_search import graphed_search
from saccade.search.greedy import Greedy, Sample
from saccade.search.history import Hypothesis
from saccade.search.limits import MAX_LENGTH, Limits
from saccade.search.loop import Strategy, run
from saccade.search.search_config import SearchConfig
from saccade.threads import decoding_threads

__all__ = ["decode"]

_OF_CONFIG = ("min_length", "no_repeat_ngram", "unknown", "precision")
"""Limits that SearchConfig has."""


def decode(
    model: Seq2Seq,
    batch: Batch,
    config: SearchConfig | None = None,
    *,
    lengths: Sequence[int] | None = None,
    room: int | None = None,
    **options: Any,
) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence, best first, `nbest` per sentence.

    `lengths`: the maximum tokens of each answer; default: `config.max_length` or 200. `room`: the maximum tokens the
    model can write, if it has such a limit. For `options` see `Limits`. The batch is split into parts of at most
    `config.together` sentences, unless one of the `constraints` cannot be split (`Constraint.of`).
    On a CPU a small model decodes in one thread (`saccade.threads`).
    """
    for name in ("max_length", "max_lengths", *_OF_CONFIG):
        if name in options:  # these have a place of their own
            where = "lengths=" if name == "max_lengths" else f"SearchConfig({name}=…)"
            raise ConfigError(f"decode was given {name} as an option. Pass it as {where}.")
    config = config or SearchConfig()
    lengths = lengths or [config.max_length or MAX_LENGTH] * batch.size
    shortest = min(lengths)
    if config.min_length >= shortest:  # checked for each sentence, so decoding stays batch-invariant
        raise ConfigError(
            f"min_length is {config.min_length} words, but max_length {shortest} leaves no room for them and the end. "
            f"Make max_length at least {config.min_length + 1}."
        )
    most = [min(length, room or length) for length in lengths]
    own = {name: getattr(config, name) for name in _OF_CONFIG}
    limits = Limits.parse({**options, **own})
    limits = replace(limits, max_lengths=most)
    together = config.together(next(model.parameters()).device, large=_large(batch, limits))
    with decoding_threads(model, min(batch.size, together) * config.width):
        return _decode(model, batch, config, limits, room, together)


def _decode(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, room: int | None, together: int
) -> list[list[Hypothesis]]:
    if (found := _continuous(model, batch, config, limits, together)) is not None:
        return found
    if batch.size <= together or limits.of([0]) is None:
        return _search(model, batch, config, limits, room)
    answers: list[list[Hypothesis]] = []
    for start in range(0, batch.size, together):
        rows = range(start, min(start + together, batch.size))
        own = limits.of(rows)
        assert own is not None
        answers += _search(model, batch.take(slice(start, rows.stop)).trimmed(), config, own, room)
    return answers


def _large(batch: Batch, limits: Limits) -> bool:
    """Return whether sentences need much memory: their attention is kept, or their source is not only tokens."""
    return limits.attention or any(name != "source" for name in batch.reads)


def _search(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, room: int | None
) -> list[list[Hypothesis]]:
    """Search all sentences of a batch together."""
    if config.sample and config.mbr is not None:
        return _agreed(model, batch, config, limits, room)
    if limits.attention and model.attends_afterwards:
        answers = _search(model, batch, config, replace(limits, attention=False), room)
        return attend_again(model, batch, answers, limits.steering)
    if (found := _replayed(model, batch, config, limits, room)) is not None:
        return found
    assert limits.max_lengths is not None
    if min(limits.max_lengths) == max(limits.max_lengths):  # then max_length is enough
        limits = replace(limits, max_length=limits.longest, max_lengths=None)
    if config.sample:
        generators = _generators(batch, config.seed, limits.prefix, next(model.parameters()).device)
        drawn: dict[str, Any] = {"temperature": config.temperature, "top_k": config.top_k, "top_p": config.top_p}
        return run(model, batch, Sample(config.nbest, generator=generators, **drawn), limits)
    return run(model, batch, _strategy(config)(), limits)


def _agreed(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, room: int | None
) -> list[list[Hypothesis]]:
    """Draw `config.mbr` samples of each sentence; return the `nbest` that agree most with all of them."""
    afterwards = limits.attention and batch.source_mask is not None  # of the answers instead of all samples
    drawn = config.model_copy(update={"nbest": config.mbr, "mbr": None})
    samples = _search(model, batch, drawn, replace(limits, attention=limits.attention and not afterwards), room)
    found = [by_consensus(own)[: config.nbest] for own in samples]
    return attend_again(model, batch, found, limits.steering) if afterwards else found


def _strategy(config: SearchConfig) -> Callable[[], Strategy]:
    if config.beam == 1:
        return Greedy
    return partial(
        Beam,
        config.beam,
        length_penalty=config.length_penalty,
        coverage_penalty=config.coverage_penalty,
        overlap_penalty=config.overlap_penalty,
        nbest=config.nbest,
    )


def _is_simple(model: Seq2Seq, config: SearchConfig, limits: Limits) -> bool:
    """Return whether the faster loops support the request."""
    if model.sums_scores:
        return False
    penalized = config.coverage_penalty or config.overlap_penalty
    return not config.sample and not penalized and limits.only_lengths


def _replayed(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, room: int | None
) -> list[list[Hypothesis]] | None:
    """Search by replaying CUDA graphs; return None without a GPU or if a step needs the CPU."""
    if not _is_simple(model, config, limits):
        return None
    key = (config.beam, config.nbest, config.length_penalty)
    options: dict[str, Any] = {"room": room, "precision": limits.precision, "stop": limits.stop}
    found = graphed_search(model, batch, _strategy(config), key, lengths=list(limits.max_lengths or ()), **options)
    if found is None or not limits.attention:
        return found
    return attend_again(model, batch, found)


def _continuous(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, rows: int
) -> list[list[Hypothesis]] | None:
    """Search by continuous batching; return None if the device or the request does not support it."""
    if (
        not _is_simple(model, config, limits)
        or limits.attention
        or batch.source is None
        or batch.source.device.type != "cpu"
    ):
        return None
    options: dict[str, Any] = {"precision": limits.precision, "stop": limits.stop}
    return continuous_search(model, batch, _strategy(config), rows=rows, lengths=limits.max_lengths or (), **options)


def _generators(batch: Batch, seed: int, prefixes: Sequence[Any] | None, device: torch.device) -> list[torch.Generator]:
    """Make a generator per sentence, seeded by its source and prefix, so that sampling is batch-invariant."""
    starts = prefixes or [None] * batch.size
    seeds = [zlib.crc32(f"{key}{start}".encode()) ^ seed for key, start in zip(batch.row_keys(), starts, strict=True)]
    return [torch.Generator(device).manual_seed(number) for number in seeds]

"""The one entry to searching: picks the fastest loop that gives the answers that were asked for.

The loops, which all find the same hypotheses: `loop.run` takes anything; `flow` refills free rows on a CPU; `recorded`
replays CUDA graphs. The last two take neither constraints nor interventions; attention is computed afterwards or not
at all.
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
from saccade.search.flow import flow
from saccade.search.history import Hypothesis
from saccade.search.limits import MAX_LENGTH, Limits
from saccade.search.look_again import look_again
from saccade.search.loop import Strategy, run
from saccade.search.recorded import recorded
from saccade.search.settings import SearchConfig
from saccade.search.walk import Greedy, Sample
from saccade.threads import decoding_threads

__all__ = ["decode"]


def decode(
    model: Seq2Seq,
    batch: Batch,
    config: SearchConfig | None = None,
    *,
    lengths: Sequence[int] | None = None,
    room: int | None = None,
    **options: Any,
) -> list[list[Hypothesis]]:
    """Find the answers a config asks for, best first, `nbest` for each sentence.

    `lengths`: the most tokens of each answer; left out, `config.max_length` or 200. `room`: the most tokens the model
    can write, where that is limited. For `options` see `Limits`. More sentences than `config.together` says are
    searched so many at a time, each with its own limits; but all at once where one of the `constraints` has no `of`.
    On the CPU a small model takes one thread for the time of the call (`saccade.threads`).
    """
    for name in ("max_length", "max_lengths", "min_length", "precision"):
        if name in options:  # two places for one setting, of which one would be ignored
            where = "lengths=" if name == "max_lengths" else f"SearchConfig({name}=…)"
            raise ConfigError(f"decode was given {name} as an option. Pass it as {where}.")
    config = config or SearchConfig()
    lengths = lengths or [config.max_length or MAX_LENGTH] * batch.size
    shortest = min(lengths)
    if config.min_length >= shortest:  # of each by itself, so that the rest of the batch changes nothing
        raise ConfigError(
            f"min_length is {config.min_length} words, but max_length {shortest} leaves no room for them and the end. "
            f"Make max_length at least {config.min_length + 1}."
        )
    most = [min(length, room or length) for length in lengths]
    limits = Limits.parse({**options, "min_length": config.min_length, "precision": config.precision})
    limits = replace(limits, max_lengths=most)
    together = config.together(next(model.parameters()).device, large=_large(batch, limits))
    with decoding_threads(model, min(batch.size, together) * max(config.beam, config.nbest)):
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
    """Whether few sentences have room together: their attention is kept, or they are more than tokens."""
    return limits.attention or any(name != "source" for name in batch.reads)


def _search(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, room: int | None
) -> list[list[Hypothesis]]:
    """Search all sentences of a batch together."""
    if (found := _replayed(model, batch, config, limits, room)) is not None:
        return found
    assert limits.max_lengths is not None
    if min(limits.max_lengths) == max(limits.max_lengths):  # then no rule is needed for them
        limits = replace(limits, max_length=limits.longest, max_lengths=None)
    if config.sample:
        chance = _generators(batch, config.seed, limits.prefix, next(model.parameters()).device)
        drawn: dict[str, Any] = {"temperature": config.temperature, "top_k": config.top_k, "top_p": config.top_p}
        return run(model, batch, Sample(config.nbest, generator=chance, **drawn), limits)
    return run(model, batch, _strategy(config)(), limits)


def _strategy(config: SearchConfig) -> Callable[[], Strategy]:
    if config.beam == 1:
        return Greedy
    return partial(
        Beam,
        config.beam,
        length_penalty=config.length_penalty,
        coverage_penalty=config.coverage_penalty,
        nbest=config.nbest,
    )


def _is_simple(config: SearchConfig, limits: Limits) -> bool:
    """Whether the faster loops find what is asked for."""
    return not config.sample and not config.coverage_penalty and limits.only_lengths


def _replayed(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, room: int | None
) -> list[list[Hypothesis]] | None:
    """Search by replaying CUDA graphs; None where there is no GPU or something needs the processor in each step."""
    if not _is_simple(config, limits):
        return None
    key = (config.beam, config.nbest, config.length_penalty)
    options: dict[str, Any] = {"room": room, "precision": limits.precision, "stop": limits.stop}
    found = recorded(model, batch, _strategy(config), key, lengths=list(limits.max_lengths or ()), **options)
    if found is None or not limits.attention:
        return found
    return look_again(model, batch, found)


def _continuous(
    model: Seq2Seq, batch: Batch, config: SearchConfig, limits: Limits, rows: int
) -> list[list[Hypothesis]] | None:
    """Search by continuous batching; None where something needs a batch to stay together."""
    if not _is_simple(config, limits) or limits.attention or batch.source is None or batch.source.device.type != "cpu":
        return None
    options: dict[str, Any] = {"precision": limits.precision, "stop": limits.stop}
    return flow(model, batch, _strategy(config), rows=rows, lengths=limits.max_lengths or (), **options)


def _generators(batch: Batch, seed: int, prefixes: Sequence[Any] | None, device: torch.device) -> list[torch.Generator]:
    """Make a generator for each sentence, seeded by what it reads: its draws are the same in every batch and row."""
    starts = prefixes or [None] * batch.size
    seeds = [zlib.crc32(f"{key}{start}".encode()) ^ seed for key, start in zip(batch.row_keys(), starts, strict=True)]
    return [torch.Generator(device).manual_seed(number) for number in seeds]

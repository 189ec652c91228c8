"""SearchConfig: how answers are looked for."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch
from pydantic import Field, model_validator

from saccade.batch import Batch
from saccade.config import Config, Count
from saccade.errors import ConfigError
from saccade.models.base import Seq2Seq
from saccade.search import Beam, Greedy, Hypothesis, beam, greedy, sample
from saccade.search.constraints import narrowed
from saccade.search.flow import flow
from saccade.search.look_again import look_again
from saccade.search.loop import Strategy
from saccade.search.recorded import recorded

__all__ = ["SearchConfig", "find"]

_FEW, _MANY, _HYPOTHESES = 32, 256, 2560
"""Sentences searched together where nobody says how many: at least, at most, and the hypotheses of a GPU's."""


class SearchConfig(Config):
    """Greedy search at width 1, beam search above it, sampling if asked for."""

    beam: int = Field(1, ge=1, le=1000)
    nbest: int = Field(1, ge=1, le=1000)
    length_penalty: float = Field(0.6, ge=0, le=100)
    """For beams: 0 prefers short answers; Wu et al. 2016, arXiv:1609.08144, have 0.6 to 0.7."""
    coverage_penalty: float = Field(0.0, ge=0, le=1e6)
    sample: bool = False
    temperature: float = Field(1.0, ge=1e-3, le=1e3)
    top_k: Count | None = None
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int = Field(1, ge=0, lt=2**63)
    """For sampling."""
    max_length: int | None = Field(None, ge=1, le=100_000)
    """The most tokens of an answer; left out, twice those of its source and 20 more."""
    min_length: int = Field(0, ge=0, le=100_000)
    batch: Count | None = None
    """Sentences searched together; left out, 32, and more on a GPU, which they are to fill."""
    precision: Literal["full", "int8"] = "full"
    """What products are computed in: "full", as the model is, or in eight bits where processor and model allow it."""

    @model_validator(mode="after")
    def _combines(self) -> SearchConfig:
        if self.nbest > 1 and not self.sample and self.nbest > self.beam:
            raise ValueError(f"nbest is {self.nbest}, but a beam of {self.beam} finds at most {self.beam}: raise beam")
        return self

    def together(self, device: torch.device, *, large: bool) -> int:
        """Sentences searched together there; `large`: pictures, or attention that is asked for, so few have room."""
        if self.batch is not None:
            return self.batch
        if device.type == "cpu" or large:
            return _FEW
        return max(_FEW, min(_MANY, _HYPOTHESES // max(self.beam, self.nbest)))


def find(
    model: Seq2Seq,
    batch: Batch,
    config: SearchConfig,
    *,
    lengths: Sequence[int],
    room: int | None = None,
    **limits: Any,
) -> list[list[Hypothesis]]:
    """The answers a config asks for, best first, `nbest` for each sentence; limits: see search.Limits.

    `lengths`: the most tokens of each answer. `room`: the most tokens the model can write, where that is limited.
    More sentences than `config.together` says are searched so many at a time, each with its own limits; but all at once
    where a rule among the `constraints` cannot say what it means for some of the sentences.
    """
    shortest = min(lengths)
    if config.min_length >= shortest:  # of each by itself, so that company changes nothing
        raise ConfigError(
            f"min_length is {config.min_length} words, but max_length {shortest} leaves no room for them and the end. "
            f"Make max_length at least {config.min_length + 1}."
        )
    found = _flow(model, batch, config, lengths, room, limits)
    if found is not None:
        return found
    if batch.size <= _together(model, batch, config, limits) or not _can_be_cut(limits):
        return _find(model, batch, config, lengths, room, limits)
    return _piecewise(model, batch, config, lengths, room, limits)


def _together(model: Seq2Seq, batch: Batch, config: SearchConfig, asked: dict[str, Any]) -> int:
    large = asked.get("attention", True) or any(name != "source" for name in batch.reads)
    return config.together(next(model.parameters()).device, large=large)


def _find(
    model: Seq2Seq, batch: Batch, config: SearchConfig, lengths: Sequence[int], room: int | None, asked: dict[str, Any]
) -> list[list[Hypothesis]]:
    found = _recorded(model, batch, config, lengths, room, asked)
    if found is not None:
        return found
    most = [min(length, room or length) for length in lengths]
    limits: dict[str, Any] = {
        **asked,
        "max_length": max(most),
        "min_length": config.min_length,
        "precision": config.precision,
    }
    if min(most) < max(most):
        limits["max_lengths"] = most
    if config.sample:
        chance = _generators(batch, config.seed, limits.get("prefix"), next(model.parameters()).device)
        options: dict[str, Any] = {"temperature": config.temperature, "top_k": config.top_k, "top_p": config.top_p}
        return sample(model, batch, config.nbest, generator=chance, **options, **limits)
    if config.beam == 1:
        return [[found] for found in greedy(model, batch, **limits)]
    penalties: dict[str, Any] = {"length_penalty": config.length_penalty, "coverage_penalty": config.coverage_penalty}
    return beam(model, batch, config.beam, nbest=config.nbest, **penalties, **limits)


def _recorded(
    model: Seq2Seq, batch: Batch, config: SearchConfig, lengths: Sequence[int], room: int | None, asked: dict[str, Any]
) -> list[list[Hypothesis]] | None:
    """By a recorded search, where there is a GPU and nothing is asked for that needs the processor in each step."""
    plain = not config.sample and not config.min_length and not config.coverage_penalty
    if not plain or not set(asked) <= {"attention", "stop"}:
        return None
    key = (config.beam, config.nbest, config.length_penalty)
    most = [min(length, room or length) for length in lengths]
    options: dict[str, Any] = {"room": room, "precision": config.precision, "stop": asked.get("stop")}
    found = recorded(model, batch, _strategy(config), key, lengths=most, **options)
    if found is None or not asked.get("attention", True):
        return found
    return look_again(model, batch, found)


def _strategy(config: SearchConfig) -> Callable[[], Strategy]:
    if config.beam == 1:
        return Greedy
    return partial(Beam, config.beam, length_penalty=config.length_penalty, nbest=config.nbest)


def _flow(
    model: Seq2Seq, batch: Batch, config: SearchConfig, lengths: Sequence[int], room: int | None, asked: dict[str, Any]
) -> list[list[Hypothesis]] | None:
    """All in one go, where nothing is asked for that needs a batch to stay together; None where something is."""
    plain = not config.sample and not config.min_length and not config.coverage_penalty
    nothing_asked = set(asked) <= {"attention", "stop"} and not asked.get("attention", True)
    if not plain or batch.source is None or batch.source.device.type != "cpu" or not nothing_asked:
        return None
    most, rows = [min(length, room or length) for length in lengths], _together(model, batch, config, asked)
    options: dict[str, Any] = {"precision": config.precision, "stop": asked.get("stop")}
    return flow(model, batch, _strategy(config), rows=rows, lengths=most, **options)


def _piecewise(
    model: Seq2Seq, batch: Batch, config: SearchConfig, lengths: Sequence[int], room: int | None, asked: dict[str, Any]
) -> list[list[Hypothesis]]:
    found, rows = [], _together(model, batch, config, asked)
    for start in range(0, batch.size, rows):
        piece = slice(start, start + rows)
        places = range(start, min(start + rows, batch.size))
        part = batch.take(piece).trimmed()
        found += _find(model, part, config, lengths[piece], room, _limits_of(asked, places))
    return found


def _can_be_cut(asked: dict[str, Any]) -> bool:
    return narrowed(asked.get("constraints", ()), [0]) is not None


def _limits_of(asked: dict[str, Any], rows: range) -> dict[str, Any]:
    """The limits of some of the sentences: what is asked of each sentence goes with it."""
    each = {name: [asked[name][row] for row in rows] for name in ("prefix", "required") if asked.get(name) is not None}
    return {**asked, **each, "constraints": narrowed(asked.get("constraints", ()), rows)}


def _generators(batch: Batch, seed: int, prefixes: Sequence[Any] | None, device: torch.device) -> list[torch.Generator]:
    """Chance by what is read: other inputs, other draws, but for an input the same in every batch and place."""
    starts = prefixes or [None] * batch.size
    seeds = [zlib.crc32(f"{text}{start}".encode()) ^ seed for text, start in zip(batch.row_keys(), starts, strict=True)]
    return [torch.Generator(device).manual_seed(number) for number in seeds]

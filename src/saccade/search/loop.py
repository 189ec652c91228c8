"""The one loop all searches share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade import tree
from saccade.attention.steering import Steering
from saccade.attention.tape import Tape
from saccade.batch import BOS, Batch
from saccade.errors import ConfigError, DataError, NumericsError
from saccade.models.base import Seq2Seq, check_finite
from saccade.search.constraints import Constraint, Rule
from saccade.search.history import Ending, History, Hypothesis

__all__ = ["Choice", "Strategy", "View", "run"]


class View(NamedTuple):
    """What a strategy decides on: log-probabilities (B, K, V) of the next word, -inf where it is not allowed.

    written (B, K, t): the words so far. steps_left counts this step. attended (B, K, S): how much attention
    each source word got in this step, where the strategy asked for it.
    """

    log_probabilities: Tensor
    written: Tensor
    steps_left: int
    attended: Tensor | None


class Choice(NamedTuple):
    """What it decides: for each of the K slots, the slot it goes on from (None: its own) and the word it takes.

    logs (B, K): the log-probability of each hypothesis so far.
    """

    parents: Tensor | None
    tokens: Tensor
    logs: Tensor


class Strategy(ABC):
    """A way to choose words: greedy, sampled, or by beam. One object serves one search."""

    width: int
    """K, the hypotheses kept of each sentence."""
    wants_attention: bool = False
    """Whether `View.attended` is needed."""

    @abstractmethod
    def begin(self, batch: Batch, max_length: int, constraints: Sequence[Rule], device: torch.device) -> None:
        """Get ready for some sentences."""

    @abstractmethod
    def choose(self, view: View) -> Choice:
        """One word for each hypothesis."""

    @abstractmethod
    def done(self) -> Tensor:
        """Which sentences need no further step, (B,)."""

    @abstractmethod
    def endings(self) -> list[list[Ending]]:
        """The answers, best first, for every sentence."""


@torch.no_grad()
def run(
    model: Seq2Seq,
    batch: Batch,
    strategy: Strategy,
    *,
    max_length: int,
    constraints: Sequence[Rule] = (),
    attention: bool = True,
    beams: bool = False,
    steering: Steering | None = None,
) -> list[list[Hypothesis]]:
    """Write an answer to every source, a word at a time; the memory of a source serves all its hypotheses.

    `attention` is whether to record where the model looked, `beams` whether to remember the hypotheses that were left
    behind, `steering` what interferes with where it looks.
    """
    _check(model, batch, strategy, max_length, constraints)
    check_finite(model)  # an align or a window can hide a NaN, so predictions alone do not tell
    with _evaluating(model):
        return _write(model, batch, strategy, max_length, constraints, attention, beams, steering)


def _write(
    model: Seq2Seq,
    batch: Batch,
    strategy: Strategy,
    max_length: int,
    constraints: Sequence[Rule],
    attention: bool,
    beams: bool,
    steering: Steering | None,
) -> list[list[Hypothesis]]:
    sentences, width = batch.size, strategy.width
    encoding = Tape() if attention else None
    memory = model.encode(batch, tape=encoding)
    state = tree.repeat_rows(model.start(memory, max_length), width)
    device = next(tree.leaves(memory)).device
    strategy.begin(batch, max_length, constraints, device)
    history = History(encoding, batch.source_mask, model.source_sites, max_length)
    tokens = torch.full((sentences, width), BOS, device=device)
    written = tokens.new_empty(sentences, width, 0)
    slots = torch.arange(width, device=device).expand(sentences, width)
    broken = torch.zeros((), dtype=torch.bool, device=device)
    for t in range(max_length):
        looked_at = attention or strategy.wants_attention or steering is not None
        tape = Tape(steering=steering, first=t) if looked_at else None
        logits, state = model.step(memory, state, tokens.flatten(), tape=tape)
        logs = torch.log_softmax(_precise(logits), -1).view(sentences, width, -1)
        broken = broken | logs.isnan().any()
        if t == 0 or _worth_asking(t, device):
            _check_numbers(model, broken)
        if attention and tape is not None:
            history.look(tape)
        attended = _source_attention(model, tape, width) if strategy.wants_attention else None
        logs = _allowed(logs, written, max_length - t, constraints)
        parents, tokens, likely = strategy.choose(View(logs, written, max_length - t, attended))
        history.choose(slots if parents is None else parents, tokens, likely if beams else None)
        if parents is not None:
            rows = (torch.arange(sentences, device=device)[:, None] * width + parents).flatten()
            state = tree.take_rows(state, rows)
            written = written.flatten(0, 1).index_select(0, rows).view(sentences, width, -1)
        written = torch.cat([written, tokens[..., None]], -1)
        if _worth_asking(t, device) and bool(strategy.done().all()):
            break
    _check_numbers(model, broken)
    return history.follow(strategy.endings())


@contextmanager
def _evaluating(model: Seq2Seq) -> Iterator[None]:
    """The model without dropout, for a while; parts that were set apart by hand get their own mode back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _precise(values: Tensor) -> Tensor:
    return values.float() if values.dtype.itemsize < 4 else values


def _allowed(logs: Tensor, written: Tensor, steps_left: int, constraints: Sequence[Rule]) -> Tensor:
    """Log-probabilities (B, K, V) of the next word, without what may not be written."""
    logs[..., : BOS + 1] = -torch.inf  # PAD and BOS
    for constraint in constraints:
        logs = constraint(logs, written, steps_left)
    return logs


def _source_attention(model: Seq2Seq, tape: Tape | None, width: int) -> Tensor:
    """(B, K, S): the mean over the sites that look at the source, and their heads."""
    assert tape is not None
    looks = torch.stack([_precise(tape[site]).mean(1).squeeze(1) for site in model.source_sites]).mean(0)
    return looks.view(-1, width, looks.shape[-1])


def _worth_asking(t: int, device: torch.device) -> bool:
    # a question about numbers on a GPU makes it wait, so it is asked now and then
    return device.type == "cpu" or t % 8 == 7


def _check_numbers(model: Seq2Seq, broken: Tensor) -> None:
    if broken:
        raise NumericsError(
            "the model's predictions are NaN though its parameters are finite. Decode in float32, or look for "
            "huge values in the input."
        )


def _check(model: Any, batch: Batch, strategy: Strategy, max_length: int, constraints: Sequence[Rule]) -> None:
    if not isinstance(model, Seq2Seq):
        raise ConfigError(
            f"a search needs a model that writes (Seq2Seq), but was given a {type(model).__name__}. Of a compiled or "
            "wrapped model pass the model itself."
        )
    if not isinstance(batch, Batch):
        raise DataError(f"a search reads a Batch, but was given a {type(batch).__name__}. Batch.of(sources) makes one.")
    if max_length < 1:
        raise ConfigError(f"max_length is {max_length}, but a search needs room for at least 1 word.")
    if strategy.width < 1:
        raise ConfigError(f"width is {strategy.width}, but a search keeps at least 1 hypothesis.")
    if strategy.wants_attention and not model.source_sites:
        raise ConfigError(
            f"coverage_penalty needs attention to the source, but {type(model).__name__} has none. Set it to 0."
        )
    for constraint in constraints:
        if isinstance(constraint, Constraint):
            constraint.check(batch.size, model.vocabulary, max_length)

"""The decoding loop that all strategies share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from saccade.attention.tape import Tape
from saccade.batch import BOS, Batch
from saccade.errors import ConfigError, DataError, NumericsError
from saccade.models.base import Seq2Seq
from saccade.runtime import DecodingState, check_finite, engine_of, step_engine
from saccade.search.constraints import Constraint, Rule, narrowed
from saccade.search.history import Ending, History, Hypothesis, PaddingCrop
from saccade.search.limits import Limits
from saccade.search.step_scores import StepScores

__all__ = ["Choice", "Strategy", "check_numbers", "check_search", "evaluating", "run"]


class Choice(NamedTuple):
    """The result of a step: for each of the K slots, the slot it continues (None: its own) and the next word.

    logs (B, K): the log-probability of each hypothesis so far.
    """

    parents: Tensor | None
    tokens: Tensor
    logs: Tensor


class Strategy(ABC):
    """A strategy for choosing words: greedy, sampling or beam. One object serves one search."""

    width: int
    """K, the number of hypotheses per sentence."""
    wants_attention: bool = False
    """Whether `StepScores.attended` is needed."""
    begins_with_one: bool = False
    """Whether only slot 0 is used in the first step."""

    @abstractmethod
    def begin(
        self,
        size: int,
        max_length: int,
        constraints: Sequence[Rule],
        device: torch.device,
        *,
        visible: Tensor | None = None,
    ) -> None:
        """Prepare for `size` sentences.

        `visible` (B, S): the mask of real source positions, if `wants_attention` and some are padding.
        """

    @abstractmethod
    def choose(self, view: StepScores) -> Choice:
        """Choose one word for each hypothesis."""

    @abstractmethod
    def done(self) -> Tensor:
        """Return which sentences (B,) need no further step."""

    @abstractmethod
    def endings(self, rows: Sequence[int] | None = None) -> list[list[Ending]]:
        """Return the answers of every sentence, or of sentences `rows`, best first."""

    def keep(self, rows: Tensor, constraints: Sequence[Rule]) -> bool:
        """Keep only these sentences, with their constraints; return False if the strategy must keep all."""
        return False

    def replace(self, rows: Tensor, others: Self, which: Tensor) -> None:
        """Replace these sentences by the sentences `which` of `others`, a strategy that has made no step."""
        raise TypeError(f"{type(self).__name__} does not support replacing sentences: write replace()")


@torch.no_grad()
def run(model: Seq2Seq, batch: Batch, strategy: Strategy, limits: Limits) -> list[list[Hypothesis]]:
    """Decode all sources word by word; all hypotheses of a source share its memory."""
    max_length, rules = limits.longest, limits.rules()
    check_search(model, batch, strategy, max_length, rules)
    with evaluating(model):
        engine = engine_of(model, limits.precision) if limits.steering is None else step_engine(model)
        encoding = Tape() if limits.attention else None
        state = engine.read(batch, strategy.width, max_length, tape=encoding)
        history = History(encoding, None if encoding is None else PaddingCrop(model, batch), max_length)
        device = next(model.parameters(), torch.empty(0)).device if batch.source is None else batch.source.device
        visible = model.visible(batch).get("source") if strategy.wants_attention else None
        strategy.begin(batch.size, max_length, rules, device, visible=visible)
        work = _Work(model, state, strategy, history, rules, list(range(batch.size)), device)
        return work.write(limits)


class _Work:
    """A running search: the sentences that are still being decoded, and the answers to those that are done."""

    def __init__(
        self,
        model: Seq2Seq,
        state: DecodingState,
        strategy: Strategy,
        history: History,
        constraints: list[Rule],
        live: list[int],
        device: torch.device,
    ) -> None:
        self._model, self._state, self._strategy, self._history = model, state, strategy, history
        self._constraints, self._live, self._device = constraints, live, device
        self._endings: list[list[Ending]] = [[] for _ in live]
        self._may_shrink = True

    def write(self, limits: Limits) -> list[list[Hypothesis]]:
        strategy, history, device = self._strategy, self._history, self._device
        width, max_length = strategy.width, limits.longest
        # on a GPU extra rows are cheap, and new shapes are expensive
        self._may_shrink = not limits.beams and device.type == "cpu"
        tokens = torch.full((len(self._live), width), BOS, device=device)
        written = tokens.new_empty(len(self._live), width, 0)
        broken = torch.zeros((), dtype=torch.bool, device=device)
        summed = self._model.sums_scores
        needs_tape = limits.attention or strategy.wants_attention or limits.steering is not None
        for t in range(max_length):
            if limits.stop is not None:
                limits.stop()
            tape = Tape(steering=limits.steering, first=t) if needs_tape else None
            logits = self._state.step(tokens.flatten(), tape=tape)
            if limits.attention and tape is not None:
                history.look(tape)
            attended = _source_attention(self._model, tape, width) if strategy.wants_attention else None
            view = StepScores(logits, written, max_length - t, attended, self._constraints, summed=summed)
            parents, tokens, likely = strategy.choose(view)
            broken = broken | view.broken
            if t == 0 or _is_check_due(t, device):
                check_numbers(self._model, broken)
            history.choose(parents, tokens, likely if limits.beams else None)
            done = strategy.done() if _is_check_due(t, device) else None
            if done is not None and bool(done.all()):
                break
            if parents is not None:
                rows = (torch.arange(len(self._live), device=device)[:, None] * width + parents).flatten()
                self._state.follow(rows)
                written = written.flatten(0, 1).index_select(0, rows).view(*tokens.shape, -1)
            written = torch.cat([written, tokens[..., None]], -1)
            if done is not None and (going := self._shrink(done)) is not None:
                tokens, written = tokens[going], written[going]
        check_numbers(self._model, broken)
        for sentence, endings in zip(self._live, strategy.endings(), strict=True):
            self._endings[sentence] = endings
        return history.follow(self._endings)

    def _shrink(self, done: Tensor) -> Tensor | None:
        """Remove finished sentences once they are 1/_SHARE of all; return the rows that remain, or None.

        Each row makes every step slower, but removing rows copies all others. Decoding is batch-invariant, so this
        does not change the answers.
        """
        if not self._may_shrink or int(done.sum()) * _SHARE < len(self._live):
            return None
        going = (~done).nonzero().squeeze(1)
        places = going.tolist()
        rules = narrowed(self._constraints, places)
        found = self._strategy.endings()
        if rules is None or not self._strategy.keep(going, rules):
            self._may_shrink = False
            return None
        for sentence, endings in zip(self._live, found, strict=True):
            self._endings[sentence] = endings
        self._constraints, self._live = rules, [self._live[place] for place in places]
        self._state.keep(going)
        self._history.keep(self._live)
        return going


_SHARE = 8
"""Finished sentences are removed once they are at least 1/_SHARE of the rows."""


@contextmanager
def evaluating(model: Seq2Seq) -> Iterator[None]:
    """Put the model into eval mode inside the block; afterwards each module gets its own mode back."""
    modes = [(module, module.training) for module in model.modules() if module.training]
    if modes:
        model.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _precise(values: Tensor) -> Tensor:
    return values.float() if values.dtype.itemsize < 4 else values


def _source_attention(model: Seq2Seq, tape: Tape | None, width: int) -> Tensor:
    """Return attention (B, K, S) to the source, averaged over its sites and their heads."""
    assert tape is not None
    weights = torch.stack([_precise(tape[site]).mean(1).squeeze(1) for site in model.source_sites]).mean(0)
    return weights.view(-1, width, weights.shape[-1])


def _is_check_due(t: int, device: torch.device) -> bool:
    # reading a flag syncs the GPU, so it is read in every eighth step
    return device.type == "cpu" or t % 8 == 7


def check_numbers(model: Seq2Seq, broken: Tensor) -> None:
    """Raise NumericsError if predictions are NaN."""
    if broken:
        check_finite(model)
        raise NumericsError(
            "the model's predictions are NaN though its parameters are finite. Decode in float32, or look for "
            "huge values in the input."
        )


def check_search(model: Any, batch: Batch, strategy: Strategy, max_length: int, constraints: Sequence[Rule]) -> None:
    """Raise an error for a request that a search does not support."""
    if not isinstance(model, Seq2Seq):
        raise ConfigError(
            f"a search needs a model that writes (Seq2Seq), but was given a {type(model).__name__}. Pass the "
            "model itself instead of a compiled or wrapped one."
        )
    if not isinstance(batch, Batch):
        raise DataError(
            f"a search reads a Batch, but was given a {type(batch).__name__}. Batch.from_lists(sources) makes one."
        )
    if max_length < 1:
        raise ConfigError(f"max_length is {max_length}, but a search needs room for at least 1 word.")
    if strategy.width < 1:
        raise ConfigError(f"width is {strategy.width}, but a search keeps at least 1 hypothesis.")
    if strategy.wants_attention and not model.source_sites:
        raise ConfigError(
            f"coverage_penalty and overlap_penalty need attention to the source, but {type(model).__name__} has none. "
            "Set them to 0."
        )
    for constraint in constraints:
        if isinstance(constraint, Constraint):
            constraint.check(batch.size, model.choices(batch), max_length)

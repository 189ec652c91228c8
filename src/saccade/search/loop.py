"""The one loop all searches share."""

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
from saccade.runtime import Draft, check_finite, step_writer, writer_of
from saccade.search.constraints import Constraint, Rule, narrowed
from saccade.search.history import Cut, Ending, History, Hypothesis
from saccade.search.limits import Limits
from saccade.search.view import View

__all__ = ["Choice", "Strategy", "check_numbers", "check_search", "evaluating", "run"]


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
    begins_with_one: bool = False
    """Whether nothing comes of the other slots in the first step."""

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
        """Get ready for `size` sentences.

        `visible` (B, S): which positions of the source are real, where `wants_attention` and some are padding.
        """

    @abstractmethod
    def choose(self, view: View) -> Choice:
        """One word for each hypothesis."""

    @abstractmethod
    def done(self) -> Tensor:
        """Which sentences need no further step, (B,)."""

    @abstractmethod
    def endings(self, rows: Sequence[int] | None = None) -> list[list[Ending]]:
        """The answers, best first, for every sentence, or for some."""

    def keep(self, rows: Tensor, constraints: Sequence[Rule]) -> bool:
        """Go on with some of the sentences alone, under what constraints are left; False: it must go on with all."""
        return False

    def replace(self, rows: Tensor, others: Self, which: Tensor) -> None:
        """Let some of the sentences of a strategy that has just begun take the places of some of this one's."""
        raise TypeError(f"{type(self).__name__} does not say how sentences are replaced: write replace()")


@torch.no_grad()
def run(model: Seq2Seq, batch: Batch, strategy: Strategy, limits: Limits) -> list[list[Hypothesis]]:
    """Write an answer to every source, a word at a time; the memory of a source serves all its hypotheses."""
    max_length, rules = limits.longest, limits.rules()
    check_search(model, batch, strategy, max_length, rules)
    with evaluating(model):
        writer = writer_of(model, limits.precision) if limits.steering is None else step_writer(model)
        encoding = Tape() if limits.attention else None
        draft = writer.read(batch, strategy.width, max_length, tape=encoding)
        history = History(encoding, None if encoding is None else Cut(model, batch), max_length)
        device = next(model.parameters(), torch.empty(0)).device if batch.source is None else batch.source.device
        visible = model.visible(batch).get("source") if strategy.wants_attention else None
        strategy.begin(batch.size, max_length, rules, device, visible=visible)
        work = _Work(model, draft, strategy, history, rules, list(range(batch.size)), device)
        return work.write(limits)


class _Work:
    """A search under way: the sentences that are still being written, and the answers to those that are not."""

    def __init__(
        self,
        model: Seq2Seq,
        draft: Draft,
        strategy: Strategy,
        history: History,
        constraints: list[Rule],
        live: list[int],
        device: torch.device,
    ) -> None:
        self._model, self._draft, self._strategy, self._history = model, draft, strategy, history
        self._constraints, self._live, self._device = constraints, live, device
        self._endings: list[list[Ending]] = [[] for _ in live]
        self._may_shrink = True

    def write(self, limits: Limits) -> list[list[Hypothesis]]:
        strategy, history, device = self._strategy, self._history, self._device
        width, max_length = strategy.width, limits.longest
        # elsewhere rows cost little and changing shapes much
        self._may_shrink = not limits.beams and device.type == "cpu"
        tokens = torch.full((len(self._live), width), BOS, device=device)
        written = tokens.new_empty(len(self._live), width, 0)
        broken = torch.zeros((), dtype=torch.bool, device=device)
        looked_at = limits.attention or strategy.wants_attention or limits.steering is not None
        for t in range(max_length):
            if limits.stop is not None:
                limits.stop()
            tape = Tape(steering=limits.steering, first=t) if looked_at else None
            logits = self._draft.step(tokens.flatten(), tape=tape)
            if limits.attention and tape is not None:
                history.look(tape)
            attended = _source_attention(self._model, tape, width) if strategy.wants_attention else None
            view = View(logits, written, max_length - t, attended, self._constraints)
            parents, tokens, likely = strategy.choose(view)
            broken = broken | view.broken
            if t == 0 or _worth_asking(t, device):
                check_numbers(self._model, broken)
            history.choose(parents, tokens, likely if limits.beams else None)
            ask = _worth_asking(t, device)
            done = strategy.done() if ask else None
            if done is not None and bool(done.all()):
                break
            if parents is not None:
                rows = (torch.arange(len(self._live), device=device)[:, None] * width + parents).flatten()
                self._draft.follow(rows)
                written = written.flatten(0, 1).index_select(0, rows).view(*tokens.shape, -1)
            written = torch.cat([written, tokens[..., None]], -1)
            if done is not None and (going := self._shrink(done)) is not None:
                tokens, written = tokens[going], written[going]
        check_numbers(self._model, broken)
        for sentence, endings in zip(self._live, strategy.endings(), strict=True):
            self._endings[sentence] = endings
        return history.follow(self._endings)

    def _shrink(self, done: Tensor) -> Tensor | None:
        """Leave the sentences that are done behind once they are a good part of all; the rows that go on.

        Every row costs its share of a step, and leaving one behind a copy of the others. Nothing that is asked later
        depends on the company that a sentence had.
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
        self._draft.keep(going)
        self._history.keep(self._live)
        return going


_SHARE = 8
"""Sentences are left behind when this part of them, one in so many, is done."""


@contextmanager
def evaluating(model: Seq2Seq) -> Iterator[None]:
    """The model without dropout, for a while; parts that were set apart by hand get their own mode back."""
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
    """(B, K, S): the mean over the sites that look at the source, and their heads."""
    assert tape is not None
    looks = torch.stack([_precise(tape[site]).mean(1).squeeze(1) for site in model.source_sites]).mean(0)
    return looks.view(-1, width, looks.shape[-1])


def _worth_asking(t: int, device: torch.device) -> bool:
    # a question about numbers on a GPU makes it wait, so it is asked now and then
    return device.type == "cpu" or t % 8 == 7


def check_numbers(model: Seq2Seq, broken: Tensor) -> None:
    """Refuse predictions that are no numbers."""
    if broken:
        check_finite(model)
        raise NumericsError(
            "the model's predictions are NaN though its parameters are finite. Decode in float32, or look for "
            "huge values in the input."
        )


def check_search(model: Any, batch: Batch, strategy: Strategy, max_length: int, constraints: Sequence[Rule]) -> None:
    """Refuse what cannot be searched."""
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
            constraint.check(batch.size, model.choices(batch), max_length)

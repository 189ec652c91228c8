"""Continuous batching: the rows of finished sentences are refilled with other sentences.

A batch that runs until its longest answer is done spends half its steps on a few rows. Such a step costs almost
as much as a full one, because it also reads all parameters. Here the batch stays nearly full while sentences wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from saccade.batch import BOS, PAD, Batch
from saccade.kernels.packed import Precision
from saccade.models.base import Seq2Seq
from saccade.runtime import DecodingEngine, DecodingState, engine_of
from saccade.search.history import Ending, Hypothesis
from saccade.search.limits import Stop
from saccade.search.loop import Strategy, check_numbers, check_search, evaluating
from saccade.search.step_scores import StepScores

__all__ = ["continuous_search"]

_SHARE = 8
"""Refill free rows once they are 1/(_SHARE · beam width) of all; if no sentence waits, remove them at 1/_SHARE."""


@torch.no_grad()
def continuous_search(
    model: Seq2Seq,
    batch: Batch,
    make: Callable[[], Strategy],
    *,
    rows: int,
    lengths: Sequence[int],
    precision: Precision = "full",
    stop: Stop | None = None,
) -> list[list[Hypothesis]] | None:
    """Decode all sentences, `rows` at a time; return None if the model's engine cannot replace rows.

    `lengths`: maximum tokens of each answer, EOS included. `stop`: see `limits.Stop`. No attention is returned.
    """
    longest = max(lengths)
    check_search(model, batch, make(), longest, ())
    with evaluating(model):
        engine = engine_of(model, precision)
        return _Stream(engine, batch, make, rows, list(lengths)).run(model, stop) if engine.replaces else None


class _Stream:
    def __init__(
        self, engine: DecodingEngine, batch: Batch, make: Callable[[], Strategy], rows: int, lengths: list[int]
    ) -> None:
        self._engine, self._batch, self._make, self._lengths = engine, batch, make, lengths
        assert batch.source_mask is not None
        sizes = batch.source_mask.sum(1).tolist()
        self._longest, self._waiting = max(lengths), sorted(range(batch.size), key=lambda row: sizes[row])
        self._found: list[list[Hypothesis]] = [[] for _ in lengths]
        self._rows = rows
        self._here = [self._waiting.pop() for _ in range(min(rows, batch.size))]  # the sentence of each row
        self._state, self._strategy = self._begin(self._here)
        self._ready: list[int] = []  # encoded sentences that wait for a row
        self._ready_state, self._ready_strategy = self._state, self._strategy
        self._begun = [0] * len(self._here)  # the step in which each row's sentence started
        self._free: list[int] = []  # rows whose sentences are done
        self._tokens: list[list[list[int]]] = []
        self._parents: list[list[list[int]] | None] = []

    def run(self, model: Seq2Seq, stop: Stop | None) -> list[list[Hypothesis]]:
        width = self._strategy.width
        assert self._batch.source is not None
        device = self._batch.source.device
        tokens = self._first_words(len(self._here))
        nothing = tokens.new_empty(*tokens.shape, 0)
        while True:
            if stop is not None:
                stop()
            view = StepScores(self._state.step(tokens.flatten()), nothing, self._longest)
            parents, tokens, _ = self._strategy.choose(view)
            check_numbers(model, view.broken)
            self._tokens.append(tokens.tolist())
            self._parents.append(None if parents is None else parents.tolist())
            self._finish()
            if len(self._free) == len(self._here) and not self._waiting and not self._ready:
                return self._found
            if parents is not None:
                origins = (torch.arange(len(tokens), device=device)[:, None] * width + parents).flatten()
                self._state.follow(origins)
            share = _SHARE * width if self._waiting or self._ready else _SHARE  # removing rows copies all others
            if len(self._free) * share >= len(self._here):
                tokens = self._exchange(tokens)
                nothing = tokens.new_empty(*tokens.shape, 0)
            if self._free:
                tokens = tokens.index_fill(0, torch.tensor(self._free, device=device), PAD)

    def _first_words(self, rows: int) -> Tensor:
        """Return the words for the first step; PAD marks unused places of a beam, which an engine can skip."""
        assert self._batch.source is not None
        words = torch.full((rows, self._strategy.width), BOS, device=self._batch.source.device)
        if self._strategy.begins_with_one:
            words[:, 1:] = PAD
        return words

    def _begin(self, sentences: list[int]) -> tuple[DecodingState, Strategy]:
        """Begin a decoding state and a strategy for these sentences, padded only to their longest source."""
        assert self._batch.source is not None
        device = self._batch.source.device
        part = self._batch.take(torch.tensor(sentences, device=device)).trimmed()
        strategy = self._make()
        strategy.begin(part.size, self._longest, (), device)
        return self._engine.read(part, strategy.width, self._longest), strategy

    def _finish(self) -> None:
        """Collect the answers of sentences that are finished or have reached their maximum length."""
        now = len(self._tokens)
        done = [
            row
            for row, settled in enumerate(self._strategy.done().tolist())
            if (settled or now >= self._begun[row] + self._lengths[self._here[row]]) and row not in self._free
        ]
        for row, endings in zip(done, self._strategy.endings(done) if done else [], strict=True):
            self._found[self._here[row]] = [self._follow(row, ending) for ending in endings]
        self._free += done

    def _follow(self, row: int, ending: Ending) -> Hypothesis:
        """Follow the back-pointers of an ending to its first word."""
        slot, words = ending.slot, [] if ending.last is None else [ending.last]
        slots = [] if ending.last is None else [slot]
        for step in range(self._begun[row] + ending.steps - 1, self._begun[row] - 1, -1):
            words.append(self._tokens[step][row][slot])
            parents = self._parents[step]
            slot = slot if parents is None else parents[row][slot]
            slots.append(slot)
        finished = ending.last is not None
        stood = [*slots[-2::-1], *([] if finished else [ending.slot])]
        return Hypothesis(words[::-1], ending.score, ending.log_probability, finished, {}, stood)

    def _exchange(self, tokens: Tensor) -> Tensor:
        """Refill free rows, or remove them if no sentence waits; return the words to feed next."""
        device, news = tokens.device, self._admit(tokens.device)
        if news:
            tokens = tokens.index_copy(0, torch.tensor(news, device=device), self._first_words(len(news)))
        gone, self._free = self._free[len(news) :], []
        if gone and (self._waiting or self._ready):
            self._free = gone
            return tokens
        if not gone:
            return tokens
        left = [row for row in range(len(self._here)) if row not in gone]
        going = torch.tensor(left, device=device)
        self._state.keep(going)
        self._strategy.keep(going, ())
        self._compact(left)
        return tokens[going]

    def _admit(self, device: torch.device) -> list[int]:
        """Give free rows to waiting sentences, which are encoded in batches; return these rows."""
        if not self._ready and self._waiting:
            self._ready = [self._waiting.pop() for _ in range(min(self._rows, len(self._waiting)))][::-1]
            self._ready_state, self._ready_strategy = self._begin(self._ready)
        news = self._free[: len(self._ready)]
        if not news:
            return []
        which = list(range(len(self._ready) - 1, -1, -1))[: len(news)]
        places, theirs = torch.tensor(news, device=device), torch.tensor(which, device=device)
        self._state.replace(places, self._ready_state, theirs)
        self._strategy.replace(places, self._ready_strategy, theirs)
        for row in news:
            self._here[row], self._begun[row] = self._ready.pop(), len(self._tokens)
        return news

    def _compact(self, left: list[int]) -> None:
        """Renumber the rows in the recorded words and parents, after rows were removed."""
        self._here, self._begun = [self._here[row] for row in left], [self._begun[row] for row in left]
        oldest = min(self._begun)
        for step in range(oldest, len(self._tokens)):
            tokens, parents = self._tokens[step], self._parents[step]
            self._tokens[step] = [tokens[row] for row in left]
            self._parents[step] = None if parents is None else [parents[row] for row in left]

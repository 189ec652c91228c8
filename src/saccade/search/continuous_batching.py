"""Many sentences through a few rows: as soon as some are done, others take their places.

A batch that waits for its longest answer spends half its steps on a few rows, and a step on a few rows costs hardly
less than one on many: the weights are read all the same. Here the rows stay full until no sentence is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from saccade.batch import BOS, PAD, Batch
from saccade.kernels.packed import Precision
from saccade.models.base import Seq2Seq
from saccade.runtime import Draft, Writer, writer_of
from saccade.search.history import Ending, Hypothesis
from saccade.search.limits import Stop
from saccade.search.loop import Strategy, check_numbers, check_search, evaluating
from saccade.search.view import View

__all__ = ["flow"]

_SHARE = 8
"""Others come when this part of the sentences, one in so many for each hypothesis of one, is done."""


@torch.no_grad()
def flow(
    model: Seq2Seq,
    batch: Batch,
    make: Callable[[], Strategy],
    *,
    rows: int,
    lengths: Sequence[int],
    precision: Precision = "full",
    stop: Stop | None = None,
) -> list[list[Hypothesis]] | None:
    """What a search would find for every sentence by itself, with `rows` of them searched at a time.

    `lengths`: the most words of each, the end included. `stop`: see `limits.Stop`. No attention is returned. None
    where the model's writer cannot replace sentences.
    """
    longest = max(lengths)
    check_search(model, batch, make(), longest, ())
    with evaluating(model):
        writer = writer_of(model, precision)
        return _Stream(writer, batch, make, rows, list(lengths)).run(model, stop) if writer.replaces else None


class _Stream:
    def __init__(
        self, writer: Writer, batch: Batch, make: Callable[[], Strategy], rows: int, lengths: list[int]
    ) -> None:
        self._writer, self._batch, self._make, self._lengths = writer, batch, make, lengths
        assert batch.source_mask is not None
        sizes = batch.source_mask.sum(1).tolist()
        self._longest, self._waiting = max(lengths), sorted(range(batch.size), key=lambda row: sizes[row])
        self._found: list[list[Hypothesis]] = [[] for _ in lengths]
        self._rows = rows
        self._here = [self._waiting.pop() for _ in range(min(rows, batch.size))]  # the sentence of each row
        self.draft, self._strategy = self._begin(self._here)
        self._ready: list[int] = []  # sentences that were read and wait for a row
        self._read, self._fresh = self.draft, self._strategy
        self._begun = [0] * len(self._here)
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
            view = View(self.draft.step(tokens.flatten()), nothing, self._longest)
            parents, tokens, _ = self._strategy.choose(view)
            check_numbers(model, view.broken)
            self._tokens.append(tokens.tolist())
            self._parents.append(None if parents is None else parents.tolist())
            self._finish()
            if len(self._free) == len(self._here) and not self._waiting and not self._ready:
                return self._found
            if parents is not None:
                origins = (torch.arange(len(tokens), device=device)[:, None] * width + parents).flatten()
                self.draft.follow(origins)
            often = _SHARE * width if self._waiting or self._ready else _SHARE  # to leave rows behind copies the others
            if len(self._free) * often >= len(self._here):
                tokens = self._exchange(tokens)
                nothing = tokens.new_empty(*tokens.shape, 0)
            if self._free:
                tokens = tokens.index_fill(0, torch.tensor(self._free, device=device), PAD)

    def _first_words(self, rows: int) -> Tensor:
        """What rows are fed at their beginning; PAD where nothing may come of it, which a writer can pass over."""
        assert self._batch.source is not None
        words = torch.full((rows, self._strategy.width), BOS, device=self._batch.source.device)
        if self._strategy.begins_with_one:
            words[:, 1:] = PAD
        return words

    def _begin(self, sentences: list[int]) -> tuple[Draft, Strategy]:
        """A draft and a strategy for some sentences, cut to the longest source among them."""
        assert self._batch.source is not None
        device = self._batch.source.device
        part = self._batch.take(torch.tensor(sentences, device=device)).trimmed()
        strategy = self._make()
        strategy.begin(part.size, self._longest, (), device)
        return self._writer.read(part, strategy.width, self._longest), strategy

    def _finish(self) -> None:
        """Write down the answers to sentences that need no further step or may have none."""
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
        """The words that lead to an ending."""
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
        """Others for those that are done; where there are none any more, fewer rows. The words to be fed next."""
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
        self.draft.keep(going)
        self._strategy.keep(going, ())
        self._compact(left)
        return tokens[going]

    def _admit(self, device: torch.device) -> list[int]:
        """Give free rows to sentences that wait; these are read many at a time, which is cheaper. The rows given."""
        if not self._ready and self._waiting:
            self._ready = [self._waiting.pop() for _ in range(min(self._rows, len(self._waiting)))][::-1]
            self._read, self._fresh = self._begin(self._ready)
        news = self._free[: len(self._ready)]
        if not news:
            return []
        which = list(range(len(self._ready) - 1, -1, -1))[: len(news)]
        places, theirs = torch.tensor(news, device=device), torch.tensor(which, device=device)
        self.draft.replace(places, self._read, theirs)
        self._strategy.replace(places, self._fresh, theirs)
        for row in news:
            self._here[row], self._begun[row] = self._ready.pop(), len(self._tokens)
        return news

    def _compact(self, left: list[int]) -> None:
        """Rows have new numbers, so what was written on them must be found there."""
        self._here, self._begun = [self._here[row] for row in left], [self._begun[row] for row in left]
        oldest = min(self._begun)
        for step in range(oldest, len(self._tokens)):
            tokens, parents = self._tokens[step], self._parents[step]
            self._tokens[step] = [tokens[row] for row in left]
            self._parents[step] = None if parents is None else [parents[row] for row in left]

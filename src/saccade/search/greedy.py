"""Greedy search and sampling, where hypotheses are independent of each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from saccade.batch import EOS, PAD
from saccade.errors import ConfigError
from saccade.kernels.dispatch import fusable
from saccade.kernels.search_update import Walks
from saccade.search.constraints import Rule
from saccade.search.history import Ending
from saccade.search.loop import Choice, Strategy
from saccade.search.step_scores import StepScores

__all__ = ["Greedy", "Sample"]


class Greedy(Strategy):
    """Choose the most likely word in each step. A hypothesis without an allowed word stops unfinished."""

    width = 1

    def begin(
        self,
        size: int,
        max_length: int,
        constraints: Sequence[Rule],
        device: torch.device,
        *,
        visible: Tensor | None = None,
    ) -> None:
        shape = (size, self.width)
        self._logs = torch.zeros(shape, device=device)
        self._steps = torch.zeros(shape, dtype=torch.long, device=device)  # number of words, without EOS
        self._ended = torch.zeros(shape, dtype=torch.bool, device=device)
        self._stopped = self._ended  # by EOS or because nothing is allowed

    def pick(self, view: StepScores) -> tuple[Tensor, Tensor]:
        """Return the next words (B, K) and their log-probabilities; any word where none is allowed."""
        logs, tokens = view.best(1)
        return tokens.squeeze(-1), logs.squeeze(-1)

    def choose(self, view: StepScores) -> Choice:
        tokens, gained = self.pick(view)
        if fusable(gained):
            from saccade.kernels.search_update.fused import walk_on

            before = Walks(self._logs, self._steps, self._ended, self._stopped)
            words, (self._logs, self._steps, self._ended, self._stopped) = walk_on(tokens, gained, before)
            return Choice(None, words, self._logs)
        going = ~self._stopped & (gained > -torch.inf)
        ends = tokens == EOS
        goes_on = going & ~ends
        self._logs = self._logs + torch.where(going, gained, 0.0)
        self._steps = self._steps + goes_on
        self._ended = self._ended | (going & ends)
        self._stopped = ~goes_on
        return Choice(None, torch.where(going, tokens, PAD), self._logs)

    def done(self) -> Tensor:
        return self._stopped.all(-1)

    def endings(self, rows: Sequence[int] | None = None) -> list[list[Ending]]:
        columns = list(zip(self._logs.tolist(), self._ended.tolist(), self._steps.tolist(), strict=True))
        found = []
        for row in range(len(columns)) if rows is None else rows:
            logs, ended, steps = columns[row]
            slots = sorted(range(self.width), key=lambda slot: -logs[slot])
            found.append(
                [Ending(steps[slot], slot, EOS if ended[slot] else None, logs[slot], logs[slot]) for slot in slots]
            )
        return found

    def replace(self, rows: Tensor, others: Self, which: Tensor) -> None:
        self._logs = self._logs.index_copy(0, rows, others._logs[which].to(self._logs.dtype))
        self._steps = self._steps.index_copy(0, rows, others._steps[which])
        self._ended = self._ended.index_copy(0, rows, others._ended[which])
        self._stopped = self._stopped.index_copy(0, rows, others._stopped[which])

    def keep(self, rows: Tensor, constraints: Sequence[Rule]) -> bool:
        self._logs, self._steps = self._logs[rows], self._steps[rows]
        self._ended, self._stopped = self._ended[rows], self._stopped[rows]
        return True


class Sample(Greedy):
    """Sample words from the model: with a temperature, from the best `top_k`, or from the best that hold `top_p`.

    The temperature is applied first, so `top_p` is a share of the resulting probabilities. With one generator per
    sentence, sampling is batch-invariant.
    """

    def __init__(
        self,
        samples: int = 1,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: torch.Generator | Sequence[torch.Generator] | None = None,
    ) -> None:
        if samples < 1:
            raise ConfigError(f"samples is {samples}, but at least 1 must be drawn.")
        if not 0 < temperature < math.inf:
            raise ConfigError(
                f"temperature is {temperature}, but must be finite and above 0. Greedy search is its limit at 0."
            )
        if top_k is not None and top_k < 1:
            raise ConfigError(f"top_k is {top_k}, but at least 1 word must be left to draw from.")
        if top_p is not None and not 0 < top_p <= 1:
            raise ConfigError(f"top_p is {top_p}, but must be above 0 and at most 1.")
        self.width = samples
        self._temperature, self._top_k, self._top_p = temperature, top_k, top_p
        self._generator = generator

    def pick(self, view: StepScores) -> tuple[Tensor, Tensor]:
        tokens = self._draw(view.log_probabilities)
        return tokens, view.log_probabilities.gather(-1, tokens[..., None]).squeeze(-1)

    def keep(self, rows: Tensor, constraints: Sequence[Rule]) -> bool:
        if not isinstance(self._generator, Sequence):  # a shared one would draw other numbers for fewer sentences
            return False
        self._generator = [self._generator[row] for row in rows.tolist()]
        return super().keep(rows, constraints)

    def _draw(self, log_probabilities: Tensor) -> Tensor:
        best = log_probabilities.amax(-1, keepdim=True)  # subtracted first to prevent overflow at low temperatures
        logs = (log_probabilities - best) / self._temperature
        if self._top_k is not None and self._top_k < logs.shape[-1]:
            kept = logs.topk(self._top_k)
            logs = torch.full_like(logs, -torch.inf).scatter(-1, kept.indices, kept.values)
        if self._top_p is not None and self._top_p < 1:
            logs = _nucleus(logs, self._top_p)
        # The inverse of the cumulative distribution needs one draw for a word, so a distribution that is padded for
        # another sentence of the batch changes nothing. Unlike torch.multinomial it does not sync the GPU.
        sums = torch.softmax(logs, -1).cumsum(-1)
        draws = sums.new_empty(*sums.shape[:-1], 1)
        if isinstance(self._generator, Sequence):
            for row, generator in zip(draws, self._generator, strict=True):
                row.uniform_(generator=generator)
        else:
            draws.uniform_(generator=self._generator)
        return (sums <= draws * sums[..., -1:]).sum(-1).clamp_max(sums.shape[-1] - 1)


def _nucleus(logs: Tensor, share: float) -> Tensor:
    """Keep only the fewest most likely words that together hold `share` of the probability."""
    ordered, order = torch.softmax(logs, -1).sort(-1, descending=True)
    before = ordered.cumsum(-1) - ordered  # the probability of better words
    outside = (before >= share).scatter(-1, order, before >= share)
    return logs.masked_fill(outside, -torch.inf)

"""Greedy search and sampling: hypotheses that walk on their own."""

from __future__ import annotations

import torch
from torch import Tensor

from saccade.batch import EOS, PAD, Batch
from saccade.errors import ConfigError
from saccade.search.loop import Choice, Strategy, View
from saccade.search.trace import Ending

__all__ = ["Greedy", "Sample"]


class Greedy(Strategy):
    """The likeliest word, every time."""

    width = 1

    def begin(self, sentences: int, max_length: int, batch: Batch, device: torch.device) -> None:
        shape = (sentences, self.width)
        self._logs = torch.zeros(shape, device=device)
        self._ended = torch.zeros(shape, dtype=torch.bool, device=device)
        self._steps = torch.zeros(shape, dtype=torch.long, device=device)

    def pick(self, log_probabilities: Tensor) -> Tensor:
        """(B, K, V) -> (B, K)."""
        return log_probabilities.argmax(-1)

    def choose(self, view: View) -> Choice:
        tokens = self.pick(view.log_probabilities)
        gained = view.log_probabilities.gather(-1, tokens[..., None]).squeeze(-1)
        self._logs = self._logs + torch.where(self._ended, 0.0, gained)
        tokens = torch.where(self._ended, PAD, tokens)
        self._ended = self._ended | (tokens == EOS)
        self._steps = self._steps + (~self._ended).long()
        return Choice(None, tokens)

    def done(self) -> Tensor:
        return self._ended.all(-1)

    def endings(self) -> list[list[Ending]]:
        columns = zip(self._logs.tolist(), self._ended.tolist(), self._steps.tolist(), strict=True)
        found = []
        for logs, ended, steps in columns:
            slots = sorted(range(self.width), key=lambda slot: -logs[slot])
            found.append(
                [Ending(steps[slot], slot, EOS if ended[slot] else None, logs[slot], logs[slot]) for slot in slots]
            )
        return found


class Sample(Greedy):
    """Words drawn from the model: at a temperature, from the best `top_k`, or from the best that hold `top_p`."""

    def __init__(
        self,
        samples: int = 1,
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        if not temperature > 0:
            raise ConfigError(f"temperature is {temperature}, but must be above 0. Greedy search is its limit at 0.")
        if top_k is not None and top_k < 1:
            raise ConfigError(f"top_k is {top_k}, but at least 1 word must be left to draw from.")
        if top_p is not None and not 0 < top_p <= 1:
            raise ConfigError(f"top_p is {top_p}, but must be above 0 and at most 1.")
        self.width = samples
        self._temperature, self._top_k, self._top_p = temperature, top_k, top_p
        self._generator = generator

    def pick(self, log_probabilities: Tensor) -> Tensor:
        logs = log_probabilities / self._temperature
        if self._top_k is not None and self._top_k < logs.shape[-1]:
            smallest = logs.topk(self._top_k).values[..., -1:]
            logs = logs.masked_fill(logs < smallest, -torch.inf)
        if self._top_p is not None:
            logs = _nucleus(logs, self._top_p)
        chances = torch.softmax(logs, -1)
        drawn = torch.multinomial(chances.flatten(0, 1), 1, generator=self._generator)
        return drawn.view(chances.shape[:-1])


def _nucleus(logs: Tensor, share: float) -> Tensor:
    """Only the fewest best words that together hold `share` of the probability."""
    ordered, order = torch.softmax(logs, -1).sort(-1, descending=True)
    before = ordered.cumsum(-1) - ordered  # what the better ones hold already
    outside = (before >= share).scatter(-1, order, before >= share)
    return logs.masked_fill(outside, -torch.inf)

"""Hypotheses, and the way back to what they looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from saccade.attention.tape import Tape

__all__ = ["Ending", "History", "Hypothesis", "Kept"]


class Kept(NamedTuple):
    """The K hypotheses of a sentence after a step: the word each took, the slot it came from, its log-probability."""

    tokens: list[int]
    parents: list[int]
    logs: list[float]


@dataclass(frozen=True)
class Hypothesis:
    """One answer of a search.

    tokens end with EOS if `finished`; without it the search reached max_length first, or constraints left it
    no word to go on with. score is what the search ranks by, log_probability the model's own. attention: by
    site, (H, T, S) with a row per token and a column for each word it could see, padding left out; an encoder's
    sites have a row per source word. slots: where it stood after each step. beams: all that was kept beside it, step
    by step, where the search was told to remember.
    """

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool
    attention: dict[str, Tensor] = field(default_factory=dict, repr=False)
    slots: list[int] = field(default_factory=list, repr=False)
    beams: list[Kept] = field(default_factory=list, repr=False)


class Ending(NamedTuple):
    """Where a hypothesis ends: after `steps` choices it stands in `slot`; `last` is a word it ends with, if any."""

    steps: int
    slot: int
    last: int | None
    score: float
    log_probability: float


class History:
    """What was chosen in each step, from which slot, and where the model looked while choosing.

    encoding: where it looked while reading, None if nobody wants to know. source_sites: the sites whose keys are
    the words of the source; other sites have room for `max_length` words written.
    """

    def __init__(
        self, encoding: Tape | None, source_mask: Tensor | None, source_sites: Sequence[str], max_length: int
    ) -> None:
        self._encoding = encoding
        self._source_lengths = [] if source_mask is None else source_mask.sum(-1).tolist()
        self._source_size = 0 if source_mask is None else source_mask.shape[1]
        self._source_sites, self._max_length = frozenset(source_sites), max_length
        self._parents: list[Tensor] = []
        self._tokens: list[Tensor] = []
        self._logs: list[Tensor] = []
        self._looks: list[Tape] = []

    def look(self, tape: Tape) -> None:
        """Remember the attention (B·K, H, 1, S) of a step."""
        self._looks.append(tape)

    def choose(self, parents: Tensor, tokens: Tensor, logs: Tensor | None = None) -> None:
        """Remember the slot each hypothesis came from and the word it took, both (B, K), and how likely it is so."""
        self._parents.append(parents)
        self._tokens.append(tokens)
        if logs is not None:
            self._logs.append(logs)

    def follow(self, endings: list[list[Ending]]) -> list[list[Hypothesis]]:
        """Walk from each ending back to the start."""
        parents, tokens = ([step.cpu() for step in steps] for steps in (self._parents, self._tokens))
        return [
            [self._follow(row, ending, parents, tokens) for ending in row_endings]
            for row, row_endings in enumerate(endings)
        ]

    def _follow(self, row: int, ending: Ending, parents: list[Tensor], tokens: list[Tensor]) -> Hypothesis:
        slot = ending.slot
        words: list[int] = [] if ending.last is None else [ending.last]
        slots = [] if ending.last is None else [slot]  # the slot that each word was chosen from
        for step in reversed(range(ending.steps)):
            words.append(int(tokens[step][row, slot]))
            slot = int(parents[step][row, slot])
            slots.append(slot)
        words.reverse()
        slots.reverse()
        finished = ending.last is not None
        stood = [*slots[1:], *([] if finished else [ending.slot])]
        return Hypothesis(
            words,
            ending.score,
            ending.log_probability,
            finished,
            self._attention(row, slots),
            stood,
            self._beams(row, parents, tokens),
        )

    def _beams(self, row: int, parents: list[Tensor], tokens: list[Tensor]) -> list[Kept]:
        steps = zip(tokens, parents, self._logs, strict=False)  # there are no logs where nobody asked for them
        return [Kept(*(part[row].tolist() for part in step)) for step in steps]

    def _attention(self, row: int, slots: list[int]) -> dict[str, Tensor]:
        """By site, without columns that stand for padding or for words that were never written."""
        if self._encoding is None:
            return {}
        found = {site: self._without_padding(self._encoding[site][row], row) for site in self._encoding}
        if not self._looks:
            return found
        width = self._parents[0].shape[1]
        for site in self._looks[0]:
            rows = [self._looks[t][site][row * width + slot] for t, slot in enumerate(slots)]
            none = self._looks[0][site][row * width, :, :0]
            weights = torch.cat(rows or [none], 1)  # (H, T, S)
            if site in self._source_sites:
                found[site] = weights[..., : self._source_lengths[row]]
            else:
                found[site] = weights[..., : weights.shape[-1] - self._max_length + len(slots)]
        return found

    def _without_padding(self, weights: Tensor, row: int) -> Tensor:
        """What an encoder looked at, (H, S, S) where it keeps a place for every word of the source."""
        if weights.shape[-2:] != (self._source_size, self._source_size):
            return weights
        length = self._source_lengths[row]
        return weights[:, :length, :length]

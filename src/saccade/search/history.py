"""Hypotheses, and the way back to what they looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.attention.tape import Tape
from saccade.batch import Batch
from saccade.models.base import Seq2Seq

__all__ = ["Cut", "Ending", "History", "Hypothesis", "Kept", "walk"]

Steps = list[list[list[int]]]
"""By step, sentence and slot."""


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


class Cut:
    """Cuts from attention what stands for padding of a source, or for words that were never written."""

    def __init__(self, model: Seq2Seq, batch: Batch) -> None:
        visible = model.visible(batch)
        self._sides, self._sizes = model.sides, {name: mask.shape[1] for name, mask in visible.items()}
        self._lengths: dict[str, list[int]] = {name: mask.sum(-1).tolist() for name, mask in visible.items()}

    def read(self, site: str, weights: Tensor, row: int) -> Tensor:
        """Attention (H, R, S) of an encoder; what it attends to beside positions of a source is kept whole."""
        sides = self._sides(site)
        if weights.shape[-2:] != tuple(self._sizes.get(name) for name in sides):
            return weights
        rows, columns = (self._lengths[name][row] for name in sides)
        return weights[:, :rows, :columns]

    def wrote(self, site: str, weights: Tensor, row: int, *, unused: int) -> Tensor:
        """Attention (H, T, S) of a decoder that had room for `unused` words more than it wrote."""
        name = self._sides(site)[1]
        if name == "written":
            return weights[..., : weights.shape[-1] - unused]
        return weights[..., : self._lengths[name][row]] if name in self._lengths else weights


class History:
    """What was chosen in each step, from which slot, and where the model looked while choosing.

    encoding, cut: attention of the encoder, and how padding is cut off; None where attention is not wanted. Sites that
    look back at the answer have room for `max_length` words.
    """

    def __init__(self, encoding: Tape | None, cut: Cut | None, max_length: int) -> None:
        self._encoding, self._cut, self._max_length = encoding, cut, max_length
        self._parents: list[Tensor | None] = []
        self._tokens: list[Tensor] = []
        self._logs: list[Tensor] = []
        self._looks: list[Tape] = []
        self._place: dict[int, int] | None = None  # of each sentence that is left, once some are not
        self._places: list[dict[int, int] | None] = []

    def look(self, tape: Tape) -> None:
        """Remember the attention (B·K, H, 1, S) of a step."""
        self._looks.append(tape)

    def choose(self, parents: Tensor | None, tokens: Tensor, logs: Tensor | None = None) -> None:
        """Remember the slot each hypothesis came from (None: its own), the word it took, and how likely it is so."""
        self._parents.append(parents)
        self._tokens.append(tokens)
        self._places.append(self._place)
        if logs is not None:
            self._logs.append(logs)

    def keep(self, sentences: Sequence[int]) -> None:
        """From now on only these sentences are told of, in this order."""
        self._place = {sentence: place for place, sentence in enumerate(sentences)}

    def follow(self, endings: list[list[Ending]]) -> list[list[Hypothesis]]:
        """Walk from each ending back to the start."""
        if self._encoding is None and not self._logs and all(place is None for place in self._places):
            return self._follow_all(endings)
        tokens = [step.tolist() for step in self._tokens]
        own = list(range(self._tokens[0].shape[1]))
        parents = [
            [own] * len(step) if step_parents is None else step_parents.tolist()
            for step, step_parents in zip(tokens, self._parents, strict=True)
        ]
        looks = self._all_looks()
        return [
            [self._follow(row, ending, parents, tokens, looks) for ending in row_endings]
            for row, row_endings in enumerate(endings)
        ]

    def _follow_all(self, endings: list[list[Ending]]) -> list[list[Hypothesis]]:
        """The same for all of them at once, where there is nothing to tell but words."""
        parents = None if None in self._parents else torch.stack(self._parents).cpu().numpy()  # type: ignore[arg-type]
        return walk(torch.stack(self._tokens).cpu().numpy(), parents, endings)

    def _follow(self, row: int, ending: Ending, parents: Steps, tokens: Steps, looks: dict[str, Tensor]) -> Hypothesis:
        slot = ending.slot
        words: list[int] = [] if ending.last is None else [ending.last]
        slots = [] if ending.last is None else [slot]  # the slot that each word was chosen from
        for step in reversed(range(ending.steps)):
            place = self._at(step, row)
            words.append(tokens[step][place][slot])
            slot = parents[step][place][slot]
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
            self._attention(row, slots, looks),
            stood,
            self._beams(row, parents, tokens),
        )

    def _at(self, step: int, row: int) -> int:
        """The place of a sentence among those that were there in a step."""
        places = self._places[step]
        return row if places is None else places[row]

    def _beams(self, row: int, parents: Steps, tokens: Steps) -> list[Kept]:
        steps = zip(tokens, parents, self._logs, strict=False)  # there are no logs where nobody asked for them
        return [
            Kept(step_tokens[row], step_parents[row], logs[row].tolist()) for step_tokens, step_parents, logs in steps
        ]

    def _all_looks(self) -> dict[str, Tensor]:
        """By site, what all hypotheses looked at in all steps, one below the other: (ΣN, H, 1, S)."""
        if self._encoding is None or not self._looks:
            return {}
        return {site: torch.cat([tape[site] for tape in self._looks]) for site in self._looks[0]}

    def _attention(self, row: int, slots: list[int], looks: dict[str, Tensor]) -> dict[str, Tensor]:
        """By site, without columns that stand for padding or for words that were never written."""
        if self._encoding is None or self._cut is None:
            return {}
        found = {site: self._cut.read(site, self._encoding[site][row], row) for site in self._encoding}
        width = self._tokens[0].shape[1]
        first, rows = 0, []
        for step, slot in enumerate(slots):
            rows.append(first + self._at(step, row) * width + slot)
            first += self._tokens[step].numel()
        for site, every in looks.items():
            index = torch.tensor(rows, dtype=torch.long, device=every.device)
            weights = every.index_select(0, index).squeeze(2).transpose(0, 1)  # (H, T, S)
            found[site] = self._cut.wrote(site, weights, row, unused=self._max_length - len(slots))
        return found


def walk(
    tokens: NDArray[np.int64], parents: NDArray[np.int64] | None, endings: list[list[Ending]]
) -> list[list[Hypothesis]]:
    """From endings back to the start, through tokens and parents (T, B, K); without parents each slot has its own."""
    flat = [ending for row_endings in endings for ending in row_endings]
    width = tokens.shape[2]
    firsts = np.repeat(width * np.arange(len(endings)), [len(row_endings) for row_endings in endings])
    slots = np.array([ending.slot for ending in flat], dtype=np.int64)
    said = tokens.reshape(len(tokens), -1)
    if parents is None:
        words = said[:, firsts + slots]
        stood = np.broadcast_to(slots, words.shape)
    else:
        came_from = parents.reshape(said.shape)
        steps = np.array([ending.steps for ending in flat], dtype=np.int64)
        all_go = steps.min(initial=len(tokens))
        words, stood = np.empty((2, len(tokens), len(flat)), np.int64)
        for step in reversed(range(len(tokens))):
            places = firsts + slots
            stood[step], words[step] = slots, said[step].take(places)
            before = came_from[step].take(places)
            slots = before if step < all_go else np.where(step < steps, before, slots)
    columns = zip(flat, words.T.tolist(), stood.T.tolist(), strict=True)
    made = iter([_bare(ending, said[: ending.steps], where[: ending.steps]) for ending, said, where in columns])
    return [[next(made) for _ in row_endings] for row_endings in endings]


def _bare(ending: Ending, words: list[int], slots: list[int]) -> Hypothesis:
    """A hypothesis of which nothing is known but its words, and where it stood after each."""
    finished = ending.last is not None
    tokens = [*words, ending.last] if ending.last is not None else words
    return Hypothesis(tokens, ending.score, ending.log_probability, finished, {}, slots)

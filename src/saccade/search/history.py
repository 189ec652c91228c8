"""Hypotheses, and the history of a search from which they are backtracked."""

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

__all__ = ["Ending", "History", "Hypothesis", "Kept", "PaddingCrop", "walk"]

Steps = list[list[list[int]]]
"""Indexed by step, sentence and slot."""


class Kept(NamedTuple):
    """The K hypotheses of a sentence after a step: their last word, parent slot and log-probability."""

    tokens: list[int]
    parents: list[int]
    logs: list[float]


@dataclass(frozen=True)
class Hypothesis:
    """One answer of a search.

    tokens end with EOS if `finished`; otherwise the search reached max_length, or constraints allowed no word.
    score: what the search ranks by. log_probability: the model's own. attention: by site, (H, T, S), with a row per
    token and a column for each word it could attend to, without padding; an encoder's sites have a row per source
    word. slots: its slot after each step. beams: the K hypotheses of each step, if the search recorded them.
    """

    tokens: list[int]
    score: float
    log_probability: float
    finished: bool
    attention: dict[str, Tensor] = field(default_factory=dict, repr=False)
    slots: list[int] = field(default_factory=list, repr=False)
    beams: list[Kept] = field(default_factory=list, repr=False)


class Ending(NamedTuple):
    """The end of a hypothesis: its slot after `steps` steps; `last` is a final word after these, if any."""

    steps: int
    slot: int
    last: int | None
    score: float
    log_probability: float


class PaddingCrop:
    """Removes padding of the source and unused positions of the target from attention."""

    def __init__(self, model: Seq2Seq, batch: Batch) -> None:
        visible = model.visible(batch)
        self._sides, self._sizes = model.sides, {name: mask.shape[1] for name, mask in visible.items()}
        self._lengths: dict[str, list[int]] = {name: mask.sum(-1).tolist() for name, mask in visible.items()}

    def read(self, site: str, weights: Tensor, row: int) -> Tensor:
        """Crop attention (H, R, S) of an encoder; other shapes than the source's are returned unchanged."""
        sides = self._sides(site)
        if weights.shape[-2:] != tuple(self._sizes.get(name) for name in sides):
            return weights
        rows, columns = (self._lengths[name][row] for name in sides)
        return weights[:, :rows, :columns]

    def wrote(self, site: str, weights: Tensor, row: int, *, unused: int) -> Tensor:
        """Crop attention (H, T, S) of a decoder; `unused`: the reserved target positions without a word."""
        name = self._sides(site)[1]
        if name == "written":
            return weights[..., : weights.shape[-1] - unused]
        return weights[..., : self._lengths[name][row]] if name in self._lengths else weights


class History:
    """The words, parent slots and attention of each step.

    encoding, cut: attention of the encoder, and the crop of padding; None if attention is not wanted. Sites that attend
    to the target have `max_length` columns.
    """

    def __init__(self, encoding: Tape | None, cut: PaddingCrop | None, max_length: int) -> None:
        self._encoding, self._cut, self._max_length = encoding, cut, max_length
        self._parents: list[Tensor | None] = []
        self._tokens: list[Tensor] = []
        self._logs: list[Tensor] = []
        self._tapes: list[Tape] = []
        self._place: dict[int, int] | None = None  # the row of each remaining sentence, once some were removed
        self._places: list[dict[int, int] | None] = []

    def look(self, tape: Tape) -> None:
        """Record the attention (B·K, H, 1, S) of a step."""
        self._tapes.append(tape)

    def choose(self, parents: Tensor | None, tokens: Tensor, logs: Tensor | None = None) -> None:
        """Record the parent slot (None: its own), the word and the log-probability of each hypothesis."""
        self._parents.append(parents)
        self._tokens.append(tokens)
        self._places.append(self._place)
        if logs is not None:
            self._logs.append(logs)

    def keep(self, sentences: Sequence[int]) -> None:
        """Record only these sentences from now on, in this order."""
        self._place = {sentence: place for place, sentence in enumerate(sentences)}

    def follow(self, endings: list[list[Ending]]) -> list[list[Hypothesis]]:
        """Backtrack from each ending to the start."""
        if self._encoding is None and not self._logs and all(place is None for place in self._places):
            return self._follow_all(endings)
        tokens = [step.tolist() for step in self._tokens]
        own = list(range(self._tokens[0].shape[1]))
        parents = [
            [own] * len(step) if step_parents is None else step_parents.tolist()
            for step, step_parents in zip(tokens, self._parents, strict=True)
        ]
        weights = self._all_weights()
        return [
            [self._follow(row, ending, parents, tokens, weights) for ending in row_endings]
            for row, row_endings in enumerate(endings)
        ]

    def _follow_all(self, endings: list[list[Ending]]) -> list[list[Hypothesis]]:
        """Backtrack all endings at once, if only words are wanted."""
        parents = None if None in self._parents else torch.stack(self._parents).cpu().numpy()  # type: ignore[arg-type]
        return walk(torch.stack(self._tokens).cpu().numpy(), parents, endings)

    def _follow(
        self, row: int, ending: Ending, parents: Steps, tokens: Steps, weights: dict[str, Tensor]
    ) -> Hypothesis:
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
            self._attention(row, slots, weights),
            stood,
            self._beams(row, parents, tokens),
        )

    def _at(self, step: int, row: int) -> int:
        """Return the row of a sentence in a step."""
        places = self._places[step]
        return row if places is None else places[row]

    def _beams(self, row: int, parents: Steps, tokens: Steps) -> list[Kept]:
        steps = zip(tokens, parents, self._logs, strict=False)  # no logs, and so no result, unless beams are wanted
        return [
            Kept(step_tokens[row], step_parents[row], logs[row].tolist()) for step_tokens, step_parents, logs in steps
        ]

    def _all_weights(self) -> dict[str, Tensor]:
        """Concatenate, by site, the attention of all hypotheses in all steps: (ΣN, H, 1, S)."""
        if self._encoding is None or not self._tapes:
            return {}
        return {site: torch.cat([tape[site] for tape in self._tapes]) for site in self._tapes[0]}

    def _attention(self, row: int, slots: list[int], recorded: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return attention by site, without padding and unused positions of the target."""
        if self._encoding is None or self._cut is None:
            return {}
        found = {site: self._cut.read(site, self._encoding[site][row], row) for site in self._encoding}
        width = self._tokens[0].shape[1]
        first, rows = 0, []
        for step, slot in enumerate(slots):
            rows.append(first + self._at(step, row) * width + slot)
            first += self._tokens[step].numel()
        for site, every in recorded.items():
            index = torch.tensor(rows, dtype=torch.long, device=every.device)
            weights = every.index_select(0, index).squeeze(2).transpose(0, 1)  # (H, T, S)
            found[site] = self._cut.wrote(site, weights, row, unused=self._max_length - len(slots))
        return found


def walk(
    tokens: NDArray[np.int64], parents: NDArray[np.int64] | None, endings: list[list[Ending]]
) -> list[list[Hypothesis]]:
    """Backtrack endings through tokens and parents (T, B, K); without parents each slot continues itself."""
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
    """Return a hypothesis with its words and slots only."""
    finished = ending.last is not None
    tokens = [*words, ending.last] if ending.last is not None else words
    return Hypothesis(tokens, ending.score, ending.log_probability, finished, {}, slots)

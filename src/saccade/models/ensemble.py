"""Ensembles: several models, of any families, whose predictions are averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from saccade import pytree
from saccade.attention import Tape
from saccade.batch import Batch
from saccade.errors import ConfigError, unknown_name
from saccade.layers.stack import Layers
from saccade.models.base import Seq2Seq

__all__ = ["Ensemble"]

AVERAGES = ("probabilities", "log_probabilities")


@pytree.node
class Parts:
    """The memories or states of the members."""

    members: tuple[Any, ...]


class Ensemble(Seq2Seq):
    """Models over one vocabulary with averaged predictions; search uses it like a single model.

        probabilities: p(y) = mean_m p_m(y)              log_probabilities: log p(y) ∝ mean_m log p_m(y)

    On a Tape, the member's index is a prefix of its sites: "0.attention".
    """

    def __init__(
        self, members: Sequence[Seq2Seq], average: Literal["probabilities", "log_probabilities"] = "probabilities"
    ) -> None:
        super().__init__()
        sizes = [member.vocabulary for member in members]
        if not sizes or len(set(sizes)) > 1:
            raise ConfigError(
                f"an ensemble needs models over one vocabulary, but theirs have {sizes or 'no'} words. "
                "Train its members with one tokenizer."
            )
        if average not in AVERAGES:
            raise unknown_name("average", average, AVERAGES)
        self.members: Layers[Seq2Seq] = Layers(members)
        self.average, self.vocabulary = average, sizes[0]
        self.attends_afterwards = any(member.attends_afterwards for member in members)

    @property
    def source_sites(self) -> list[str]:
        return [f"{number}.{site}" for number, member in self._numbered() for site in member.source_sites]

    def sides(self, site: str) -> tuple[str, str]:
        number, _, inner = site.partition(".")
        return list(self.members)[int(number)].sides(inner)

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        return next(iter(self.members)).visible(batch)

    def choices(self, batch: Batch) -> int:
        return next(member.choices(batch) for member in self.members)

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Parts:
        return Parts(tuple(member.encode(batch, tape=_under(tape, number)) for number, member in self._numbered()))

    def init_state(self, memory: Parts, max_length: int) -> Parts:
        pairs = zip(self._numbered(), memory.members, strict=True)
        return Parts(tuple(member.init_state(part, max_length) for (_, member), part in pairs))

    def step(self, memory: Parts, state: Parts, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Parts]:
        logits, states = [], []
        for (number, member), part, before in zip(self._numbered(), memory.members, state.members, strict=True):
            scores, after = member.step(part, before, tokens, tape=_under(tape, number))
            logits.append(scores)
            states.append(after)
        return self._mean(logits), Parts(tuple(states))

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        return self._mean([member(batch, tape=_under(tape, number)) for number, member in self._numbered()])

    def _mean(self, logits: list[Tensor]) -> Tensor:
        logs = torch.stack(
            [torch.log_softmax(part.float() if part.dtype.itemsize < 4 else part, -1) for part in logits]
        )
        if self.average == "probabilities":
            return logs.logsumexp(0) - math.log(len(logits))
        return logs.mean(0)

    def _numbered(self) -> list[tuple[int, Seq2Seq]]:
        return list(enumerate(self.members))


def _under(tape: Tape | None, number: int) -> Tape | None:
    return None if tape is None else tape.under(f"{number}.")

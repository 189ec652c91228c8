"""EpisodeLoss: the training objective of few-shot learning."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import torch.nn.functional as F

from saccade.attention.tape import Tape
from saccade.batch import NO_LABEL, Batch
from saccade.data.batch_sampler import Rows
from saccade.data.store import Store
from saccade.train.objective import Losses, Objective
from saccade.train.terms import Term

__all__ = ["EpisodeLoss"]


class EpisodeLoss(Objective):
    """Cross-entropy of the labels of an episode's queries, of which each episode has the same number, plus terms."""

    def __init__(self, model: Any, queries: int, terms: Sequence[Term] = ()) -> None:
        super().__init__()
        self.model, self.queries = model, queries
        self.terms = [term for term in terms if term.weight]
        self.active = [term for term in self.terms if not term.after]

    def progress(self, share: float) -> None:
        self.active = [term for term in self.terms if share >= term.after]

    @property
    def phase(self) -> Hashable:
        return tuple(term.name for term in self.active)

    def count(self, store: Store, rows: Rows) -> int:
        return len(rows) * self.queries

    def losses(self, batch: Batch) -> Losses:
        assert batch.labels is not None
        tape = Tape() if self.active else None
        logs = self.model(batch, tape=tape)
        total = F.nll_loss(logs.flatten(0, 1), batch.labels.flatten(), ignore_index=NO_LABEL, reduction="sum")
        plain = total.detach()
        for term in self.active:
            assert tape is not None
            total = total + term.weight * term.loss(self.model, batch, tape)
        return Losses(total, plain)

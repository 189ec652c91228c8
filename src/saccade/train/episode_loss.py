"""EpisodeLoss: the training objective of few-shot learning."""

from __future__ import annotations

import torch.nn.functional as F

from saccade.batch import NO_LABEL, Batch
from saccade.data.batch_sampler import Rows
from saccade.data.store import Store
from saccade.models.base import Classifying
from saccade.train.objective import Losses, Objective

__all__ = ["EpisodeLoss"]


class EpisodeLoss(Objective):
    """Cross-entropy of the labels of an episode's queries, of which each episode has the same number."""

    def __init__(self, model: Classifying, queries: int) -> None:
        super().__init__()
        self.model, self.queries = model, queries

    def count(self, store: Store, rows: Rows) -> int:
        return len(rows) * self.queries

    def losses(self, batch: Batch) -> Losses:
        assert batch.labels is not None
        logs = self.model(batch)
        total = F.nll_loss(logs.flatten(0, 1), batch.labels.flatten(), ignore_index=NO_LABEL, reduction="sum")
        return Losses(total, total.detach())

"""GlimpseLoss: the training objective of models that choose where to look."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.tape import Tape
from saccade.batch import NO_LABEL, Batch
from saccade.data.batch_sampler import Rows
from saccade.data.loader import count_rows
from saccade.data.store import Store
from saccade.train.objective import Losses, Objective
from saccade.train.terms import GlimpseReward

__all__ = ["GlimpseLoss"]


class GlimpseLoss(Objective):
    """Cross-entropy of the label, plus REINFORCE for the places.

        Σ_t -log p_t(label) / T  +  weight · Σ_t -(R[t] - b[t]) log π(l[t])  +  Σ_t (R[t] - b[t])²

    R[t] is the mean reward after glimpse t and the later ones: the probability of the label. With
    `every_glimpse: false`, only the last glimpse counts, and with `reward: correct`, the reward is 1 or 0, both as in
    the paper. The baseline b is fitted to R, and neither R nor b passes a gradient to log π. A model that chooses no
    places has the first term alone. If the model also predicts the label from the finest patch of each glimpse alone,
    that loss is added, and the reward of glimpse t for it is added to R[t].
    Paper: Mnih et al. 2014, arXiv:1406.6247.
    """

    def __init__(self, model: Any, reward: GlimpseReward | None) -> None:
        super().__init__()
        self.model, self.reward = model, reward or GlimpseReward(weight=0.0)
        self.chooses = getattr(model, "policy", None) == "learned" and self.reward.weight > 0

    def count(self, store: Store, rows: Rows) -> int:
        return count_rows(store, rows)

    def progress(self, share: float) -> None:
        if self.chooses:
            first, last = self.reward.deviation
            self.model.deviation.fill_(first + (last - first) * min(1.0, share / self.reward.until))

    def losses(self, batch: Batch) -> Losses:
        assert batch.labels is not None
        tape = Tape(only=())
        logits, labels = self.model(batch, tape=tape), batch.labels
        plain = F.cross_entropy(logits, labels, ignore_index=NO_LABEL, reduction="sum")
        every = tape.tensors.get("glimpses.logits")
        total = plain if every is None else self._classes(every, labels)
        finest = tape.tensors.get("glimpses.finest")
        if finest is not None and finest.dim() == 3:
            total = total + _mean_loss(finest, labels)
        if every is None or not self.chooses:
            return Losses(total, plain.detach())
        real = (labels != NO_LABEL)[:, None]
        returns = self._returns(every.detach(), labels)
        if finest is not None and finest.dim() == 3:
            returns = returns + self._rewards(finest.detach(), labels)
        advantage = returns - tape.tensors["glimpses.baseline"]
        log_policy = tape.tensors["glimpses.log_policy"]
        policy = -(advantage.detach() * log_policy * real).sum()
        baseline = (advantage.square() * real).sum()
        return Losses(total + self.reward.weight * policy + self.reward.baseline * baseline, plain.detach())

    def _classes(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the cross-entropy of logits (B, T, classes), the mean over glimpses, or that of the last one."""
        if not self.reward.every_glimpse:
            logits = logits[:, -1:]
        return _mean_loss(logits, labels)

    def _returns(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return R (B, T - 1), for the glimpses after the first."""
        right = self._rewards(logits, labels)
        if not self.reward.every_glimpse:
            return right[:, -1:].expand_as(right)
        later = right.flip(1).cumsum(1).flip(1)
        return later / torch.arange(right.shape[1], 0, -1, device=right.device)

    def _rewards(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the reward (B, T - 1) of each glimpse after the first, from logits (B, T, classes)."""
        if self.reward.reward == "correct":
            return (logits.argmax(-1) == labels[:, None]).float()[:, 1:]
        places = labels.clamp_min(0)[:, None, None].expand(-1, logits.shape[1], 1)
        return logits.softmax(-1).gather(2, places)[:, 1:, 0]


def _mean_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the cross-entropy of logits (B, T, classes), the mean over glimpses, summed over the batch."""
    repeated = labels[:, None].expand(-1, logits.shape[1])
    summed = F.cross_entropy(logits.flatten(0, 1), repeated.flatten(), ignore_index=NO_LABEL, reduction="sum")
    return summed / logits.shape[1]

"""The objective of hard attention: cross-entropy for the words, REINFORCE for the attention draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.aligns.hard import Hard, MovingBaseline, reinforce_loss
from saccade.attention.tape import DISTRIBUTION, Tape
from saccade.batch import PAD, Batch
from saccade.errors import ConfigError
from saccade.kernels.cross_entropy import from_logits
from saccade.models.base import Seq2Seq
from saccade.train.objective import Losses, WordLoss
from saccade.train.terms import Reinforce, Term

__all__ = ["HardLoss", "learns_by_reward", "refuse_reward"]


def learns_by_reward(model: Seq2Seq) -> list[Hard]:
    """Return the hard attentions of a model that learn by REINFORCE: their draws pass no gradient."""
    return [part for part in model.modules() if isinstance(part, Hard) and part.estimator == "reinforce"]


def refuse_reward(model: Seq2Seq) -> None:
    """Raise if hard attention needs REINFORCE but the objective is cross-entropy alone."""
    if learns_by_reward(model):
        raise ConfigError(
            "hard attention learns by reward (REINFORCE), which this task has no objective for, so its scores would "
            "never change. Set align_options: {estimator: gumbel} beside align: hard, or choose another align."
        )


class HardLoss(WordLoss):
    """Cross-entropy of the words, plus REINFORCE for the attention draws s. The gradient is

        ∂ log p(y | s) + λ (log p(y | s) - b) ∂ log p(s) + ε ∂H(s),   b ← 0.9 b + 0.1 log p(y | s)

    A random share of the sentences uses soft attention instead of draws; this reduces the variance. The baseline b is
    part of the model, so that checkpoints include it.
    Paper: Xu et al. 2015, arXiv:1502.03044, equations 11 to 13.
    """

    def __init__(
        self, model: Seq2Seq, reward: Reinforce | None = None, *, terms: Sequence[Term] = (), **options: Any
    ) -> None:
        super().__init__(model, terms=terms, **options)
        if self.r_drop:
            raise ConfigError("train.r_drop compares dropout alone, but hard attention samples too. Set it to 0.")
        self.draws = learns_by_reward(model)
        baseline = getattr(model, "baseline", None)
        if not self.draws or not isinstance(baseline, MovingBaseline):
            raise ConfigError("this objective is for models with hard attention, but this one has none.")
        self.reward = reward or Reinforce()

    def losses(self, batch: Batch) -> Losses:
        if not self.training:
            return super().losses(batch)
        mask, tape = batch.expected_mask, Tape()
        rows = torch.rand(batch.size, device=batch.expected.device) < self.reward.expected
        for draw in self.draws:
            draw.expecting = rows
        try:
            logits = self.model(self._augmented(batch), tape=tape)  # (B, T, V)
        finally:
            for draw in self.draws:
                draw.expecting = None
        expected = batch.expected.masked_fill(~mask, PAD).flatten()
        flat = logits.flatten(0, 1)
        flat = flat.float() if flat.dtype.itemsize < 4 else flat
        smoothed = from_logits(flat, expected, smoothing=self.label_smoothing).smoothed
        plain = F.cross_entropy(flat.detach(), expected, ignore_index=PAD, reduction="none").view(mask.shape).sum(1)
        return Losses(
            smoothed + self._reinforce(tape, plain, mask) + self._weighted(self.active, batch, tape), plain.sum()
        )

    def _reinforce(self, tape: Tape, plain: Tensor, mask: Tensor) -> Tensor:
        """Return the REINFORCE loss, given the negative log-likelihood (B,) of each sentence."""
        reward = -self.reward.weight * plain
        baseline = self.model.baseline(reward, mask.any(1))  # type: ignore[operator]
        sites = [site for site in self.model.source_sites if site + DISTRIBUTION in tape]
        drawn = [(tape[site], tape[site + DISTRIBUTION]) for site in sites]
        losses = [reinforce_loss(*draw, reward, baseline, self.reward.entropy, mask).sum() for draw in drawn]
        return sum(losses, start=plain.new_zeros(()))

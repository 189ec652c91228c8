"""The objective of a generator that draws sentences."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.batch import Batch
from saccade.errors import ConfigError
from saccade.train.adversarial import AdversarialLoss
from saccade.train.objective import Losses, unknown
from saccade.train.terms import Adversarial

__all__ = ["DrawingLoss"]


class DrawingLoss(AdversarialLoss):
    """Hinge losses of two players, with sentences: the discriminator also rejects real images of other sentences.

        L_D = E max(0, 1 - D(x, s)) + ½ E max(0, 1 + D(G(z, s), s)) + ½ E max(0, 1 + D(x, s'))
        L_G = -E D(G(z, s), s) - weight · E log p(s | G(z, s)) / |s|

    s' is the sentence of another image of the batch (Reed et al. 2016, arXiv:1605.05396). p is the judge, a captioner
    that learns from real images in every turn; it does not learn from generated ones.
    """

    def __init__(self, model: Any, settings: Adversarial, weight: float, *, word_dropout: float = 0.0) -> None:
        super().__init__(model, settings)
        if settings.relativistic or settings.penalty:
            raise ConfigError(
                "a generator of sentences trains with the hinge loss and without a penalty. Leave relativistic and "
                "penalty out of objective.adversarial."
            )
        self.weight, self.word_dropout = weight, word_dropout
        self.register_buffer("nats", torch.zeros(()), persistent=False)
        self.nats: Tensor  # the judge's last loss for generated images, in nats per word

    def take_turn(self, step: int) -> None:
        super().take_turn(step)
        self.model.judge.requires_grad_(True)

    def numbers(self) -> dict[str, Any]:
        return {**super().numbers(), "redescription": float(self.nats)}

    def losses(self, batch: Batch) -> Losses:
        real = batch.expected_mask.any(1)  # rows that pad the batch are left out of the loss
        if not self.training:
            loss = self._tell_apart(batch, real)
            return Losses(loss, loss)
        if self.turn == "discriminator":
            loss = self._tell_apart(batch, real)
            self.hinge.copy_(loss.detach() / real.sum())
        else:
            loss = self._draw(batch, real)
        nats = self.model.misread(self.model.pixels(batch.pictures), batch, batch.expected_mask)
        learned = (nats / batch.expected_mask.sum(1).clamp_min(1)).masked_fill(~real, 0.0).sum()
        return Losses(loss + learned, self.hinge * real.sum())  # the log's `loss` is the discriminator's

    def _read(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the words (B, S) that both players see, and their mask; `word_dropout` hides some."""
        tokens = batch.expected
        hides = self.training and self.word_dropout > 0
        return unknown(tokens, self.word_dropout) if hides else tokens, batch.expected_mask

    def _tell_apart(self, batch: Batch, real: Tensor) -> Tensor:
        tokens, mask = self._read(batch)
        with torch.no_grad():
            drawn = self.model.generate(self._noise(tokens), tokens, mask)
        pixels = self.model.pixels(batch.pictures).to(drawn.dtype)
        others, other_mask = tokens.roll(1, 0), mask.roll(1, 0)
        scores = self.model.score(
            torch.cat([self._moved(torch.cat([pixels, drawn])), pixels]),
            torch.cat([tokens, tokens, others]),
            torch.cat([mask, mask, other_mask]),
        )
        right, fake, wrong = scores.float().view(3, -1)
        differs = (tokens != others).any(1) & other_mask.any(1)
        loss = F.relu(1 - right) + (F.relu(1 + fake) + F.relu(1 + wrong) * differs) / 2
        return loss.masked_fill(~real, 0.0).sum()

    def _draw(self, batch: Batch, real: Tensor) -> Tensor:
        tokens, mask = self._read(batch)
        drawn = self.model.generate(self._noise(tokens), tokens, mask)
        scores = self.model.score(self._moved(drawn), tokens, mask).float()
        loss: Tensor = -scores.masked_fill(~real, 0.0).sum()
        self.score.copy_(-loss.detach() / real.sum())
        if self.weight:
            told = batch.expected_mask & (tokens == batch.expected)  # a hidden word cannot be drawn
            nats = self._misread(drawn, batch, told) / mask.sum(1).clamp_min(1)
            nats = nats.masked_fill(~real, 0.0).sum()
            self.nats.copy_(nats.detach() / real.sum())
            loss = loss + self.weight * nats
        return loss

    def _misread(self, drawn: Tensor, batch: Batch, told: Tensor) -> Tensor:
        """Return the judge's loss for generated images, with gradients for the images alone."""
        judge = self.model.judge
        judge.requires_grad_(False).eval()
        nats: Tensor = self.model.misread(drawn, batch, told)
        judge.requires_grad_(True).train()
        return nats

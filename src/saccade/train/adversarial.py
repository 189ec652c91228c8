"""The objective of two players: a generator of images learns to mislead a discriminator."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.batch import NO_LABEL, Batch
from saccade.data.batch_sampler import Rows
from saccade.data.loader import count_rows
from saccade.data.store import Store
from saccade.train.objective import Losses, Objective
from saccade.train.terms import Adversarial

__all__ = ["AdversarialLoss"]


class AdversarialLoss(Objective):
    """Hinge losses of two players, who take turns: an update changes the weights of one of them.

        L_D = E max(0, 1 - D(x, y)) + E max(0, 1 + D(G(z, y), y))        L_G = -E D(G(z, y), y)

    One optimizer updates both: it skips parameters without a gradient, and the waiting player has none. Adam's moments
    are kept per parameter. The judge, a classifier of real images, is trained in the generator's turn, when the real
    images of the batch are otherwise unused.
    Paper: Zhang et al. 2018, arXiv:1805.08318. Separate learning rates (TTUR): Heusel et al. 2017, arXiv:1706.08500.
    """

    def __init__(self, model: Any, settings: Adversarial) -> None:
        super().__init__()
        self.model, self.settings, self.turn = model, settings, "generator"
        self.register_buffer("hinge", torch.zeros(()), persistent=False)
        self.register_buffer("score", torch.zeros(()), persistent=False)
        self.hinge: Tensor  # the discriminator's last loss per image
        self.score: Tensor  # the discriminator's last mean score of generated images

    def take_turn(self, step: int) -> None:
        super().take_turn(step)
        self.turn = "discriminator" if step % (self.settings.turns + 1) else "generator"
        self.model.generator.requires_grad_(self.turn == "generator")
        self.model.judge.requires_grad_(self.turn == "generator")
        self.model.discriminator.requires_grad_(self.turn == "discriminator")

    def rate_of(self, parameter: str) -> float:
        player = parameter.removeprefix("model.").partition(".")[0]
        rates = {"discriminator": self.settings.discriminator_rate, "judge": self.settings.judge_rate}
        return rates.get(player, 1.0)

    @property
    def phase(self) -> Hashable:
        return self.turn

    def count(self, store: Store, rows: Rows) -> int:
        return count_rows(store, rows)

    def numbers(self) -> dict[str, Any]:
        gammas = {site: round(gamma, 4) for site, gamma in self.model.gammas.items()}
        return {"discriminator_loss": float(self.hinge), "generator_loss": -float(self.score), "gamma": gammas}

    def losses(self, batch: Batch) -> Losses:
        assert batch.labels is not None
        assert batch.pictures is not None
        real = batch.labels != NO_LABEL  # rows that pad the batch are left out of the loss
        labels = batch.labels.clamp_min(0)
        if self.training and self.turn == "generator":
            return self._generator(batch, labels, real)
        loss = self._discriminator(batch.pictures, labels, real)
        if self.training:
            self.hinge.copy_(loss.detach() / real.sum())
        return Losses(loss, loss.detach())

    def _discriminator(self, images: Tensor, labels: Tensor, real: Tensor) -> Tensor:
        with torch.no_grad():
            drawn = self.model.generate(self._noise(labels), labels)
        both = self._moved(torch.cat([self.model.pixels(images).to(drawn.dtype), drawn]))
        scores = self.model.score(both, labels.repeat(2)).float().view(2, -1)
        return (F.relu(1 - scores[0]) + F.relu(1 + scores[1])).masked_fill(~real, 0.0).sum()

    def _generator(self, batch: Batch, labels: Tensor, real: Tensor) -> Losses:
        drawn = self._moved(self.model.generate(self._noise(labels), labels))
        score = self.model.score(drawn, labels).float().masked_fill(~real, 0.0).sum()
        judged = self.model.judge(self.model.gray(batch.pictures))[1].float()
        mistaken = F.cross_entropy(judged, labels, reduction="none").masked_fill(~real, 0.0).sum()
        self.score.copy_(score.detach() / real.sum())
        return Losses(
            mistaken - score, self.hinge * real.sum()
        )  # the log's `loss` is the discriminator's; see `numbers`

    def _noise(self, labels: Tensor) -> Tensor:
        return torch.randn(len(labels), self.model.generator.noise, device=labels.device)

    def _moved(self, pixels: Tensor) -> Tensor:
        """Shift each image by up to `shift` pixels, so that the discriminator memorizes less."""
        most = self.settings.shift
        if not most or not self.training:
            return pixels
        count, _, high, wide = pixels.shape
        down, across = (torch.randint(0, 2 * most + 1, (count, 1), device=pixels.device) for _ in range(2))
        rows = torch.arange(high, device=pixels.device) + down
        columns = torch.arange(wide, device=pixels.device) + across
        padded = F.pad(pixels, (most,) * 4, mode="replicate").permute(0, 2, 3, 1)
        number = torch.arange(count, device=pixels.device)
        return padded[number[:, None, None], rows[:, :, None], columns[:, None]].permute(0, 3, 1, 2)

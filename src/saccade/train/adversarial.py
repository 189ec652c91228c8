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
from saccade.kernels import disable_fused
from saccade.train.objective import Losses, Objective
from saccade.train.terms import Adversarial

__all__ = ["AdversarialLoss"]


class AdversarialLoss(Objective):
    """Hinge losses of two players, who take turns: an update changes the weights of one of them.

        L_D = E max(0, 1 - D(x, y)) + E max(0, 1 + D(G(z, y), y))        L_G = -E D(G(z, y), y)

    With `relativistic` each generated image is compared with a real one x of the batch, by d = D(x) - D(G(z))
    (Jolicoeur-Martineau 2018, arXiv:1807.00734). `penalty` is λ (Mescheder et al. 2018, arXiv:1801.04406). Both
    together: Huang et al. 2024, arXiv:2501.05441.

        L_D = E log(1 + exp(-d)) + ½ λ (E |∇D(x)|² + E |∇D(G(z))|²)        L_G = E log(1 + exp(d))

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
        scores, steepness = self._scored(both, labels.repeat(2))
        right, fake = scores.view(2, -1)
        apart = F.softplus(fake - right) if self.settings.relativistic else F.relu(1 - right) + F.relu(1 + fake)
        return (apart + steepness.view(2, -1).sum(0)).masked_fill(~real, 0.0).sum()

    def _scored(self, pixels: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores (B,) of images, and the penalty of each while training."""
        if not self.settings.penalty or not self.training:
            scores = self.model.score(pixels, labels).float()
            return scores, torch.zeros_like(scores)
        pixels = pixels.detach().requires_grad_(True)
        with disable_fused():  # second derivatives follow
            scores = self.model.score(pixels, labels).float()
        (slopes,) = torch.autograd.grad(scores.sum(), pixels, create_graph=True)
        return scores, self.settings.penalty / 2 * slopes.float().square().sum((1, 2, 3))

    def _generator(self, batch: Batch, labels: Tensor, real: Tensor) -> Losses:
        drawn = self.model.generate(self._noise(labels), labels)
        if self.settings.relativistic:
            both = torch.cat([self.model.pixels(batch.pictures).to(drawn.dtype), drawn])
            right, fake = self.model.score(self._moved(both), labels.repeat(2)).float().view(2, -1)
            loss = F.softplus(right - fake)
        else:
            fake = self.model.score(self._moved(drawn), labels).float()
            loss = -fake
        judged = self.model.judge(self.model.gray(batch.pictures))[1].float()
        mistaken = F.cross_entropy(judged, labels, reduction="none").masked_fill(~real, 0.0).sum()
        self.score.copy_(fake.detach().masked_fill(~real, 0.0).sum() / real.sum())
        total = mistaken + loss.masked_fill(~real, 0.0).sum()
        return Losses(total, self.hinge * real.sum())  # the log's `loss` is the discriminator's; see `numbers`

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

"""Hard attention: one key per query."""

from typing import Literal

import torch
from torch import Tensor, nn

from saccade.attention.aligns.softmax import Softmax
from saccade.errors import ShapeError, unknown_name

__all__ = ["Hard", "MovingBaseline", "reinforce_loss"]

Estimator = Literal["reinforce", "gumbel"]


class Hard(Softmax):
    """Attend to one key: sampled from the softmax in training, the most probable one in evaluation.

        s ~ softmax(e / τ),   a = one-hot(s)

    `reinforce` passes no gradient through the sample: the scores learn from `reinforce_loss`, which reads the
    weights and the distribution from a Tape (`site` and `site + ".distribution"`).
    `gumbel` samples with Gumbel noise and passes the gradient as if the softmax had been used
    (straight-through; Jang et al. 2017, arXiv:1611.01144). The temperature divides the scores, and once more the
    noisy log-probabilities in the softmax of the backward pass.
    Paper: Xu et al. 2015, arXiv:1502.03044, section 4.1.
    """

    samples = True
    fusable = False

    def __init__(
        self, *, estimator: Estimator = "reinforce", temperature: float = 1.0, heads: int | None = None
    ) -> None:
        super().__init__(temperature=temperature, heads=heads)
        if estimator not in ("reinforce", "gumbel"):
            raise unknown_name("estimator", estimator, ("reinforce", "gumbel"))
        self.estimator = estimator
        self.expecting: Tensor | None = None
        """Mask (B,) of the rows that use the whole distribution instead of a sample in training; set per call."""

    def choose(self, distribution: Tensor) -> Tensor:
        visible = distribution > 0
        if not self.training:
            return _one_hot(distribution.argmax(-1), distribution) * visible
        wide = distribution.float() if distribution.dtype.itemsize < 4 else distribution
        chances = wide.clamp_min(torch.finfo(wide.dtype).tiny)
        noise = -torch.empty_like(chances).exponential_().log()
        noisy = chances.log() + noise  # Gumbel-max: the argmax is a sample
        noisy = noisy.masked_fill(~visible, torch.finfo(noisy.dtype).min)
        drawn = _one_hot(noisy.argmax(-1), noisy)
        if self.estimator == "gumbel":
            soft = torch.softmax(noisy / self.temperature, -1)
            drawn = drawn + soft - soft.detach()
        drawn = drawn.masked_fill(~visible, 0.0).to(distribution.dtype)
        if self.expecting is None:
            return drawn
        return torch.where(self.expecting.view(-1, *[1] * (drawn.dim() - 1)), distribution, drawn)


def _one_hot(index: Tensor, like: Tensor) -> Tensor:
    return torch.zeros_like(like).scatter(-1, index.unsqueeze(-1), 1.0)


def reinforce_loss(
    weights: Tensor,
    distribution: Tensor,
    reward: Tensor,
    baseline: Tensor | float,
    entropy: float = 0.0,
    mask: Tensor | None = None,
) -> Tensor:
    """Compute the REINFORCE loss of hard attention, per sentence.

        -(reward - baseline) · Σ_t log distribution[t, drawn_t]  -  entropy · Σ_t H(distribution[t])

    weights, distribution (B, H, T, S) from a Tape; reward (B,), such as the log-probability of the output;
    mask (B, T) of the real output steps -> (B,).
    """
    if weights.dim() != 4 or weights.shape != distribution.shape or reward.shape != weights.shape[:1]:
        raise ShapeError(
            f"weights are {tuple(weights.shape)}, the distribution {tuple(distribution.shape)} and the reward "
            f"{tuple(reward.shape)}, but must be (B, H, T, S) twice, as a Tape has them, and (B,)."
        )
    if mask is not None:
        weights, distribution = (part * mask[:, None, :, None] for part in (weights, distribution))
    logs = distribution.clamp_min(torch.finfo(distribution.dtype).tiny).log()
    drawn = (weights.detach() * logs).sum((1, 2, 3))
    spread = -(distribution * logs).sum((1, 2, 3))
    return -(reward - baseline).detach() * drawn - entropy * spread


class MovingBaseline(nn.Module):
    """The running mean of the reward: b ← 0.9 b + 0.1 mean(reward). Paper: Xu et al. 2015."""

    value: Tensor

    def __init__(self, decay: float = 0.9) -> None:
        super().__init__()
        self.decay = decay
        self.register_buffer("value", torch.zeros(()))

    def forward(self, reward: Tensor, real: Tensor | None = None) -> Tensor:
        """Return the baseline before this reward (B,); training updates it. real (B,): the rows that are sentences."""
        baseline = self.value.clone()
        if self.training:
            reward = reward.detach()
            mean = reward.mean() if real is None else (reward * real).sum() / real.sum().clamp_min(1)
            self.value.lerp_(mean.to(self.value.dtype), 1 - self.decay)
        return baseline

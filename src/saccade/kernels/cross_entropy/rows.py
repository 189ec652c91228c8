"""Losses of rows of logits and their gradient, in place; shared by both functions of `chunked.py`."""

from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.kernels.cross_entropy.losses import Losses

__all__ = ["Target", "add_up", "gradient_", "row_losses"]


@dataclass(frozen=True)
class Target:
    """The target distribution of a row: `share` on every class but padding, plus `right` on the expected class."""

    right: float
    share: float
    padding: int

    @classmethod
    def smooth(cls, smoothing: float, padding: int, classes: int) -> "Target":
        """Return the target that spreads ε = `smoothing` evenly over all classes but padding."""
        return cls(1 - smoothing, smoothing / max(classes - 1, 1), padding)

    def real(self, expected: Tensor) -> Tensor:
        """Return the mask (n, 1) of rows whose expected class (n,) is not padding."""
        return (expected != self.padding)[:, None]


def row_losses(logits: Tensor, expected: Tensor, target: Target) -> tuple[Losses, Tensor]:
    """Overwrite the logits with exp(logits - their maximum); return the losses and sums of each row.

    logits (n, V), expected (n,) -> Losses of (n, 1), sums (n, 1)
    """
    real = target.real(expected)
    logits.sub_(logits.amax(1, keepdim=True))
    chosen = logits.gather(1, expected[:, None])
    if target.share:  # skip the padding class, whose logit may be -inf
        sides = logits[:, : target.padding], logits[:, target.padding + 1 :]
        others = target.share * sum(side.sum(1, keepdim=True) for side in sides)
    else:
        others = 0.0
    sums = logits.exp_().sum(1, keepdim=True)
    plain = sums.log() - chosen
    smoothed = sums.log() - target.right * chosen - others
    return Losses(smoothed * real, plain * real, (chosen == 0) & real), sums


def gradient_(exponentials: Tensor, sums: Tensor, expected: Tensor, target: Target) -> Tensor:
    """Overwrite the result of `row_losses` (n, V) with the gradient: softmax - target, zero in rows of padding."""
    real = target.real(expected).to(exponentials.dtype)
    grad = exponentials.mul_(real / sums)
    if target.share:
        grad.sub_(target.share * real)
        grad[:, target.padding, None] += target.share * real
    return grad.scatter_add_(1, expected[:, None], -target.right * real)


def add_up(parts: list[Losses], like: Tensor) -> Losses:
    """Return the sums over all rows of all parts; `like` gives dtype and device if there are no parts."""
    if not parts:
        return Losses(like.new_zeros(()), like.new_zeros(()), like.new_zeros((), dtype=torch.int64))
    return Losses(*(torch.cat(column).sum() for column in zip(*parts, strict=True)))

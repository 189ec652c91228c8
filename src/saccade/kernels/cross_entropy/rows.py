"""The losses of some rows of logits and their slope, in place: what both entries of the kernel share."""

from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.kernels.cross_entropy.losses import Losses

__all__ = ["Target", "add_up", "row_losses", "slope_"]


@dataclass(frozen=True)
class Target:
    """The distribution a row is compared with: `share` on every class but padding, and `right` on the expected one."""

    right: float
    share: float
    padding: int

    @classmethod
    def smooth(cls, smoothing: float, padding: int, classes: int) -> "Target":
        """ε = `smoothing` taken from the expected class and spread evenly over all classes but padding."""
        return cls(1 - smoothing, smoothing / max(classes - 1, 1), padding)

    def real(self, expected: Tensor) -> Tensor:
        """(n,) -> (n, 1): which rows count."""
        return (expected != self.padding)[:, None]


def row_losses(logits: Tensor, expected: Tensor, target: Target) -> tuple[Losses, Tensor]:
    """The losses of each row, and the sum of what stands in the logits afterwards: exp(logits - their maximum).

    logits (n, V), expected (n,) -> Losses of (n, 1), sums (n, 1)
    """
    real = target.real(expected)
    logits.sub_(logits.amax(1, keepdim=True))
    chosen = logits.gather(1, expected[:, None])
    if target.share:  # around the padding, whose logit may be as low as -inf
        sides = logits[:, : target.padding], logits[:, target.padding + 1 :]
        others = target.share * sum(side.sum(1, keepdim=True) for side in sides)
    else:
        others = 0.0
    sums = logits.exp_().sum(1, keepdim=True)
    plain = sums.log() - chosen
    smoothed = sums.log() - target.right * chosen - others
    return Losses(smoothed * real, plain * real, (chosen == 0) & real), sums


def slope_(exponentials: Tensor, sums: Tensor, expected: Tensor, target: Target) -> Tensor:
    """softmax - target, zero in rows of padding, written over what `row_losses` left; (n, V)."""
    real = target.real(expected).to(exponentials.dtype)
    slope = exponentials.mul_(real / sums)
    if target.share:
        slope.sub_(target.share * real)
        slope[:, target.padding, None] += target.share * real
    return slope.scatter_add_(1, expected[:, None], -target.right * real)


def add_up(parts: list[Losses], like: Tensor) -> Losses:
    """The sums over rows that were done in parts; `like` gives dtype and device where there are none."""
    if not parts:
        return Losses(like.new_zeros(()), like.new_zeros(()), like.new_zeros((), dtype=torch.int64))
    return Losses(*(torch.cat(column).sum() for column in zip(*parts, strict=True)))

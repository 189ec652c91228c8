"""Dropout on the CPU with one random byte a number: a draw of 64 bits decides about eight of them."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.errors import ConfigError

__all__ = ["Dropout", "dropout"]

LEVELS = 256
"""How many values a random byte has, and so how many probabilities there are."""


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Each number is zero with probability k/256, the nearest to p, else scaled up so that the expected value is x.

    Asked for less than 1/512 from 0 or 1, on other devices and inside torch.compile this is torch's own dropout, with
    p itself. Randomness comes from torch's generator: same seed, same numbers; a saved state of it resumes.
    """
    if not 0 <= p <= 1:
        raise ConfigError(f"dropout is {p}, but the share of numbers to drop is in [0, 1].")
    if not training or p == 0:
        return x
    keep = round((1 - p) * LEVELS)
    if keep in (0, LEVELS) or x.device.type != "cpu" or torch.compiler.is_compiling() or not x.is_floating_point():
        return F.dropout(x, p)
    dropped: Tensor = _Masked.apply(x, _mask(x.shape, keep), LEVELS / keep)  # type: ignore[no-untyped-call]
    return dropped


class Dropout(nn.Module):
    """`dropout` as a layer, of two kinds: every number by itself, or `locked`.

    Locked, a feature that is dropped stays dropped through all steps of a sentence: x (B, T, D) shares one mask
    (B, 1, D), the "variational" dropout of Gal and Ghahramani (2016). Where the steps come one by one, `over_steps`
    gives the function to call in each.
    """

    def __init__(self, p: float, *, locked: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ConfigError(f"dropout is {p}, but the share of numbers to drop is in [0, 1].")
        self.p, self.locked = p, locked

    def forward(self, x: Tensor) -> Tensor:
        if self.locked and x.ndim > 2 and self.training and self.p > 0:
            return x * self._kept(x[:, :1])
        return dropout(x, self.p, self.training)

    def over_steps(self) -> Callable[[Tensor], Tensor]:
        """For a loop over steps (N, D): itself, or locked the first call's mask in all of them."""
        if not (self.locked and self.training and self.p > 0):
            return self
        mask: Tensor | None = None

        def drop(x: Tensor) -> Tensor:
            nonlocal mask
            if mask is None:
                mask = self._kept(x)
            return x * mask

        return drop

    def _kept(self, like: Tensor) -> Tensor:
        return dropout(torch.ones_like(like), self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}" + (", locked=True" if self.locked else "")


def _mask(shape: torch.Size, keep: int) -> Tensor:
    """uint8: 1 with probability keep/256, else 0; independent."""
    numbers = shape.numel()
    words = torch.empty((numbers + 7) // 8, dtype=torch.int64).random_(-(2**63), None)  # without bounds the sign is 0
    # Kept as uint8, not bool: torch converts and compares those with vector instructions, bools one by one.
    return words.view(torch.uint8)[:numbers].lt_(keep).view(shape)


def _masked(x: Tensor, mask: Tensor, scale: float) -> Tensor:
    return mask.to(x.dtype).mul_(x).mul_(scale)


class _Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mask: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(mask)
        ctx.scale = scale
        return _masked(x, mask, scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        return _masked(grads[0], mask, ctx.scale), None, None

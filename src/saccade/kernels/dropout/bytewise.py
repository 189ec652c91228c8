"""Dropout on the CPU with one random byte per number: a draw of 64 bits decides about eight numbers."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.errors import ConfigError

__all__ = ["Dropout", "dropout"]

LEVELS = 256
"""Values of a random byte; probabilities are multiples of 1 / LEVELS."""


def dropout(x: Tensor, p: float, training: bool = True) -> Tensor:
    """Zero each number with probability k/256, the nearest to p; scale the others so that the expected value is x.

    If p is within 1/512 of 0 or 1, on other devices and inside torch.compile, this is torch's own dropout with p
    itself. Random bits come from torch's generator, so its seed and its saved state reproduce them.
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
    """`dropout` as a layer: independent for every number, or `locked`.

    If locked, a dropped feature stays dropped through all steps of a sentence: x (B, T, D) shares one mask (B, 1, D),
    the "variational" dropout of Gal and Ghahramani (2016). In a loop over steps, call the function that `over_steps`
    returns.
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
        """Return the dropout for a loop over steps (N, D); if locked, all steps share the first call's mask."""
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
    """Draw a uint8 mask: independently 1 with probability keep/256, else 0."""
    numbers = shape.numel()
    words = torch.empty((numbers + 7) // 8, dtype=torch.int64).random_(-(2**63), None)  # without bounds the sign is 0
    # uint8, not bool: torch converts and compares uint8 with vector instructions, but bools one by one.
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

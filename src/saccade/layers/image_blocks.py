"""Blocks of networks that generate images or judge them: residual blocks, and self-attention between all places."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import Attention, Tape
from saccade.attention.scores.dot import DotScore
from saccade.layers.spectral_norm import spectral_norm

__all__ = ["BatchSpread", "ConditionalNorm", "DownBlock", "GridAttention", "PlaceBlock", "UpBlock", "convolution"]

_GROUPS = (8, 4, 2, 1)
"""Sizes of the groups of images whose spread is measured, the first one that divides a batch."""


def convolution(before: int, after: int, size: int = 3, *, bias: bool = True) -> nn.Conv2d:
    """Return a convolution with spectral norm that keeps height and width."""
    layer = nn.Conv2d(before, after, size, padding=size // 2, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return spectral_norm(layer)


class GridAttention(nn.Module):
    """Self-attention over the places of a grid, x (B, D, rows, columns) -> (B, D, rows, columns).

        e[t, s] = (W_g x[t])ᵀ (W_f x[s])        o[t] = W_v Σ_s softmax(e)[t, s] W_h x[s]        y = γ o + x

    γ is a learned number that starts at 0, so the block begins as the identity. W_f and W_g have D / 8 rows, W_h D / 2.
    Paper: Zhang et al. 2018, arXiv:1805.08318. Differs: W_h has D / 8 rows in the text and D / 2 in the authors' code,
    which also pools keys and values; here every place is a key.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        inner, values = max(1, width // 8), max(1, width // 2)
        self.query, self.key = (convolution(width, inner, 1, bias=False) for _ in range(2))
        self.value, self.out = convolution(width, values, 1, bias=False), convolution(values, width, 1, bias=False)
        self.attention = Attention(DotScore(inner, inner))
        self.gamma = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, tape: Tape | None = None) -> Tensor:
        query, key, value = (part(x).flatten(2).mT for part in (self.query, self.key, self.value))
        context = self.attention(query, self.attention.bank(key, value), tape=tape).context
        grid = context.mT.unflatten(2, x.shape[2:])
        found: Tensor = self.gamma * self.out(grid) + x
        return found


class ConditionalNorm(nn.Module):
    """Batch norm whose gain and bias depend on the class of an image; with one class, plain batch norm."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(width, affine=False)
        self.gain, self.bias = (nn.Embedding(classes, width) for _ in range(2))
        nn.init.ones_(self.gain.weight)
        nn.init.zeros_(self.bias.weight)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        gain, bias = self.gain(labels)[..., None, None], self.bias(labels)[..., None, None]
        found: Tensor = self.norm(x) * gain + bias
        return found


class UpBlock(nn.Module):
    """Residual block that doubles height and width: (B, D, h, w) -> (B, D', 2h, 2w).

    `norm` makes a norm of a width, whose gain and bias depend on what the image is to show, such as its class.
    """

    def __init__(self, before: int, after: int, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.norms = nn.ModuleList([norm(before), norm(after)])
        self.convolutions = nn.ModuleList([convolution(before, after), convolution(after, after)])
        self.short = convolution(before, after, 1)

    def forward(self, x: Tensor, shown: Tensor) -> Tensor:
        y = F.interpolate(F.relu(self.norms[0](x, shown)), scale_factor=2)
        y = F.relu(self.norms[1](self.convolutions[0](y), shown))
        found: Tensor = self.convolutions[1](y) + F.interpolate(self.short(x), scale_factor=2)
        return found


class DownBlock(nn.Module):
    """Residual block that halves height and width: (B, D, h, w) -> (B, D', h/2, w/2)."""

    def __init__(self, before: int, after: int, *, first: bool = False) -> None:
        """Build the block; the `first` one reads pixels, so it has no ReLU before its first convolution."""
        super().__init__()
        self.first = first
        self.convolutions = nn.ModuleList([convolution(before, after), convolution(after, after)])
        self.short = convolution(before, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.convolutions[0](x if self.first else F.relu(x))
        y = F.avg_pool2d(self.convolutions[1](F.relu(y)), 2)
        found: Tensor = y + self.short(F.avg_pool2d(x, 2))
        return found


class PlaceBlock(nn.Module):
    """Residual block of 1 × 1 convolutions, which transforms each place alone: (B, D, h, w) -> (B, D, h, w)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList([convolution(width, width, 1) for _ in range(2)])

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.convolutions[1](F.relu(self.convolutions[0](F.relu(x))))
        return found


class BatchSpread(nn.Module):
    """Tells a discriminator how much the images of a batch differ: vectors h (B, D) -> (B, D).

        h + ReLU(W [h, s] + b)        s is the standard deviation of each number in a group of up to 8 neighbors

    So a generator that draws the same again and again is found out. After Karras et al. 2018, arXiv:1710.10196, who
    average s to one number.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = spectral_norm(nn.Linear(2 * width, width))

    def forward(self, h: Tensor) -> Tensor:
        size = next(size for size in _GROUPS if len(h) % size == 0)
        groups = h.view(-1, size, h.shape[1])
        deviation = (groups.var(1, correction=0, keepdim=True) + 1e-6).sqrt().expand_as(groups).flatten(0, 1)
        return h + F.relu(self.linear(torch.cat([h, deviation], 1)))

"""From a sequence to one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade import masks
from saccade.attention import Additive, Attention, Tape
from saccade.errors import lookup
from saccade.layers.encoder import Reading

__all__ = ["POOLINGS", "AttentionPooling", "Last", "Mean", "Pooling", "build_pooling"]


class Pooling(nn.Module):
    """pooling(reading, mask (B, S)) -> (B, D)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, reading: Reading, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        """The source summed up."""
        raise TypeError(f"{type(self).__name__} does not say how it pools: write forward()")


class Mean(Pooling):
    """The mean of the annotations."""

    def forward(self, reading: Reading, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        return masks.mean(reading.annotations, mask)


class Last(Pooling):
    """What the encoder ends with: the annotation that has read everything, of each direction."""

    def forward(self, reading: Reading, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        return reading.last


class AttentionPooling(Pooling):
    """Attention with a learned question: Σ a[s] h[s], a = softmax(v · tanh(W q + U h[s]))."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.question = nn.Parameter(torch.randn(1, 1, width) * width**-0.5)
        self.attention = Attention(Additive(width, width))

    def forward(self, reading: Reading, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        bank = self.attention.bank(reading.annotations, mask=mask)
        question = self.question.expand(bank.values.shape[0], 1, self.width)
        attended: Tensor = self.attention(question, bank, tape=tape).context
        return attended[:, 0]


POOLINGS = {"mean": Mean, "last": Last, "attention": AttentionPooling}


def build_pooling(name: str, width: int) -> Pooling:
    """A pooling by its name in POOLINGS."""
    return lookup("pooling", name, POOLINGS)(width)

"""Poolings: from a sequence to one vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade import masks
from saccade.attention import Additive, Attention, Tape
from saccade.errors import lookup
from saccade.layers.encoder import EncoderOutput

__all__ = ["POOLINGS", "AttentionPooling", "Last", "Mean", "Pooling", "build_pooling"]


class Pooling(nn.Module):
    """pooling(encoded, mask (B, S)) -> (B, D)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, encoded: EncoderOutput, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Return one vector (B, D) per source."""
        raise TypeError(f"{type(self).__name__} must implement forward()")


class Mean(Pooling):
    """The mean of the annotations."""

    def forward(self, encoded: EncoderOutput, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        return masks.mean(encoded.annotations, mask)


class Last(Pooling):
    """For each direction, the annotation after the whole source was read."""

    def forward(self, encoded: EncoderOutput, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        return encoded.last


class AttentionPooling(Pooling):
    """Attention with a learned query q: Σ a[s] h[s], a = softmax(v · tanh(W q + U h[s]))."""

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self.question = nn.Parameter(torch.randn(1, 1, width) * width**-0.5)
        self.attention = Attention(Additive(width, width))

    def forward(self, encoded: EncoderOutput, mask: Tensor, *, tape: Tape | None = None) -> Tensor:
        bank = self.attention.bank(encoded.annotations, mask=mask)
        question = self.question.expand(bank.values.shape[0], 1, self.width)
        attended: Tensor = self.attention(question, bank, tape=tape).context
        return attended[:, 0]


POOLINGS = {"mean": Mean, "last": Last, "attention": AttentionPooling}


def build_pooling(name: str, width: int) -> Pooling:
    """Build a pooling by its name in POOLINGS."""
    return lookup("pooling", name, POOLINGS)(width)

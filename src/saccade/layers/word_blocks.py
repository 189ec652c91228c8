"""Blocks of networks that draw sentences: an encoder, a norm that a vector controls, attention to words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade.attention import Attention, Tape
from saccade.attention.scores.dot import ScaledDot
from saccade.layers.encoder import RecurrentEncoder
from saccade.layers.image_blocks import convolution
from saccade.layers.spectral_norm import spectral_norm

__all__ = ["SentenceEncoder", "SentenceNorm", "WordAttention"]


class SentenceEncoder(nn.Module):
    """tokens (B, S), mask (B, S) -> words (B, S, D), sentence (B, D): a GRU in both directions."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.encoder = RecurrentEncoder("gru", width, width // 2, bidirectional=True)
        self.width = self.encoder.width

    def forward(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        found = self.encoder(self.embedding(tokens), mask)
        return found.annotations, found.last


class SentenceNorm(nn.Module):
    """Batch norm whose gain and bias are linear in a vector (B, D), such as sentence and noise."""

    def __init__(self, width: int, vector: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(width, affine=False)
        self.gain, self.bias = (spectral_norm(nn.Linear(vector, width)) for _ in range(2))

    def forward(self, x: Tensor, vector: Tensor) -> Tensor:
        gain, bias = 1 + self.gain(vector)[..., None, None], self.bias(vector)[..., None, None]
        found: Tensor = self.norm(x) * gain + bias
        return found


class WordAttention(nn.Module):
    """Attention from the places of a grid to the words of a sentence: (B, D, rows, columns) -> the same shape.

        e[t, s] = (W_q x[t])ᵀ (W_k word[s]) / √d        y[t] = x[t] + W_o [x[t] ; Σ_s softmax(e)[t, s] W_v word[s]]

    Paper: Xu et al. 2018 (AttnGAN), arXiv:1711.10485, which concatenates the context to x and has W_q = 1.
    """

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        inner = max(1, width // 2)
        self.query = nn.Conv2d(width, inner, 1)
        self.key, self.value = nn.Linear(words, inner), spectral_norm(nn.Linear(words, width))
        self.out = convolution(2 * width, width, 1)
        self.attention = Attention(ScaledDot(inner, inner))

    def forward(self, x: Tensor, words: Tensor, mask: Tensor, tape: Tape | None = None) -> Tensor:
        bank = self.attention.bank(self.key(words), self.value(words), mask)
        context = self.attention(self.query(x).flatten(2).mT, bank, tape=tape).context
        found: Tensor = x + self.out(torch.cat([x, context.mT.unflatten(2, x.shape[2:])], 1))
        return found

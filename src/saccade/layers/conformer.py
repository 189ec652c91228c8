"""Conformer: Transformer layers with a convolution, for speech (Gulati et al. 2020, arXiv:2005.08100)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from saccade import masks
from saccade.attention import MultiHead, Tape
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import Encoder, EncoderOutput
from saccade.layers.stack import Layers
from saccade.layers.transformer import MakeAttention

__all__ = ["ConformerEncoder", "ConformerLayer", "Convolution"]


class Convolution(nn.Module):
    """A convolution over time, separately for each channel, between gated and plain linear layers.

        u = LN(x)      g = (u W_1 + b_1) · σ(u W_2 + b_2)      f[t] = Σ_k w[k] g[t + k - ⌊K/2⌋] + b
        y = swish(LN(f)) W_3 + b_3                              swish(z) = z σ(z)

    x (B, S, D) -> (B, S, D).   W_i (D, D); w (K, D).   Differs from the paper: a layer norm in place of batch norm, so
    that an output does not depend on the rest of the batch.
    """

    def __init__(self, width: int, kernel: int) -> None:
        super().__init__()
        self.norm, self.gated = nn.LayerNorm(width), nn.Linear(width, 2 * width)
        self.depthwise = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width)
        self.between, self.output = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return the update of x; padding (mask (B, S) False) is read as zeros."""
        gated = F.glu(self.gated(self.norm(x)), -1).masked_fill(~mask[..., None], 0.0)
        heard = self.depthwise(gated.mT).mT
        out: Tensor = self.output(F.silu(self.between(heard)))
        return out


class ConformerLayer(nn.Module):
    """Two half feed-forward layers around self-attention and a convolution.

        x += ½ FFN(x)      x += attention(LN(x))      x += convolution(x)      x += ½ FFN'(x)      x = LN(x)
        FFN(x) = swish(LN(x) V_1 + c_1) V_2 + c_2

    In training, dropout is applied to each update, and inside FFN.
    """

    def __init__(self, attention: MultiHead, width: int, inner: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second = (_feed_forward(width, inner, dropout) for _ in range(2))
        self.norm_attention, self.self_attention = nn.LayerNorm(width), attention
        self.convolution, self.norm, self.dropout = Convolution(width, kernel), nn.LayerNorm(width), Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor, tape: Tape | None = None) -> Tensor:
        """Map (B, S, width) to the same shape."""
        x = x + 0.5 * self.dropout(self.first(x))
        attended = self.self_attention.over(self.norm_attention(x), mask, sight="some", tape=tape)
        x = x + self.dropout(attended.context)
        x = x + self.dropout(self.convolution(x, mask))
        out: Tensor = self.norm(x + 0.5 * self.dropout(self.second(x)))
        return out


def _feed_forward(width: int, inner: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.LayerNorm(width), nn.Linear(width, inner), nn.SiLU(), Dropout(dropout), nn.Linear(inner, width)
    )


class ConformerEncoder(Encoder):
    """A stack of Conformer layers; attention turns queries and keys by their positions (rotary)."""

    def __init__(
        self, make_attention: MakeAttention, width: int, inner: int, layers: int, *, kernel: int, dropout: float
    ) -> None:
        super().__init__()
        self.width = width
        self.layers: Layers[ConformerLayer] = Layers(
            ConformerLayer(make_attention(), width, inner, kernel, dropout) for _ in range(layers)
        )

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> EncoderOutput:
        for layer in self.layers:
            inputs = layer(inputs, mask, tape)
        return EncoderOutput(inputs, masks.last(inputs, mask))

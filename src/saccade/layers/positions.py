"""Position codes, which give a model without recurrence the order of words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade.errors import ConfigError

__all__ = ["Learned", "Rotary", "Sinusoidal"]


class Sinusoidal(nn.Module):
    """Sines and cosines of decreasing frequency, added to the embeddings; any length.

        PE[p, 2i] = sin(p / 10000^{2i/D})        PE[p, 2i+1] = cos(p / 10000^{2i/D})

    Paper: Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """

    max_length: int | None = None

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, positions: Tensor) -> Tensor:
        """Map positions (N, T) to codes (N, T, width), in float32."""
        pairs = torch.arange(0, self.width, 2, device=positions.device)
        angles = positions[..., None] * torch.pow(10000.0, -pairs / self.width)  # (N, T, D/2)
        return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., : self.width]


class Learned(nn.Module):
    """A learned vector per position, added to the embeddings; positions from max_length on have none."""

    def __init__(self, width: int, max_length: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.table = nn.Embedding(max_length, width)
        nn.init.normal_(self.table.weight, std=width**-0.5)

    def forward(self, positions: Tensor) -> Tensor:
        """Map positions (N, T) to codes (N, T, width)."""
        out: Tensor = self.table(positions)
        return out


class Rotary(nn.Module):
    """Rotate queries and keys by their position, so that scores depend on relative positions alone.

        pairs (x1, x2) of entry i -> (x1 cos pθ_i - x2 sin pθ_i, x2 cos pθ_i + x1 sin pθ_i),  θ_i = 10000^{-2i/D}

    Paper: Su et al. 2021, arXiv:2104.09864; the pairs are entries i and i + D/2.
    """

    def __init__(self, head_width: int) -> None:
        super().__init__()
        if head_width % 2:
            raise ConfigError(
                f"rotary positions rotate pairs of entries, but a head is {head_width} wide. Make it even."
            )
        self.pairs = head_width // 2

    def forward(self, x: Tensor, positions: Tensor | None) -> Tensor:
        """Rotate x (B, H, T, D) by positions (B, T), by default 0..T-1."""
        if positions is None:
            positions = torch.arange(x.shape[-2], device=x.device)[None]
        speeds = torch.pow(10000.0, -torch.arange(self.pairs, device=x.device) / self.pairs)
        angles = (positions[..., None] * speeds)[:, None]  # (B, 1, T, D/2)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        left, right = x.split(self.pairs, -1)
        return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)

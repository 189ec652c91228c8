# %% [markdown]
# A custom attention score: keys close to the query get more attention.
from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from saccade.attention import Score


class Distance(Score):
    """Negative squared distance between query and key in a common space.

        e[t, s] = - |W q[t] - U k[s]|² / √A

    q (..., T, Dq), k (..., S, Dk) -> e (..., T, S).   W (A, Dq), U (A, Dk), for each head if there are heads
    """

    def __init__(self, query_width: int, key_width: int, *, width: int = 32, heads: int | None = None) -> None:
        super().__init__(query_width, key_width, heads=heads)
        own = () if heads is None else (heads,)
        self.query = nn.Parameter(torch.randn(*own, query_width, width) / math.sqrt(query_width))
        self.key = nn.Parameter(torch.randn(*own, key_width, width) / math.sqrt(key_width))
        self.width = width

    @property
    def prepared_width(self) -> int:
        return self.width

    def prepare(self, keys: Tensor) -> Tensor:
        return keys @ self.key

    def forward(self, query: Tensor, keys: Tensor, past: object = None) -> Tensor:
        asked = query @ self.query
        squares = asked.square().sum(-1, keepdim=True) + keys.square().sum(-1)[..., None, :]
        return -(squares - 2 * asked @ keys.transpose(-1, -2)) / math.sqrt(self.width)

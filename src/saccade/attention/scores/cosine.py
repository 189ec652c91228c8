"""The cosine score."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.scores.base import Dot, Score
from saccade.errors import ConfigError

__all__ = ["Cosine"]


class Cosine(Score):
    """Cosine of the angle between query and key, times a learned sharpness.

        e[t, s] = β · q[t] · k[s] / (|q[t]| |k[s]|),   β > 0

    q (B, T, D), k (B, S, D) -> e (B, T, S).   log β (1,), or (H, 1, 1) with heads
    Paper: Graves et al. 2014, arXiv:1410.5401, content addressing. Differs: β is learned, not predicted.
    """

    def __init__(self, query_width: int, key_width: int, *, sharpness: float = 1.0, heads: int | None = None) -> None:
        super().__init__(query_width, key_width, heads=heads)
        self._same_width()
        if not sharpness > 0:
            raise ConfigError(f"sharpness is {sharpness}, but must be above 0, or the best key would count least.")
        shape = (1,) if heads is None else (heads, 1, 1)
        self.log_sharpness = nn.Parameter(torch.full(shape, sharpness).log())

    def prepare(self, keys: Tensor) -> Tensor:
        return _unit(keys)

    def as_dot(self, query: Tensor, keys: Tensor) -> Dot:
        return Dot(self.log_sharpness.exp() * _unit(query), keys, 1.0)


def _unit(vectors: Tensor) -> Tensor:
    # in float32: squares of half-precision numbers overflow
    wide = vectors.float() if vectors.dtype.itemsize < 4 else vectors
    return F.normalize(wide, dim=-1, eps=1e-6).to(vectors.dtype)

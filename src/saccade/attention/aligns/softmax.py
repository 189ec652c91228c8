"""Smooth aligns: every visible key gets a positive weight."""

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention.aligns.base import Align
from saccade.attention.scores.base import AttentionState
from saccade.errors import ConfigError

__all__ = ["SigmoidSmoothing", "Softmax"]


class Softmax(Align):
    """Softmax: weights in proportion to the exponential of the score.

        a[s] = exp(e[s] / τ) / Σ_s' exp(e[s'] / τ)

    A temperature τ below 1 sharpens (Chorowski's β = 1/τ), above 1 flattens.
    """

    def __init__(self, *, temperature: float = 1.0, heads: int | None = None) -> None:
        super().__init__(heads=heads)
        if not temperature > 0:
            raise ConfigError(f"temperature is {temperature}, but must be above 0; 'hard' is its limit at 0.")
        self.temperature = temperature

    @property
    def fusable(self) -> bool:  # type: ignore[override]
        return self.temperature == 1.0

    def share(self, scores: Tensor, past: AttentionState | None) -> Tensor:
        return torch.softmax(scores if self.temperature == 1.0 else scores / self.temperature, -1)

    def extra_repr(self) -> str:
        return "" if self.temperature == 1.0 else f"temperature={self.temperature}"


class SigmoidSmoothing(Align):
    """Normalized sigmoids: many keys can share the attention, as several frames of speech should.

        a[s] = σ(e[s]) / Σ_s' σ(e[s'])

    Paper: Chorowski et al. 2015, arXiv:1506.07503, section 2.3. Computed as the softmax of log σ, which is
    equal and stays correct where every σ underflows.
    """

    def share(self, scores: Tensor, past: AttentionState | None) -> Tensor:
        return torch.softmax(F.logsigmoid(scores), -1)

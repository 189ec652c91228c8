"""Spectral normalization: divide a weight by its largest singular value."""

from __future__ import annotations

from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

__all__ = ["SpectralNorm", "spectral_norm", "without_spectral_norm"]

Layer = TypeVar("Layer", bound=nn.Module)


class SpectralNorm(nn.Module):
    """weight -> weight / σ, where σ estimates its largest singular value by a step of power iteration.

        v = Wᵀu / |Wᵀu|        u ← Wv / |Wv|        σ = uᵀWv

    W is (out, rest). u is kept from call to call while the layer trains; it stays fixed in evaluation and while the
    weight is frozen, as in another player's turn. Only u's direction counts, so a mean of several u is usable too.
    Paper: Miyato et al. 2018, arXiv:1802.05957.
    """

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.register_buffer("u", F.normalize(torch.randn(rows), dim=0))
        self.u: Tensor

    def forward(self, weight: Tensor) -> Tensor:
        flat = weight.flatten(1)
        with torch.no_grad():
            v = F.normalize(flat.mT @ self.u, dim=0)
            u = F.normalize(flat @ v, dim=0)
            if self.training and weight.requires_grad:
                self.u.copy_(u)
        return weight / torch.dot(u, flat @ v)


def spectral_norm(layer: Layer) -> Layer:
    """Divide the weight of a layer by its largest singular value, whenever it is used."""
    weight = layer.weight
    assert isinstance(weight, Tensor)
    parametrize.register_parametrization(layer, "weight", SpectralNorm(len(weight)))
    return layer


def without_spectral_norm(module: nn.Module) -> None:
    """Remove the spectral norm of all layers of a module; they keep the weights before the norm."""
    for part in module.modules():
        if parametrize.is_parametrized(part, "weight"):
            parametrize.remove_parametrizations(part, "weight", leave_parametrized=False)

"""x Wᵀ + b by torch: the reference for packed matmuls, and the fallback."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["PlainProduct", "Product"]


class Product(ABC):
    """A matmul with constant weights: product(x (M, K)) -> x Wᵀ + b (M, N), for any number of rows M."""

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """Compute x Wᵀ + b."""

    def rectified(self, x: Tensor) -> Tensor:
        """Compute max(0, x Wᵀ + b)."""
        return self(x).relu_()

    def added(self, x: Tensor, to: Tensor) -> Tensor:
        """Compute to + x Wᵀ + b."""
        return self(x).add_(to)


class PlainProduct(Product):
    """Unpacked weights, multiplied by torch."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self._weight, self._bias)

    def rectified(self, x: Tensor) -> Tensor:
        if self._bias is None or not x.is_cuda:
            return super().rectified(x)
        return torch._addmm_activation(self._bias, x, self._weight.mT)  # bias and ReLU fused

    def added(self, x: Tensor, to: Tensor) -> Tensor:
        if self._bias is not None or not x.is_cuda:
            return super().added(x, to)
        return torch.addmm(to, x, self._weight.mT)  # the sum fused

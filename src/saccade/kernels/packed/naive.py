"""x Wᵀ + b as torch has it: what packed products must agree with, and what stands in where none can be had."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["PlainProduct", "Product"]


class Product(ABC):
    """product(x (M, K)) -> x Wᵀ + b (M, N), for M rows of any number."""

    @abstractmethod
    def __call__(self, x: Tensor) -> Tensor:
        """The product itself."""

    def rectified(self, x: Tensor) -> Tensor:
        """max(0, product)."""
        return self(x).relu_()

    def added(self, x: Tensor, to: Tensor) -> Tensor:
        """to + product."""
        return self(x).add_(to)


class PlainProduct(Product):
    """The weights as they are."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self._weight, self._bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self._weight, self._bias)

    def rectified(self, x: Tensor) -> Tensor:
        if self._bias is None or not x.is_cuda:
            return super().rectified(x)
        return torch._addmm_activation(self._bias, x, self._weight.mT)  # bias and ReLU while it is written

    def added(self, x: Tensor, to: Tensor) -> Tensor:
        if self._bias is not None or not x.is_cuda:
            return super().added(x, to)
        return torch.addmm(to, x, self._weight.mT)  # the sum while it is written

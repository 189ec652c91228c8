"""Matmuls of half-precision matrices with float32 sums and, where the device can, float32 output."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

__all__ = ["add_product_", "product", "product_dtype"]


def product_dtype(x: Tensor, weight: Tensor) -> torch.dtype:
    """Return the dtype of a layer's matmul: autocast's, else the promoted dtype of input and weights."""
    if torch.is_autocast_enabled(x.device.type):
        return torch.get_autocast_dtype(x.device.type)
    return torch.promote_types(x.dtype, weight.dtype)


def product(left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """Compute (n, k) @ (k, m) -> (n, m) in `dtype`, rounded once where the device can."""
    if left.dtype != dtype and dtype == torch.float32 and _wide(left.device.type):
        return torch.mm(left, right, out_dtype=dtype)
    return torch.mm(left, right).to(dtype)


def add_product_(total: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """Add left @ right to `total` in place; `total` may be float32 and the factors half precision."""
    if left.dtype == total.dtype:
        return total.addmm_(left, right)
    if total.dtype == torch.float32 and _wide(left.device.type):
        return torch.addmm(total, left, right, out_dtype=total.dtype, out=total)
    return total.add_(torch.mm(left, right))


@functools.cache
def _wide(kind: str) -> bool:
    """Return whether torch's half-precision matmuls can output float32 on this type of device."""
    small, total = torch.zeros(16, 16, device=kind, dtype=torch.bfloat16), torch.zeros(16, 16, device=kind)
    try:
        torch.mm(small, small, out_dtype=torch.float32)
        torch.addmm(total, small, small, out_dtype=torch.float32, out=total)
    except (RuntimeError, TypeError):  # this torch or this device does not support it
        return False
    return True

"""What a device can do at most, measured in the same run as what is set beside it."""

from __future__ import annotations

import functools

import torch
from torch import nn
from triton.testing import do_bench

__all__ = ["copy_speed", "operations_of", "product_speed", "share_of_copying", "share_of_products"]


@functools.cache
def copy_speed() -> float:
    """Bytes a second of a plain copy, read and written."""
    here = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    there = torch.empty_like(here)
    return float(2 * len(here) / (do_bench(lambda: there.copy_(here), return_mode="median") / 1e3))


@functools.cache
def product_speed() -> float:
    """Operations a second of a large product in bfloat16, as the library for such products does it."""
    one, other = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return float(2 * 8192**3 / (do_bench(lambda: one @ other, return_mode="median") / 1e3))


def share_of_copying(bytes_: float, ms: float) -> float:
    """The time that a copy would need to move so many bytes, beside the time taken."""
    return round(bytes_ / copy_speed() * 1e3 / ms, 3)


def share_of_products(operations: float, ms: float) -> float:
    """The time that large products would need for so many operations, beside the time taken."""
    return round(operations / product_speed() * 1e3 / ms, 3)


def operations_of(model: nn.Module, tokens: int) -> float:
    """Operations of a training step in products with weights, each used once a token: two a weight, three passes.

    Tables of word vectors are looked up and not multiplied with, unless they are the output layer's as well.
    """
    tables = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    used = {id(part.weight) for part in model.modules() if isinstance(part, nn.Linear)}
    counted = [weight for weight in model.parameters() if weight.dim() > 1 and (id(weight) not in tables - used)]
    return 6.0 * tokens * sum(weight.numel() for weight in counted)

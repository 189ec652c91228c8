"""Measured limits of a device: copy bandwidth and matmul throughput, for comparison in the same run."""

from __future__ import annotations

import functools

import torch
from torch import nn
from triton.testing import do_bench

__all__ = ["copy_speed", "operations_of", "product_speed", "share_of_copying", "share_of_products"]


@functools.cache
def copy_speed() -> float:
    """Measure the bytes per second of a plain copy, reads and writes."""
    here = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    there = torch.empty_like(here)
    return float(2 * len(here) / (do_bench(lambda: there.copy_(here), return_mode="median") / 1e3))


@functools.cache
def product_speed() -> float:
    """Measure the operations per second of a large bfloat16 matmul by torch's library."""
    one, other = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return float(2 * 8192**3 / (do_bench(lambda: one @ other, return_mode="median") / 1e3))


def share_of_copying(bytes_: float, ms: float) -> float:
    """Return the time of a plain copy of so many bytes, divided by the time taken."""
    return round(bytes_ / copy_speed() * 1e3 / ms, 3)


def share_of_products(operations: float, ms: float) -> float:
    """Return the time of large matmuls with so many operations, divided by the time taken."""
    return round(operations / product_speed() * 1e3 / ms, 3)


def operations_of(model: nn.Module, tokens: int) -> float:
    """Count the operations of a training step in matmuls with weights: two for each weight and token, three passes.

    Embedding tables do not count, unless they are tied to the output layer.
    """
    tables = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    used = {id(part.weight) for part in model.modules() if isinstance(part, nn.Linear)}
    counted = [weight for weight in model.parameters() if weight.dim() > 1 and (id(weight) not in tables - used)]
    return 6.0 * tokens * sum(weight.numel() for weight in counted)

"""Decide where the fused Triton kernels run: on a GPU, if Triton works and the caller has not disabled them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

__all__ = ["disable_fused", "fusable", "is_fused_disabled", "multiprocessors"]

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_disabled: ContextVar[bool] = ContextVar("disable_fused", default=False)


@contextmanager
def disable_fused() -> Iterator[None]:
    """Use torch's own operations inside this context: as a reference, and for second derivatives."""
    token = _disabled.set(True)
    try:
        yield
    finally:
        _disabled.reset(token)


def is_fused_disabled() -> bool:
    """Return whether the caller is inside `disable_fused`."""
    return _disabled.get()


def fusable(*tensors: Tensor | None) -> bool:
    """Return whether fused kernels take these tensors: on a GPU, not empty, dtype in DTYPES, outside torch.compile."""
    if torch.compiler.is_compiling() or is_fused_disabled():
        return False
    there = [tensor for tensor in tensors if tensor is not None]
    fits = all(_on_gpu(tensor) and tensor.dtype in DTYPES and tensor.numel() for tensor in there)
    return fits and all(_triton_works(tensor.device) for tensor in there)


def _on_gpu(tensor: Tensor) -> bool:
    return tensor.is_cuda and _recent(tensor.device)


@functools.cache
def _recent(device: torch.device) -> bool:
    """Return whether Triton's compiler still supports this GPU: compute capability 8.0 or higher."""
    recent = torch.cuda.get_device_capability(device) >= (8, 0)
    if not recent:
        logging.getLogger("saccade").info("fused kernels disabled on %s: the GPU is too old for Triton", device)
    return recent


@functools.cache
def _triton_works(device: torch.device) -> bool:
    """Return whether Triton is installed and can build a kernel (it needs a C compiler); tried on first use."""
    try:
        from saccade.kernels.columns.fused import column_sums

        column_sums(torch.ones(1, 1, device=device))
    except Exception as error:  # any failure: torch's own operations need no Triton
        logging.getLogger("saccade").info("fused kernels disabled on %s: %s", device, error)
        return False
    return True


@functools.cache
def multiprocessors(device: torch.device) -> int:
    """Return the number of multiprocessors (SMs) of a GPU; 2 under Triton's interpreter."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 2

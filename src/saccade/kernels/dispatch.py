"""Which operations Triton's kernels may do: on a GPU, where Triton is, and where nobody asked for the plain way."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

__all__ = ["fusable", "is_plain", "multiprocessors", "plain"]

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
_plain: ContextVar[bool] = ContextVar("plain", default=False)


@contextmanager
def plain() -> Iterator[None]:
    """Inside, everything is done by torch's own operations: to compare with, and for second derivatives."""
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def is_plain() -> bool:
    """Whether this is inside `plain`."""
    return _plain.get()


def fusable(*tensors: Tensor | None) -> bool:
    """Whether our kernels take these: on a GPU, not empty, in a precision they know, and outside torch.compile."""
    if torch.compiler.is_compiling() or is_plain():
        return False
    there = [tensor for tensor in tensors if tensor is not None]
    fits = all(_on_gpu(tensor) and tensor.dtype in DTYPES and tensor.numel() for tensor in there)
    return fits and all(_triton_works(tensor.device) for tensor in there)


def _on_gpu(tensor: Tensor) -> bool:
    return tensor.is_cuda and _recent(tensor.device)


@functools.cache
def _recent(device: torch.device) -> bool:
    """Whether a GPU is one that Triton's compiler still serves."""
    recent = torch.cuda.get_device_capability(device) >= (8, 0)
    if not recent:
        logging.getLogger("saccade").info("%s works without fused kernels: it is too old for Triton", device)
    return recent


@functools.cache
def _triton_works(device: torch.device) -> bool:
    """Whether Triton is installed and can build a kernel, for which it needs a compiler; tried when first needed."""
    try:
        from saccade.kernels.columns.fused import column_sums

        column_sums(torch.ones(1, 1, device=device))
    except Exception as error:  # whatever is missing: torch's own operations need none of it
        logging.getLogger("saccade").info("%s works without fused kernels: %s", device, error)
        return False
    return True


@functools.cache
def multiprocessors(device: torch.device) -> int:
    """How many programs a device runs side by side at least; a few where Triton's interpreter plays the device."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 2

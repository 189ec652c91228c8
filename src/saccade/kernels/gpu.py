"""Whether Triton's kernels can do the work."""

from __future__ import annotations

import functools
import logging

import torch
from torch import Tensor

__all__ = ["fusable"]

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def fusable(*tensors: Tensor | None) -> bool:
    """Whether these are all on a GPU, in a precision that kernels know, and Triton is there."""
    there = [tensor for tensor in tensors if tensor is not None]
    if not all(tensor.is_cuda and tensor.dtype in _DTYPES for tensor in there) or torch.compiler.is_compiling():
        return False
    return _has_triton()


@functools.cache
def _has_triton() -> bool:
    """Looked for when first needed, since it takes seconds to load."""
    try:
        import triton  # noqa: F401
    except ImportError as error:
        logging.getLogger("saccade").info("no fused kernels, since Triton is missing: %s", error)
        return False
    return True

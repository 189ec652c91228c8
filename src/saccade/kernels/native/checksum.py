"""The checksum of weights by writer.c, in one call for all tensors."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.kernels.native.library import library

__all__ = ["COLUMNS", "native_checksum"]

COLUMNS = 251
"""A prime, so that swapped rows of any usual width change the checksum."""


def native_checksum(tensors: Sequence[Tensor]) -> Tensor | None:
    """Add up the 8-byte words of all tensors in columns; tensor k begins in column 7 k.

    Return None without a C compiler, or if a tensor is not contiguous on the CPU.
    """
    loaded = library()
    if loaded is None or any(part.device.type != "cpu" or not part.is_contiguous() for part in tensors):
        return None
    count, sums = len(tensors), torch.zeros(COLUMNS, dtype=torch.long, device="cpu")
    places = (ctypes.c_void_p * count)(*(part.data_ptr() for part in tensors))
    sizes = (ctypes.c_int64 * count)(*(part.nbytes for part in tensors))
    loaded.checksum(places, sizes, count, ctypes.c_void_p(sums.data_ptr()), COLUMNS)
    return sums

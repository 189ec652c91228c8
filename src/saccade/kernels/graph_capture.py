"""CUDA graph capture that restores the stream and the random generator if it fails."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

__all__ = ["can_record", "is_recorded", "recording", "without_collecting"]

_ONE = threading.RLock()
"""Allows one capture at a time: garbage collection is switched off for the whole process."""


def can_record(tensor: Tensor) -> bool:
    """Return whether operations on a tensor can be captured in a CUDA graph: it is on a GPU."""
    return tensor.is_cuda


def is_recorded(tensor: Tensor) -> bool:
    """Return whether a CUDA graph captures the operations on a tensor now."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


@contextmanager
def without_collecting() -> Iterator[None]:
    """Disable garbage collection: freeing an unused CUDA graph during a capture would break the capture."""
    with _ONE:
        was = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was:
                gc.enable()


@contextmanager
def recording(graph: torch.cuda.CUDAGraph, pool: Any, stream: torch.cuda.Stream) -> Iterator[None]:
    """Capture the operations inside into `graph` without running them; a replay draws its own random numbers."""
    now = torch.cuda.current_stream(stream.device)
    with without_collecting(), torch.cuda.stream(now):  # a failed capture would leave its own stream current
        random = torch.cuda.get_rng_state(stream.device)
        torch.cuda.synchronize(stream.device)
        try:
            with torch.cuda.graph(graph, pool, stream, capture_error_mode="thread_local"):
                yield
        except BaseException:
            # a failed capture leaves the random generator in capture mode until another capture succeeds
            torch.cuda.synchronize(stream.device)
            with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream):
                torch.zeros((), device=stream.device)
            raise
        finally:
            torch.cuda.set_rng_state(random, stream.device)

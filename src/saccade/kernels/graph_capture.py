"""Recording CUDA graphs so that a recording that fails leaves nothing behind."""

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
"""One recording at a time: whether garbage is collected is a matter of the whole process."""


def can_record(tensor: Tensor) -> bool:
    """Whether what is done with a tensor can be recorded: it is on a GPU."""
    return tensor.is_cuda


def is_recorded(tensor: Tensor) -> bool:
    """Whether what is done with a tensor now is recorded."""
    return tensor.is_cuda and torch.cuda.is_current_stream_capturing()


@contextmanager
def without_collecting() -> Iterator[None]:
    """Garbage waits: a graph that nobody needs any more, taken away during a recording, would break that."""
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
    """What happens inside is recorded and not done; random numbers are drawn when it is replayed."""
    now = torch.cuda.current_stream(stream.device)
    with without_collecting(), torch.cuda.stream(now):  # a recording that breaks would stay on its own stream
        random = torch.cuda.get_rng_state(stream.device)
        torch.cuda.synchronize(stream.device)
        try:
            with torch.cuda.graph(graph, pool, stream, capture_error_mode="thread_local"):
                yield
        except BaseException:
            # the random numbers believe that they are being recorded until another recording ends well
            torch.cuda.synchronize(stream.device)
            with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream):
                torch.zeros((), device=stream.device)
            raise
        finally:
            torch.cuda.set_rng_state(random, stream.device)

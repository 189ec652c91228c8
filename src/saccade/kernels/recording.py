"""Recording CUDA graphs so that a recording that fails leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

__all__ = ["recording"]


@contextmanager
def recording(graph: torch.cuda.CUDAGraph, pool: Any, stream: torch.cuda.Stream) -> Iterator[None]:
    """What happens inside is recorded and not done; random numbers are drawn when it is replayed."""
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

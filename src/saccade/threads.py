"""CPU threads for decoding: one for small models, unless the user has set a number.

A decoding step of a small model is a few dozen short operations. Passing one to a second thread takes longer than
computing it. On busy cores, or in a container with fewer cores than torch counts, the threads also wait for each other:
decoding then takes several times the CPU seconds of one thread. The native C step (`kernels/native`) needs one thread.

A number set by the user stays: OMP_NUM_THREADS or MKL_NUM_THREADS in the environment, `torch.set_num_threads`, or
`--threads`. This module sets the number through OpenMP, per thread, so other threads keep theirs.
`torch.set_num_threads` would also change the number of every thread that starts in the meantime.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["SMALL", "SMALL_FOR_FEW", "decoding_threads", "limit_threads", "set_by_user", "weights_of_step"]

SMALL = 1 << 22
"""Models with at most this many weights, without word embeddings, decode with one thread.

Measured on two idle cores (`benchmarks/one_sentence.py --sweep`, raw lines in `results/threads_cpu.jsonl` beside it).
Below it, two threads save at most 15 % of the time of a batch of 32, and take up to 3.7 times as long for one sentence.
Above it, they save up to 30 %.
"""
SMALL_FOR_FEW = 1 << 23
"""The limit for at most `FEW` hypotheses: with 6 to 8 million weights, two threads take 0.9 to 2.1 times as long."""
FEW = 8

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_at_import = torch.get_num_threads()
_weights: weakref.WeakKeyDictionary[nn.Module, int] = weakref.WeakKeyDictionary()


@contextmanager
def decoding_threads(model: nn.Module, hypotheses: int) -> Iterator[None]:
    """Use one thread inside the block if the model is small and on the CPU, and the user has set no number.

    Only the calling thread's number changes; it is restored at the end.
    """
    before = torch.get_num_threads()
    change = None if before == 1 else _openmp()
    if change is None or not _is_small(model, hypotheses) or set_by_user():
        yield
        return
    change(1)
    try:
        yield
    finally:
        change(before)


def limit_threads(count: int) -> None:
    """Limit the calling thread to `count` threads from now on; `set_by_user` does not report this as the user's."""
    change = _openmp()
    if change is None:
        torch.set_num_threads(count)
    else:
        change(count)


def set_by_user() -> bool:
    """Return whether the user set the number of threads, in the environment or by `torch.set_num_threads`.

    A number equal to torch's default is detected only if it was set before the first search.
    """
    return any(name in os.environ for name in _VARIABLES) or _was_set(torch.get_num_threads())


def weights_of_step(model: nn.Module) -> int:
    """Count the weights that a decoding step multiplies by: all parameters except embeddings."""
    if (known := _weights.get(model)) is None:
        used = (part for module in model.modules() if type(module) is not nn.Embedding for part in _own(module))
        known = _weights[model] = sum({id(part): part.numel() for part in used}.values())
    return known


def _own(module: nn.Module) -> Iterator[nn.Parameter]:
    return (part for part in module._parameters.values() if part is not None)


def _is_small(model: nn.Module, hypotheses: int) -> bool:
    first = next(model.parameters(), None)
    if first is None or first.device.type != "cpu":
        return False
    return weights_of_step(model) <= (SMALL_FOR_FEW if hypotheses <= FEW else SMALL)


@functools.cache
def _openmp() -> Callable[[int], None] | None:
    """Return omp_set_num_threads of the OpenMP library that torch uses, or None if it is not found."""
    try:
        change: Callable[[int], None] = ctypes.CDLL(None).omp_set_num_threads
    except (AttributeError, OSError, TypeError):  # another threading library, or Windows
        return None
    return change if _in_new_thread(lambda: _follows(change)) else None


def _follows(change: Callable[[int], None]) -> bool:
    """Return whether torch follows `change`; it does not if that is from a second OpenMP library in the process."""
    other = torch.get_num_threads() + 1
    change(other)
    return torch.get_num_threads() == other


@functools.cache
def _was_set(count: int) -> bool:
    """Return whether `torch.set_num_threads` was called, given that the number is now `count`.

    A new thread starts with the number that was set. Otherwise, with MKL, it uses OpenMP's number, which is 1 here.
    """
    change = _openmp()
    if change is None or not torch.backends.mkl.is_available():
        return count != _at_import

    def has_set_number() -> bool:
        change(1)
        return torch.get_num_threads() != 1

    return _in_new_thread(has_set_number)


def _in_new_thread(ask: Callable[[], bool]) -> bool:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(ask()))
    thread.start()
    thread.join()
    return found == [True]

"""How many threads of the CPU decoding takes: one for small models, unless the user has set a number.

A step of a small model is some dozens of short operations, and handing one to a second thread takes longer than doing
it. Where other processes use the cores, or a container may use less of them than torch counts, the threads also wait
for each other: decoding then takes several times the CPU seconds of one thread. One thread also reaches the step in C
(`kernels/native`).

A number that the user has set stays: OMP_NUM_THREADS or MKL_NUM_THREADS in the environment, `torch.set_num_threads`, or
`--threads`. The number is changed through OpenMP, where it belongs to the calling thread, so other threads keep theirs.
`torch.set_num_threads` would also change the number of every thread that begins in the meantime.
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
"""Models with at most this many weights, word vectors not counted, decode with one thread.

Measured on two idle cores (`benchmarks/one_sentence.py --sweep`, raw lines in `results/threads_cpu.jsonl` beside it):
below it two threads save at most 15 % of the time of a batch of 32, and take up to 3.7 times as long for one sentence.
Above it they save up to 30 %.
"""
SMALL_FOR_FEW = 1 << 23
"""The same for at most `FEW` hypotheses in all, where two threads take 0.9 to 2.1 times as long for 6 to 8 million."""
FEW = 8

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_at_import = torch.get_num_threads()
_weights: weakref.WeakKeyDictionary[nn.Module, int] = weakref.WeakKeyDictionary()


@contextmanager
def decoding_threads(model: nn.Module, hypotheses: int) -> Iterator[None]:
    """Decode with one thread inside, if the model is small, on the CPU, and the user has set no number.

    Only the calling thread's number changes, and it is restored at the end.
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
    """Give the calling thread at most `count` threads from now on, which does not count as set by the user."""
    change = _openmp()
    if change is None:
        torch.set_num_threads(count)
    else:
        change(count)


def set_by_user() -> bool:
    """Whether the number of threads is the user's, by the environment or by `torch.set_num_threads`.

    A number equal to torch's own is noticed if it was set before the first search.
    """
    return any(name in os.environ for name in _VARIABLES) or _was_set(torch.get_num_threads())


def weights_of_step(model: nn.Module) -> int:
    """The weights that a step multiplies by: all parameters except word vectors, which it only looks up."""
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
    """Return omp_set_num_threads of the OpenMP library that torch uses; None where it is not found."""
    try:
        change: Callable[[int], None] = ctypes.CDLL(None).omp_set_num_threads
    except (AttributeError, OSError, TypeError):  # another threading library, or Windows
        return None
    return change if _in_new_thread(lambda: _follows(change)) else None


def _follows(change: Callable[[int], None]) -> bool:
    """Whether torch takes the number that is set: the process may hold a second OpenMP library."""
    other = torch.get_num_threads() + 1
    change(other)
    return torch.get_num_threads() == other


@functools.cache
def _was_set(count: int) -> bool:
    """Whether `torch.set_num_threads` was called, when the number is `count`.

    A new thread begins with the number that was set, or else, with MKL, with OpenMP's, which is made 1 here.
    """
    change = _openmp()
    if change is None or not torch.backends.mkl.is_available():
        return count != _at_import

    def begins_with_its_own() -> bool:
        change(1)
        return torch.get_num_threads() != 1

    return _in_new_thread(begins_with_its_own)


def _in_new_thread(ask: Callable[[], bool]) -> bool:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(ask()))
    thread.start()
    thread.join()
    return found == [True]

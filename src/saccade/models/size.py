"""Check the size of a model before its memory is allocated."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from saccade.errors import ConfigError, SaccadeError

__all__ = ["WithoutValues", "build_within", "memory_here"]

_RANDOM = {
    "normal_",
    "orthogonal_",
    "trunc_normal_",
    "uniform_",
    "xavier_uniform_",
    "kaiming_uniform_",
    "xavier_normal_",
}

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""The files where Linux stores the memory limit of a container."""


def build_within(make: Callable[[], nn.Module], room: int, whose: str) -> nn.Module:
    """Build a model with `make` if its parameters fit into `room` bytes; `whose` names the limit in the error.

    The check first builds the model on the meta device, without allocating memory. It is skipped for custom modules
    that cannot be built there.
    """
    parameters = _meta_parameters(make)
    size = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
    if size > room:
        count = sum(parameter.numel() for parameter in parameters)
        raise ConfigError(
            f"the model would have {count:,} parameters, which are {size / 1e9:,.1f} GB, but {whose} "
            f"{room / 1e9:,.1f} GB. Make its widths, its layers or the vocabulary smaller."
        )
    return make()


class WithoutValues(TorchFunctionMode):
    """Skips random initial values: on the meta device they have no effect, but import torch's compiler, for seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") in _RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))


def memory_here() -> int:
    """Return the maximum number of bytes that this process may use."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in _LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such file, or its content is "max"
            found.append(int(Path(limit).read_text()))
    with contextlib.suppress(ImportError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [soft] if soft != resource.RLIM_INFINITY else []
    return min(found)


def _meta_parameters(make: Callable[[], nn.Module]) -> list[nn.Parameter]:
    """Return the model's parameters on the meta device; none if it cannot be built there."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"), WithoutValues():  # do not advance the RNG
        try:
            model = make()
        except SaccadeError:
            raise
        except Exception:  # custom modules may read values, which meta tensors do not have
            return []
    return list(model.parameters())

"""The size of a model, known before it takes any memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from saccade.errors import ConfigError, SaccadeError

__all__ = ["build_within", "memory_here"]

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says what a container may use."""


def build_within(make: Callable[[], nn.Module], room: int, whose: str) -> nn.Module:
    """The model that `make` makes, if its parameters fit into so many bytes; `whose` says in errors what has them.

    A sketch of the model, which has shapes and no numbers, is made first. Modules of one's own that cannot be sketched
    are made without this check.
    """
    parameters = _sketched(make)
    size = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
    if size > room:
        count = sum(parameter.numel() for parameter in parameters)
        raise ConfigError(
            f"the model would have {count:,} parameters, which are {size / 1e9:,.1f} GB, but {whose} "
            f"{room / 1e9:,.1f} GB. Make its widths, its layers or the vocabulary smaller."
        )
    return make()


def memory_here() -> int:
    """The bytes of memory that this process may use at most."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in _LIMITS:
        with contextlib.suppress(OSError, ValueError):  # no such limit here, or it says "max"
            found.append(int(Path(limit).read_text()))
    with contextlib.suppress(ImportError):
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        found += [soft] if soft != resource.RLIM_INFINITY else []
    return min(found)


def _sketched(make: Callable[[], nn.Module]) -> list[nn.Parameter]:
    """Return a model's parameters without numbers; none where only the model itself can say what they are."""
    with torch.random.fork_rng(devices=[]), torch.device("meta"):  # the model itself draws the same numbers after it
        try:
            model = make()
        except SaccadeError:
            raise
        except Exception:  # code from outside may ask for numbers, which a sketch does not have
            return []
    return list(model.parameters())

"""Deprecated aliases: renamed objects keep their old names for one release, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["renamed", "warn_renamed"]


def warn_renamed(old: str, new: str) -> None:
    """Warn that `old` was renamed to `new`."""
    warnings.warn(f"{old} is now {new}; the next release removes the old name.", DeprecationWarning, stacklevel=3)


def renamed(module: str, names: dict[str, tuple[str, str]]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that resolves old names; `names`: old name -> (module, new name)."""

    def __getattr__(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        place, new = names[name]
        warn_renamed(f"{module}.{name}", f"{place}.{new}")
        return getattr(import_module(place), new)

    return __getattr__

"""All errors that saccade raises on purpose. Each message says what is wrong, where, and what to do.

SaccadeError
├── ShapeError        tensors whose ranks, widths, lengths or dtypes do not go together
├── ConfigError       settings or names that do not exist or cannot be combined; lists all faults
├── CheckpointError   a model folder or file that cannot be read
├── DataError         text, tokens or files that cannot be used; names the place
└── NumericsError     NaN or infinity where finite numbers are needed
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

__all__ = [
    "UPGRADE",
    "CheckpointError",
    "ConfigError",
    "DataError",
    "Interruption",
    "NumericsError",
    "SaccadeError",
    "ShapeError",
    "install_extra",
    "lookup",
    "unknown_name",
]

Entry = TypeVar("Entry")
UPGRADE = "Upgrade saccade: git pull in its clone, or install a newer wheel."


class SaccadeError(Exception):
    """Base class: `except SaccadeError` catches every error that a user can fix."""


class Interruption(Exception):
    """The work was canceled; not an error. Handlers that catch errors to fall back must re-raise it."""


class ShapeError(SaccadeError):
    """Tensors whose shapes or dtypes do not match; the message names both."""


class ConfigError(SaccadeError):
    """Settings that do not exist or cannot be combined."""


class CheckpointError(SaccadeError):
    """A model folder or file that cannot be read."""


class DataError(SaccadeError):
    """Input that cannot be used."""


class NumericsError(SaccadeError):
    """NaN or infinity where finite numbers are needed."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ConfigError:
    """Return the error for an unknown name, with the nearest known name."""
    names = sorted(known)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ConfigError(f"{kind} {name!r} does not exist.{hint} Known: {', '.join(names) or 'none'}.")


def install_extra(extra: str) -> str:
    """Return the commands that install an extra, from a clone and from a wheel: no package index has saccade."""
    return (
        f"In the clone of saccade: python -m pip install -e '.[{extra}]'. "
        f"From a wheel: python -m pip install 'WHEEL.whl[{extra}]'."
    )


def lookup(kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
    """Return the entry of a table with this name, or raise the error for an unknown name."""
    if name not in table:
        raise unknown_name(kind, name, table)
    return table[name]

"""Every error saccade raises on purpose. Each message says what is wrong, where, and what to do.

SaccadeError
├── ShapeError        tensors whose ranks, widths, lengths or dtypes do not go together
├── ConfigError       a setting or a name that does not exist or cannot be combined; all faults at once
├── CheckpointError   a model folder or file that cannot be read
├── DataError         text, tokens or files that cannot be used; names the place
└── NumericsError     NaN or infinity where numbers should be
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DataError",
    "Interruption",
    "NumericsError",
    "SaccadeError",
    "ShapeError",
    "lookup",
    "unknown_name",
]

Entry = TypeVar("Entry")


class SaccadeError(Exception):
    """The root: `except SaccadeError` catches what a user can mend."""


class Interruption(Exception):
    """Nobody waits for the work any more. No fault: whoever catches errors to go on otherwise lets it pass."""


class ShapeError(SaccadeError):
    """Tensors that do not go together; the message names both sides."""


class ConfigError(SaccadeError):
    """Settings that do not exist or cannot be combined."""


class CheckpointError(SaccadeError):
    """A model folder or file that cannot be read."""


class DataError(SaccadeError):
    """Input that cannot be used."""


class NumericsError(SaccadeError):
    """NaN or infinity where numbers should be."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> ConfigError:
    """The error for a name that is not in a table, with the nearest one that is."""
    names = sorted(known)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ConfigError(f"{kind} {name!r} does not exist.{hint} Known: {', '.join(names) or 'none'}.")


def lookup(kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
    """An entry of a table by its name, or the error that helps to find the right one."""
    if name not in table:
        raise unknown_name(kind, name, table)
    return table[name]

"""User code in recipes: `package.module:Class` instead of a name, imported only if the user trusts it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from saccade.errors import ConfigError, lookup

__all__ = ["find_factory", "find_part", "is_outside", "trusting"]

Part = TypeVar("Part")
_trusted: ContextVar[bool] = ContextVar("trusted", default=False)


@contextmanager
def trusting(trust: bool = True) -> Iterator[None]:
    """Allow recipes to name user code inside the block."""
    token = _trusted.set(trust or _trusted.get())
    try:
        yield
    finally:
        _trusted.reset(token)


def is_outside(name: str) -> bool:
    """Return whether a name is an import path, `package.module:Class`, of user code."""
    return ":" in name


def find_part(kind: str, name: str, table: Mapping[str, type[Part]]) -> type[Part]:
    """Return a part's class by its name in a table, or by its import path."""
    if not is_outside(name):
        return lookup(kind, name, table)
    found = _imported(kind, name)
    bases = {base for entry in table.values() for base in entry.__mro__[1:] if base.__name__ == kind.capitalize()}
    if not (isinstance(found, type) and any(issubclass(found, base) for base in bases)):
        raise ConfigError(f"the {kind} {name!r} is no {kind.capitalize()}. Derive it from saccade.attention's class.")
    known = inspect.signature(found).parameters.values()
    if not any(part.name == "heads" or part.kind is part.VAR_KEYWORD for part in known):
        raise ConfigError(
            f"the {kind} {name!r} does not accept the number of heads. Let its __init__ take `heads`, by name, as "
            f"saccade.attention's {kind.capitalize()} does."
        )
    return found


def find_factory(kind: str, name: str) -> Callable[[], Any]:
    """Return a callable by its import path, `package.module:name`."""
    found = _imported(kind, name)
    if not callable(found):
        raise ConfigError(f"the {kind} {name!r} cannot be called. Name a class, or a function that makes one.")
    made: Callable[[], Any] = found
    return made


def _imported(kind: str, name: str) -> Any:
    """Import the object at `package.module:name`; raise unless the user trusts user code."""
    if not _trusted.get():
        raise ConfigError(
            f"the {kind} {name!r} is code from outside saccade, which runs when it is loaded. If you trust where it "
            "comes from, pass --trust-code (in Python, trust_code=True)."
        )
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the {kind} {name!r} cannot be imported: {error}. Is its folder on PYTHONPATH?") from error
    except Exception as error:  # user code may raise anything during import
        raise ConfigError(f"the {kind} {name!r} cannot be imported: {type(error).__name__}: {error}.") from error

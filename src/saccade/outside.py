"""User code in recipes: `package.module:Class` instead of a name, imported only if the user trusts it."""

from __future__ import annotations

import importlib
import inspect
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from saccade.errors import ConfigError, lookup

__all__ = ["copy_modules", "find_factory", "find_part", "is_outside", "trusting"]

Part = TypeVar("Part")
_trusted: ContextVar[bool] = ContextVar("trusted", default=False)
_beside: ContextVar[Path | None] = ContextVar("beside", default=None)
_modules: set[Path] = set()
"""Files of modules that recipes have named."""


@contextmanager
def trusting(trust: bool = True, beside: Path | None = None) -> Iterator[None]:
    """Allow recipes to name user code inside the block; `beside`: a folder to look for it after Python's own."""
    trust = trust or _trusted.get()
    tokens = _trusted.set(trust), _beside.set(beside)
    added = [str(beside.absolute())] if trust and beside is not None else []
    sys.path.extend(added)
    try:
        yield
    finally:
        for place in added:
            sys.path.remove(place)
        _trusted.reset(tokens[0])
        _beside.reset(tokens[1])


def copy_modules(folder: Path) -> None:
    """Copy the named modules that lie beside the recipe to a model folder, so that a moved model finds them."""
    beside = _beside.get()
    for path in _modules:
        if beside is not None and path.parent == beside.absolute() != folder.absolute():
            shutil.copyfile(path, folder / path.name)


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
        found = importlib.import_module(module)
        if file := getattr(found, "__file__", None):
            _modules.add(Path(file))
        return getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"the {kind} {name!r} cannot be imported: {error}. Put its file beside the recipe, or its folder on "
            "PYTHONPATH."
        ) from error
    except Exception as error:  # user code may raise anything during import
        raise ConfigError(f"the {kind} {name!r} cannot be imported: {type(error).__name__}: {error}.") from error

"""Write the reference of the public names: the signature of each, and the first sentence of its docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any, get_args

from saccade.config import Config

MODULES = (
    "saccade",
    "saccade.attention",
    "saccade.models",
    "saccade.models.base",
    "saccade.models.family",
    "saccade.search",
    "saccade.runtime",
    "saccade.batch",
    "saccade.data.example",
    "saccade.data.forms",
    "saccade.data.features",
    "saccade.data.store",
    "saccade.data.tokenizer",
    "saccade.corpora",
    "saccade.recipes",
    "saccade.tasks.base",
    "saccade.tasks.generation",
    "saccade.tasks.inputs",
    "saccade.tasks.table",
    "saccade.train.terms",
    "saccade.train.log",
    "saccade.metrics",
    "saccade.trace",
    "saccade.look",
    "saccade.errors",
)
"""What one imports from outside: the packages that list their names, and the base classes that one extends."""


def signature(thing: Any) -> str:
    """Return the parameters as written; settings have theirs in another page, and other classes may have none."""
    if inspect.isclass(thing) and issubclass(thing, Config | Exception):
        return ""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parts, keywords = [], False
    for name, parameter in found.parameters.items():
        if name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            parts.append("*")
        keywords = keywords or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        plain = isinstance(parameter.default, str | int | float | tuple | None)
        default = repr(parameter.default) if plain else "…"
        given = "" if parameter.default is parameter.empty else f" = {default}"
        parts.append(f"{stars}{name}{annotation(parameter.annotation, ': ')}{given}")
    returned = "" if inspect.isclass(thing) else annotation(found.return_annotation, " → ")
    return f"({', '.join(parts)}){returned}"


def annotation(found: Any, before: str) -> str:
    """Return an annotation as written; modules without postponed annotations have the objects themselves."""
    if found in (inspect.Parameter.empty, None, "None"):
        return ""
    found = getattr(found, "__forward_arg__", found)  # of a NamedTuple
    if not isinstance(found, str):
        plain = isinstance(found, type) and not get_args(found)
        found = found.__name__ if plain else re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", str(found))
    return before + found


def sentence(text: str) -> str:
    """Return the first sentence of a docstring, on one line."""
    return re.split(r"(?<=\.)\s", " ".join(text.split("\n\n")[0].split()))[0].rstrip(":")


def entries(module: Any) -> Iterator[str]:
    """Write a line for each public name of a module; methods are indented below their class."""
    for name in module.__all__:
        thing = getattr(module, name)
        if isinstance(thing, dict) and all(isinstance(key, str) for key in thing):
            yield f"- `{name}`: a table of {', '.join(f'`{key}`' for key in thing)}."
        elif inspect.isclass(thing) or inspect.isfunction(thing):
            yield f"- `{name}{signature(thing)}`: {sentence(inspect.getdoc(thing) or '')}"
            yield from methods(thing) if inspect.isclass(thing) else ()
        elif not name.startswith("_"):
            yield f"- `{name}`"


def methods(kind: type) -> Iterator[str]:
    """Write a line for each public method that a class itself documents."""
    for name, found in vars(kind).items():
        function = getattr(found, "__func__", found)
        about = function.__doc__ if inspect.isfunction(function) else None
        if about and not name.startswith("_") and "deprecated" not in about:
            yield f"  - `.{name}{signature(function)}`: {sentence(about)}"


def python_api() -> str:
    """Return the page."""
    lines = ["# Python interface", "", "Written by `python docs/reference/make.py` from signatures and docstrings.", ""]
    for name in MODULES:
        module = importlib.import_module(name)
        lines += [f"## `{name}`", "", sentence(module.__doc__ or ""), "", *entries(module), ""]
    return "\n".join(lines).rstrip() + "\n"

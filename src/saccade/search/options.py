"""SearchOptions: the options of a search by name, for signatures; all may be left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal, TypedDict, TypeVar

__all__ = ["SearchOptions", "with_named_options"]

Function = TypeVar("Function", bound=Callable[..., Any])


class SearchOptions(TypedDict, total=False):
    """The settings of SearchConfig; one that is left out is the recipe's. `rate` describes arrays of sound."""

    beam: int
    nbest: int
    length_penalty: float
    coverage_penalty: float
    overlap_penalty: float
    sample: bool
    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int
    mbr: int | None
    max_length: int | None
    min_length: int
    no_repeat_ngram: int | None
    unknown: bool
    ctc: float
    fusion: dict[str, Any] | None
    no_answer: float
    captioner: str | None
    batch_size: int | None
    precision: Literal["full", "int8"]
    rate: int


class _Recipes:
    """The default of an option in a signature: the recipe's setting."""

    def __repr__(self) -> str:
        return "<recipe>"


def with_named_options(function: Function) -> Function:
    """Show the options by name in the signature of a function with `**options`, for `help` and completion."""
    own = inspect.signature(function)
    kept = [part for part in own.parameters.values() if part.kind is not part.VAR_KEYWORD]
    named = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=_Recipes(), annotation=kind)
        for name, kind in SearchOptions.__annotations__.items()
        if name not in own.parameters
    ]
    function.__signature__ = own.replace(parameters=[*kept, *named])  # type: ignore[attr-defined]
    return function

"""Training: the loop, objectives, checkpoints and devices. The package can be called: `saccade.train(recipe, out)`.

    model = saccade.train("english-french", "runs/first", train={"steps": 500})

trains a recipe and returns the model; see `saccade.experiments.train` for its options.
"""

import inspect
import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__: list[str] = []


class _Callable(ModuleType):
    """A package that can be called, since `saccade.train` is the name of a package and of what one does with it."""

    def __call__(self, *given: Any, **options: Any) -> Any:
        return import_module("saccade.experiments").train(*given, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        """The options by name, for `help` and completion."""
        return inspect.signature(import_module("saccade.experiments").train)


sys.modules[__name__].__class__ = _Callable

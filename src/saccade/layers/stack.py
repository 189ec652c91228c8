"""A typed nn.ModuleList."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from torch import nn

__all__ = ["Layers"]

Part = TypeVar("Part", bound=nn.Module)


class Layers(nn.ModuleList, Generic[Part]):
    """nn.ModuleList for type checkers: iteration and `at` return the type of its modules."""

    def __iter__(self) -> Iterator[Part]:
        return cast(Iterator[Part], super().__iter__())

    def at(self, index: int) -> Part:
        """Return the layer at an index."""
        return cast(Part, self[index])

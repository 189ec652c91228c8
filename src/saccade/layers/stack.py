"""A list of modules that remembers what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from torch import nn

__all__ = ["Layers"]

Part = TypeVar("Part", bound=nn.Module)


class Layers(nn.ModuleList, Generic[Part]):
    """nn.ModuleList for type checkers: iterating and indexing give back the type that was put in."""

    def __iter__(self) -> Iterator[Part]:
        return cast(Iterator[Part], super().__iter__())

    def at(self, index: int) -> Part:
        """The layer at an index."""
        return cast(Part, self[index])

"""Frozen dataclasses of tensors, and the few things done to all their tensors at once.

A node's fields are tensors, other nodes, tuples of them, or None. Every tensor has the batch axis first,
so that moving hypotheses around in a search is one `rows` call for every model there is.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, dataclass_transform

import torch
from torch import Tensor

__all__ = ["leaves", "map_tensors", "node", "repeat_rows", "row_count", "take_rows", "to_device", "write_at"]

Node = TypeVar("Node")


@dataclass_transform(frozen_default=True)
def node(cls: type[Node]) -> type[Node]:
    """Make a class a node: a frozen dataclass compared by identity."""
    return dataclasses.dataclass(frozen=True, eq=False)(cls)


def map_tensors(change: Callable[[Tensor], Tensor], tree: Node) -> Node:
    """The same tree with every tensor changed."""
    value: Any = tree
    if value is None:
        return tree
    if isinstance(value, Tensor):
        return change(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(map_tensors(change, part) for part in value)  # type: ignore[return-value]
    parts = {f.name: map_tensors(change, getattr(value, f.name)) for f in dataclasses.fields(value)}
    made: Node = type(value)(**parts)
    return made


def leaves(tree: Any) -> Iterator[Tensor]:
    """Every tensor of a tree, in order."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, tuple):
        for part in tree:
            yield from leaves(part)
    elif tree is not None:
        for field in dataclasses.fields(tree):
            yield from leaves(getattr(tree, field.name))


def row_count(tree: Any) -> int:
    """The size of the batch axis."""
    return next(leaves(tree)).shape[0]


def take_rows(tree: Node, rows: Tensor) -> Node:
    """The given rows of every tensor: how a beam search reorders its states."""
    return map_tensors(lambda tensor: tensor.index_select(0, rows), tree)


def repeat_rows(tree: Node, times: int) -> Node:
    """Each row `times` times in a run: B sentences become N = B·times hypotheses."""
    return map_tensors(lambda tensor: tensor.repeat_interleave(times, 0), tree)


def to_device(tree: Node, device: torch.device | str) -> Node:
    """The tree with its tensors on another device."""
    return map_tensors(lambda tensor: tensor.to(device), tree)


def write_at(cache: Tensor, positions: Tensor, entry: Tensor) -> Tensor:
    """A cache (N, T, ...) in which row n holds `entry[n]` at `positions[n]`.

    In place, since a step consumes its state. Gradients stay right because nobody has looked at that place yet: what
    earlier steps saved for their backward pass differs only where their masks hide it.
    """
    if not torch.is_grad_enabled():
        rows = torch.arange(cache.shape[0], device=cache.device)
        return cache.index_put_((rows, positions), entry.to(cache.dtype))
    if torch.compiler.is_compiling():
        slots = torch.arange(cache.shape[1], device=cache.device) == positions[:, None]  # (N, T)
        slots = slots.view(*slots.shape, *([1] * (cache.dim() - 2)))
        return torch.where(slots, entry[:, None].to(cache.dtype), cache)
    written: Tensor = _Write.apply(cache, positions, entry)  # type: ignore[no-untyped-call]
    return written


class _Write(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, cache: Tensor, positions: Tensor, entry: Tensor) -> Tensor:
        rows = torch.arange(cache.shape[0], device=cache.device)
        cache.data.index_put_((rows, positions), entry.to(cache.dtype))  # behind the back of autograd, see above
        ctx.save_for_backward(rows, positions)
        ctx.dtype = entry.dtype
        return cache.view_as(cache)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, Tensor]:
        # what flows on to the old cache is wrong at this place, but there it began with a constant
        return grads[0], None, grads[0][*ctx.saved_tensors].to(ctx.dtype)

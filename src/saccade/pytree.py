"""Pytrees: frozen dataclasses of tensors, and operations that apply to every tensor in them.

The fields of a node are tensors, other nodes, tuples or dicts of them, lists, or other values, which stay unchanged.
Tensors have the batch axis first; lists have one entry per row. One call therefore selects rows of any batch, encoder
output or decoder state.
"""

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar, dataclass_transform

import torch
from torch import Tensor

__all__ = [
    "concatenate",
    "leaves",
    "map_tensors",
    "node",
    "repeat_rows",
    "row_count",
    "shape_key",
    "slice_rows",
    "take_rows",
    "to_device",
    "write_at",
]

Node = TypeVar("Node")
Kind = TypeVar("Kind", Tensor, list[Any])


@dataclass_transform(frozen_default=True)
def node(cls: type[Node]) -> type[Node]:
    """Turn a class into a node: a frozen dataclass compared by identity."""
    return dataclasses.dataclass(frozen=True, eq=False)(cls)


def map_tensors(change: Callable[[Tensor], Tensor], tree: Node) -> Node:
    """Return the tree with `change` applied to every tensor."""
    return _map(tree, change, lambda rows: rows)


def _map(tree: Node, change: Callable[[Tensor], Tensor], change_list: Callable[[list[Any]], list[Any]]) -> Node:
    """Return the tree with `change` applied to its tensors and `change_list` to its lists."""
    value: Any = tree
    if value is None:
        return tree
    if isinstance(value, Tensor):
        made: Any = change(value)
    elif isinstance(value, list):
        made = change_list(value)
    elif isinstance(value, tuple):
        parts = [_map(part, change, change_list) for part in value]
        made = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    elif isinstance(value, dict):
        made = {name: _map(part, change, change_list) for name, part in value.items()}
    elif dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        kind: Any = type(value)
        made = kind(**{name: _map(getattr(value, name), change, change_list) for name in names})
    else:
        made = value
    return made  # type: ignore[no-any-return]


def leaves(tree: Any) -> Iterator[Tensor]:
    """Yield every tensor of a tree, in order."""
    return _all(tree, Tensor)


def _all(tree: Any, kind: type[Kind]) -> Iterator[Kind]:
    """Yield every value of type `kind` in a tree, in order."""
    if isinstance(tree, kind):
        yield tree
    elif isinstance(tree, tuple | dict):
        for part in tree.values() if isinstance(tree, dict) else tree:
            yield from _all(part, kind)
    elif dataclasses.is_dataclass(tree):
        for field in dataclasses.fields(tree):
            yield from _all(getattr(tree, field.name), kind)


def row_count(tree: Any) -> int:
    """Return the size of the batch axis."""
    return next(leaves(tree)).shape[0]


def shape_key(tree: Any) -> Hashable:
    """Return types, shapes and dtypes: equal for two trees that differ only in the values of tensors and lists."""
    if isinstance(tree, Tensor):
        return tuple(tree.shape), tree.dtype
    if isinstance(tree, list):
        return list, len(tree)
    if isinstance(tree, tuple):
        return tuple(shape_key(part) for part in tree)
    if isinstance(tree, dict):
        return tuple((name, shape_key(part)) for name, part in tree.items())
    if dataclasses.is_dataclass(tree):
        return type(tree), tuple(shape_key(getattr(tree, field.name)) for field in dataclasses.fields(tree))
    return type(tree), tree if isinstance(tree, Hashable) else None


def take_rows(tree: Node, rows: Tensor) -> Node:
    """Select rows of every tensor and list, as beam search does to reorder its states."""
    return _map(tree, lambda tensor: tensor.index_select(0, rows), lambda items: [items[row] for row in rows.tolist()])


def slice_rows(tree: Node, rows: slice) -> Node:
    """Return a slice of rows; tensors are views."""
    return _map(tree, lambda tensor: tensor[rows], lambda items: items[rows])


def repeat_rows(tree: Node, times: int) -> Node:
    """Repeat each row `times` times, copies adjacent: B sentences become N = B·times hypotheses."""
    return _map(
        tree,
        lambda tensor: tensor.repeat_interleave(times, 0),
        lambda items: [item for item in items for _ in range(times)],
    )


def concatenate(trees: Sequence[Node]) -> Node:
    """Concatenate the rows of several trees of the same structure."""
    rest = [leaves(tree) for tree in trees]
    lists = [_all(tree, list) for tree in trees]
    return _map(
        trees[0],
        lambda _: torch.cat([next(parts) for parts in rest]),
        lambda _: [item for parts in lists for item in next(parts)],
    )


def to_device(tree: Node, device: torch.device | str) -> Node:
    """Return the tree with its tensors on another device."""
    return map_tensors(lambda tensor: tensor.to(device), tree)


def write_at(cache: Tensor, positions: Tensor, entry: Tensor) -> Tensor:
    """Write `entry[n]` at `positions[n]` of row n of a cache (N, T, ...); return the cache.

    The write is in place, except in compiled code, since a step consumes its state. Gradients stay correct: in the
    tensors that earlier steps saved for their backward pass, only positions that their masks hide have changed.
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
        cache.data.index_put_((rows, positions), entry.to(cache.dtype))  # not tracked by autograd, see above
        ctx.save_for_backward(rows, positions)
        ctx.dtype = entry.dtype
        return cache.view_as(cache)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, Tensor]:
        # the old cache's gradient is wrong at this position, but its value there was a constant
        return grads[0], None, grads[0][*ctx.saved_tensors].to(ctx.dtype)

"""Pytrees: frozen dataclasses of tensors, and operations on all their tensors."""

import dataclasses
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from saccade import pytree


@pytree.node
class Pair:
    left: Tensor
    right: Tensor | None = None


@pytree.node
class Nest:
    pair: Pair
    rest: tuple[Tensor, ...]


@pytest.fixture
def nest():
    return Nest(Pair(torch.tensor([1, 2])), (torch.tensor([[3], [4]]), torch.tensor([5, 6])))


def test_a_node_is_frozen_and_compared_by_identity(nest):
    with pytest.raises(dataclasses.FrozenInstanceError):
        nest.pair = None
    assert nest == nest
    assert Pair(nest.pair.left) != Pair(nest.pair.left)
    assert len({nest, nest}) == 1


def test_map_reaches_every_tensor_and_keeps_types_and_nones(nest):
    doubled = pytree.map_tensors(lambda x: 2 * x, nest)
    assert isinstance(doubled, Nest)
    assert isinstance(doubled.pair, Pair)
    assert doubled.pair.right is None
    assert [leaf.flatten().tolist() for leaf in pytree.leaves(doubled)] == [[2, 4], [6, 8], [10, 12]]
    assert [leaf.flatten().tolist() for leaf in pytree.leaves(nest)] == [[1, 2], [3, 4], [5, 6]]


def test_nothing_has_no_leaves():
    assert pytree.map_tensors(torch.neg, None) is None
    assert list(pytree.leaves(None)) == []


def test_rows_are_counted_on_the_first_axis(nest):
    assert pytree.row_count(nest) == 2


def test_rows_can_be_taken_in_any_order_and_more_than_once(nest):
    taken = pytree.take_rows(nest, torch.tensor([1, 1, 0]))
    assert taken.pair.left.tolist() == [2, 2, 1]
    assert taken.rest[0].tolist() == [[4], [4], [3]]


def test_rows_are_repeated_in_runs(nest):
    assert pytree.repeat_rows(nest, 2).pair.left.tolist() == [1, 1, 2, 2]


def test_to_device_moves_every_leaf(nest):
    assert {leaf.device.type for leaf in pytree.leaves(pytree.to_device(nest, "meta"))} == {"meta"}


def test_write_at_puts_each_rows_entry_at_its_own_place():
    cache = torch.zeros(2, 3, 2)
    written = pytree.write_at(cache, torch.tensor([2, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert written.tolist() == [[[0, 0], [0, 0], [1, 2]], [[3, 4], [0, 0], [0, 0]]]


def test_write_at_works_in_place_when_no_gradient_is_wanted():
    cache = torch.zeros(2, 3)
    entry = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert pytree.write_at(cache, torch.tensor([0, 1]), entry) is cache
        assert pytree.write_at(cache, torch.tensor([2, 2]), entry) is cache
    assert cache.tolist() == [[1, 0, 1], [0, 1, 1]]


def test_write_at_gives_the_gradients_of_what_was_seen_before_the_next_entry():
    entries = torch.tensor([[1.0], [2.0]], requires_grad=True)
    first = pytree.write_at(torch.zeros(2, 3, 1), torch.tensor([0, 0]), entries)
    hidden = torch.tensor([0.0, 1.0, 1.0])[:, None].bool()
    early = first.masked_fill(hidden, 0.0).sum() ** 2  # saves its input for the backward pass
    second = pytree.write_at(first, torch.tensor([1, 1]), 10 * entries)
    assert second[:, :, 0].tolist() == [[1, 10, 0], [2, 20, 0]]
    (early + second.sum()).backward()
    assert_close(entries.grad, torch.full((2, 1), 2 * 3.0 + 11))


def test_write_at_can_be_differentiated_twice():
    def square(entry):
        cache = pytree.write_at(torch.zeros(1, 2, 1).double(), torch.tensor([0]), entry)
        cache = pytree.write_at(cache, torch.tensor([1]), entry.square())
        return cache.prod()

    torch.autograd.gradgradcheck(square, torch.tensor([[1.5]]).double().requires_grad_())


def test_write_at_takes_the_dtype_of_the_cache():
    for entry in (torch.ones(1), torch.ones(1, requires_grad=True)):
        written = pytree.write_at(torch.zeros(1, 2, dtype=torch.bfloat16), torch.tensor([0]), entry)
        assert written.dtype == torch.bfloat16


def test_rows_of_lists_and_dicts_move_with_those_of_tensors():
    mixed = ({"a": torch.tensor([1, 2, 3])}, ["x", "y", "z"], None, "kept")
    assert pytree.take_rows(mixed, torch.tensor([2, 0]))[1:] == (["z", "x"], None, "kept")
    assert pytree.take_rows(mixed, torch.tensor([2, 0]))[0]["a"].tolist() == [3, 1]
    assert pytree.slice_rows(mixed, slice(1, 3))[1] == ["y", "z"]
    assert pytree.repeat_rows(mixed, 2)[1] == ["x", "x", "y", "y", "z", "z"]


def test_trees_are_joined_row_below_row():
    first = ({"a": torch.tensor([1])}, ["x"], torch.tensor([[5]]))
    second = ({"a": torch.tensor([2])}, ["y"], torch.tensor([[6]]))
    parts, names, last = pytree.concatenate([first, second])
    assert parts["a"].tolist() == [1, 2]
    assert names == ["x", "y"]
    assert last.tolist() == [[5], [6]]


class Named(NamedTuple):
    left: Tensor
    right: Tensor


def test_named_tuples_stay_what_they_are():
    moved = pytree.map_tensors(lambda tensor: tensor + 1, Named(torch.tensor([1]), torch.tensor([2])))
    assert (type(moved), moved.left.item(), moved.right.item()) == (Named, 2, 3)


def test_shape_keys_tell_trees_apart_that_hold_other_things():
    numbers = torch.zeros(2, 3)
    key = pytree.shape_key(({"a": numbers}, ["x", "y"], "told"))
    assert key == pytree.shape_key(({"a": numbers + 1}, ["v", "w"], "told"))
    assert key != pytree.shape_key(({"b": numbers}, ["x", "y"], "told"))
    assert key != pytree.shape_key(({"a": numbers}, ["x"], "told"))
    assert key != pytree.shape_key(({"a": numbers}, ["x", "y"], "other"))
    assert key != pytree.shape_key(({"a": numbers.double()}, ["x", "y"], "told"))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_write_at_writes_the_same_where_it_is_compiled(monkeypatch, shape):
    places, entry = torch.tensor([2, 0]), torch.randn(shape[0], *shape[2:])
    known, again = entry.clone().requires_grad_(), entry.clone().requires_grad_()
    expected = pytree.write_at(torch.ones(shape), places, known)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    cache = torch.ones(shape)
    found = pytree.write_at(cache, places, again)
    assert_close(found, expected)
    assert cache.eq(1).all(), "a compiled step leaves its cache alone"
    for written in (found, expected):
        written.square().sum().backward()
    assert_close(again.grad, known.grad)

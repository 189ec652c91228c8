"""Cache: a bank to which steps add keys."""

import pytest
import torch
from torch.testing import assert_close

from saccade import pytree
from saccade.attention import Attention, Cache, DotScore, build_attention
from saccade.errors import ShapeError


@pytest.mark.parametrize(("heads", "key_form", "value_form"), [(None, (3,), (5,)), (2, (2, 3), (2, 2))])
def test_an_empty_cache_has_room_for_prepared_keys_and_values(heads, key_form, value_form):
    attention = build_attention("additive", 4, 6, 5, heads=heads, score_options={"width": 3})
    cache = Cache.empty(attention, rows=2, size=7, value_width=5, like=torch.zeros(1, dtype=torch.float64))
    assert cache.keys.shape == (2, 7, *key_form)
    assert cache.values.shape == (2, 7, *value_form)
    assert cache.keys.dtype == torch.float64
    assert not cache.bank().mask.any()


@pytest.mark.parametrize("heads", [None, 2])
def test_what_is_added_becomes_visible_one_by_one(heads):
    attention = build_attention("dot", 4, 4, heads=heads)
    cache = Cache.empty(attention, 2, 3, 4, torch.zeros(()))
    keys, values = attention.project(torch.randn(2, 1, 4))
    cache = cache.add(keys, values)
    bank = cache.bank()
    assert bank.mask.shape == (2, *([1] * (keys.dim() - 2)), 3)
    assert bank.mask.flatten(1).tolist() == [[True, False, False]] * 2
    assert_close(bank.keys[..., :1, :], keys)
    assert_close(bank.values[..., :1, :], values)
    assert cache.bank(ahead=1).mask.flatten(1).tolist() == [[True, True, False]] * 2


def test_rows_may_be_filled_differently_and_reordered():
    attention = build_attention("dot", 2, 2)
    cache = Cache.empty(attention, 2, 3, 2, torch.zeros(()))
    cache = pytree.map_tensors(torch.clone, cache)
    cache = Cache(cache.keys, cache.values, torch.tensor([0, 2]))
    entry = torch.tensor([[[1.0, 1.0]], [[2.0, 2.0]]])
    cache = pytree.take_rows(cache.add(entry, entry), torch.tensor([1, 1, 0]))
    assert cache.count.tolist() == [3, 3, 1]
    assert cache.keys[:, :, 0].tolist() == [[0.0, 0.0, 2.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]


@pytest.mark.parametrize("gradient", [True, False])
def test_a_full_cache_says_so(gradient):
    attention = Attention(DotScore(2, 2))
    cache = Cache.empty(attention, 1, 2, 2, torch.zeros(1))
    entry = torch.ones(1, 1, 2, requires_grad=gradient)
    with torch.set_grad_enabled(gradient):
        cache = cache.add(entry, entry).add(entry, entry)
        with pytest.raises(ShapeError, match=r"step 3, but there is room for 2.*larger max_length"):
            cache.add(entry, entry)

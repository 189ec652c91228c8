"""Deferred weight gradients equal autograd's."""

import gc
import weakref
from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from saccade.kernels.deferred_weight_grad import deferred_gradients


def looped(context, *, steps=4, dtype=torch.float64):
    """A loop with a layer, a bare matrix, a slice of another and a product of three axes; its result and gradients."""
    torch.manual_seed(0)
    layer, matrix, wide = nn.Linear(5, 5), nn.Parameter(torch.randn(5, 5)), nn.Parameter(torch.randn(5, 9))
    parts = [part.to(dtype) for part in (layer.weight, layer.bias, matrix, wide)]
    layer, matrix, wide = layer.to(dtype), nn.Parameter(parts[2].data), nn.Parameter(parts[3].data)
    first = torch.randn(3, 2, 5, dtype=dtype).requires_grad_()
    state, cut = first, wide[:, 4:]
    with context():
        for _ in range(steps):
            state = torch.tanh(layer(state) + state @ matrix.mT + F.linear(state, cut))
    state.square().sum().backward()
    return [state.detach(), *(leaf.grad for leaf in (first, layer.weight, layer.bias, matrix, wide))]


@pytest.mark.parametrize("steps", [1, 4])
def test_the_same_as_autograds(steps):
    for one, other in zip(looped(deferred_gradients, steps=steps), looped(nullcontext, steps=steps), strict=True):
        torch.testing.assert_close(one, other)


def test_one_product_makes_the_gradient_of_all_steps(monkeypatch):
    sizes = []
    cat = torch.cat
    monkeypatch.setattr(torch, "cat", lambda parts: sizes.append(len(parts)) or cat(parts))
    looped(deferred_gradients, steps=7)
    assert sizes == [7] * 6  # inputs and output gradients of three weights


def test_autocast_is_kept():
    layer, x = nn.Linear(4, 4), torch.randn(3, 4)
    with torch.autocast("cpu", torch.bfloat16), deferred_gradients():
        product = layer(x)
    assert product.dtype == torch.bfloat16
    product.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(4, 4), rtol=0.02, atol=0.02)


def test_a_gradient_of_something_else_leaves_nothing_behind():
    layer, x = nn.Linear(4, 4).double(), torch.randn(3, 4).double().requires_grad_()
    with deferred_gradients():
        total = layer(layer(x)).square().sum()
    torch.autograd.grad(total, x, retain_graph=True)
    total.backward()
    once = layer.weight.grad.clone()
    layer.weight.grad = None
    layer(layer(x)).square().sum().backward()
    torch.testing.assert_close(once, layer.weight.grad)


def test_twice_backward_counts_twice():
    layer, x = nn.Linear(4, 4).double(), torch.randn(3, 4).double()
    with deferred_gradients():
        total = layer(layer(x)).square().sum()
    total.backward(retain_graph=True)
    once = layer.weight.grad.clone()
    total.backward()
    torch.testing.assert_close(layer.weight.grad, 2 * once)


def test_frozen_weights_and_no_gradients():
    layer = nn.Linear(4, 4).requires_grad_(False)
    x = torch.randn(3, 4, requires_grad=True)
    with deferred_gradients():
        layer(x).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(3, 4))
    with torch.no_grad(), deferred_gradients() as mode:
        assert mode is None


def test_nothing_stays_alive_after_the_backward_pass():
    layer = nn.Linear(4, 4)
    gc.disable()
    try:
        with deferred_gradients():
            out = layer(torch.randn(3, 4))
        node = weakref.ref(out.grad_fn)
        out.sum().backward()
        del out
        assert node() is None
    finally:
        gc.enable()

"""Linear layers and the feed-forward sub-layer by our kernels, on a GPU or through Triton's interpreter."""

import pytest
import torch
from torch import nn

pytest.importorskip("triton", reason="needs Triton")

from helpers.naive_kernels import naive_feed_forward, naive_linear
from saccade.kernels import disable_fused, dispatch
from saccade.kernels.feed_forward import feed_forward
from saccade.kernels.feed_forward import fused as fused_feed
from saccade.kernels.linear import fused, learns, linear, together

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHAPES = [(1, 1), (7, 5), (2, 9, 40)]


@pytest.fixture(autouse=True)
def by_our_kernels(monkeypatch):
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)


def with_gradients(way, parts, slope):
    leaves = [None if part is None else part.clone().requires_grad_() for part in parts]
    out = way(*leaves)
    wanted = [leaf for leaf in leaves if leaf is not None]
    return [out.detach(), *torch.autograd.grad(out, wanted, slope.to(out.dtype))]


def error(found, truth):
    return ((found.double() - truth).norm() / truth.norm().clamp_min(1e-9)).item()


def assert_as_exact(way, naive, parts, width, dtype):
    """Our way in `dtype`, with float32 parameters, is about as close to the truth as the definition in `dtype`."""
    slope = torch.randn(*parts[0].shape[:-1], width, device=DEVICE)
    exact = with_gradients(naive, [None if part is None else part.double() for part in parts], slope.double())
    usual = with_gradients(naive, [None if part is None else part.to(dtype) for part in parts], slope)
    ours = with_gradients(lambda *leaves: way(*leaves, dtype), parts, slope)
    for one, other, truth in zip(ours, usual, exact, strict=True):
        assert error(one, truth) <= max(2 * error(other, truth), 4 * torch.finfo(dtype).eps)
    return ours


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_linear_layer_is_as_exact_as_by_definition(shape, bias, dtype):
    x, weight = torch.randn(shape, device=DEVICE), torch.randn(6, shape[-1], device=DEVICE)
    parts = x, weight, torch.randn(6, device=DEVICE) if bias else None
    ours = assert_as_exact(fused.fused_linear, naive_linear, parts, 6, dtype)
    assert ours[0].dtype == dtype
    assert {one.dtype for one in ours[1:]} == {torch.float32}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_feed_forward_is_as_exact_as_by_definition(shape, dtype):
    width = shape[-1]
    parts = [torch.randn(size, device=DEVICE) for size in (shape, (33, width), 33, (width, 33), width)]
    parts[2] += 3  # a ReLU could zero a single inner number in one precision alone
    assert_as_exact(fused_feed.fused_feed_forward, naive_feed_forward, parts, width, dtype)


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
def test_several_layers_together_are_each_of_them(bias):
    layers = [nn.Linear(6, size, bias, device=DEVICE) for size in (4, 7, 1)]
    x = torch.randn(2, 3, 6, device=DEVICE)
    results = []
    for way in (together, lambda layers, x: tuple(layer(x) for layer in layers)):
        leaf = x.clone().requires_grad_()
        out = way(layers, leaf)
        loss = sum((part * torch.linspace(-1, 1, part.numel(), device=DEVICE).view_as(part)).sum() for part in out)
        parameters = [parameter for layer in layers for parameter in layer.parameters()]
        results.append([*out, *torch.autograd.grad(loss, [leaf, *parameters])])
    torch.testing.assert_close(*results)


def test_only_what_is_wanted_gets_a_gradient():
    layer = nn.Linear(4, 5, device=DEVICE)
    layer.bias.requires_grad_(False)
    x = torch.randn(3, 4, device=DEVICE)
    linear(layer, x).sum().backward()
    torch.testing.assert_close(layer.weight.grad, x.sum(0).expand(5, 4))
    assert layer.bias.grad is None
    assert x.grad is None


def test_under_autocast_the_product_is_in_its_precision():
    layer, feed = nn.Linear(4, 5, device=DEVICE), [nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4)]
    feed = [part.to(DEVICE) for part in feed]
    x = torch.randn(3, 4, device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        outs = linear(layer, x), feed_forward(*feed, x)
    for out in outs:
        assert out.dtype == torch.bfloat16
        out.float().sum().backward()
    assert layer.weight.grad.dtype == feed[0].bias.grad.dtype == torch.float32


def test_without_a_backward_pass_the_layer_itself_is_called():
    layer, x = nn.Linear(4, 5, device=DEVICE), torch.randn(3, 4, device=DEVICE)
    assert learns(x, layer)
    with torch.no_grad():
        assert not learns(x, layer)
    with disable_fused():
        assert not learns(x, layer)
    assert not learns(x, layer.requires_grad_(False))
    assert not learns(x.double(), nn.Linear(4, 5, device=DEVICE, dtype=torch.float64))
    assert not learns(x, nn.Linear(4, 5, device=DEVICE), nn.Linear(4, 5, bias=False, device=DEVICE))


def test_hooks_are_called():
    layer, x = nn.Linear(4, 5, device=DEVICE), torch.randn(3, 4, device=DEVICE)
    feed = [nn.Linear(4, 5, device=DEVICE), nn.ReLU(), nn.Linear(5, 4, device=DEVICE)]
    called = []
    for module in (layer, feed[1]):
        module.register_forward_hook(lambda *parts: called.append(parts[0]))
    linear(layer, x)
    feed_forward(*feed, x)
    assert called == [layer, feed[1]]

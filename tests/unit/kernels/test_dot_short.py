"""Attention over short sequences by Triton's kernels, on a GPU if there is one, else through Triton's interpreter."""

import pytest
import torch
from torch import nn

pytest.importorskip("triton", reason="needs Triton")

from helpers.naive_kernels import naive_attention
from saccade.kernels import disable_fused, dispatch
from saccade.kernels.dot import fused_attention, sdpa
from saccade.kernels.dot.short import short_attention
from saccade.kernels.linear import fused, together

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHAPES = [(1, 1, 16, 1, 1), (2, 3, 17, 5, 12), (1, 2, 33, 33, 16), (2, 1, 20, 70, 40)]


@pytest.fixture
def by_our_kernels(monkeypatch):
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)


def inputs(rows, heads, length, size, width, dtype):
    sizes = (length, size, size, length)
    return [torch.randn(rows, heads, n, width, device=DEVICE).to(dtype) for n in sizes]


def with_gradients(way, parts, slope):
    leaves = [part.clone().requires_grad_() for part in parts]
    out = way(*leaves)
    return [out.detach(), *torch.autograd.grad(out, leaves, slope)]


def error(found, truth):
    return ((found.double() - truth).norm() / truth.norm().clamp_min(1e-9)).item()


def assert_as_exact(parts, slope, mask, causal):
    seen = torch.ones(parts[0].shape[2], parts[1].shape[2], dtype=torch.bool, device=DEVICE).tril() if causal else mask
    exact = with_gradients(
        lambda *leaves: naive_attention(*leaves, seen, 0.4), [x.double() for x in parts], slope.double()
    )
    usual = with_gradients(lambda *leaves: naive_attention(*leaves, seen, 0.4), parts, slope)
    ours = with_gradients(lambda *leaves: short_attention(*leaves, mask, 0.4, causal), parts, slope)
    for one, other, truth in zip(ours, usual, exact, strict=True):
        assert one.isfinite().all()
        assert error(one, truth) <= max(2 * error(other, truth), 2 * torch.finfo(one.dtype).eps)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("seen", ["all", "some"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_as_exact_as_by_definition_in_the_same_precision(shape, seen, dtype):
    *parts, slope = inputs(*shape, dtype)
    mask = None
    if seen == "some":
        mask = torch.rand(shape[0], 1, 1, shape[3], device=DEVICE) < 0.6
        mask[..., 0] = True
    if shape[3] > 1 or seen == "all":  # the softmax of a single score has no gradient
        assert_as_exact(parts, slope, mask, False)


@pytest.mark.parametrize("length", [16, 21, 64])
def test_causal(length):
    *parts, slope = inputs(2, 2, length, length, 24, torch.bfloat16)
    assert_as_exact(parts, slope, None, True)


def test_numbers_that_do_not_lie_side_by_side_are_read_all_the_same():
    *parts, slope = inputs(2, 2, 17, 9, 12, torch.bfloat16)
    ours = lambda *leaves: short_attention(*leaves, None, 0.4, False)  # noqa: E731
    usual = with_gradients(ours, parts, slope)
    turned = [part.mT.contiguous().mT for part in (*parts, slope)]
    leaves = [part.requires_grad_() for part in turned[:3]]
    out = ours(*leaves)
    assert all(part.stride(-1) > 1 for part in turned)
    for found, wanted in zip([out, *torch.autograd.grad(out, leaves, turned[3])], usual, strict=True):
        assert torch.equal(found, wanted)


def test_a_sentence_that_shows_nothing_gives_zeros():
    *parts, slope = inputs(3, 2, 16, 9, 8, torch.bfloat16)
    mask = torch.ones(3, 1, 1, 9, dtype=torch.bool, device=DEVICE)
    mask[1] = False
    for result in with_gradients(lambda *leaves: short_attention(*leaves, mask, 0.4, False), parts, slope):
        assert result[1].count_nonzero() == 0
        assert result.isfinite().all()
        assert result[0].count_nonzero() > 0


def test_one_mask_may_serve_all_rows():
    *parts, _ = inputs(3, 2, 16, 9, 8, torch.bfloat16)
    mask = torch.arange(9, device=DEVICE)[None, None, None] < 4
    assert torch.equal(
        short_attention(*parts, mask, 0.4, False), short_attention(*parts, mask.expand(3, 1, 1, 9), 0.4, False)
    )


def test_the_heads_of_a_position_lie_together():
    *parts, _ = inputs(2, 3, 16, 9, 8, torch.bfloat16)
    assert short_attention(*parts, None, 1.0, False).transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("count", [2, 3])
def test_gradients_of_a_joint_projection_are_not_copied_together(by_our_kernels, monkeypatch, count):
    layers = [nn.Linear(8, 8, device=DEVICE).bfloat16() for _ in range(count)]
    x = torch.randn(2, 16, 8, device=DEVICE).bfloat16().requires_grad_()
    query = torch.randn(2, 2, 16, 4, device=DEVICE).bfloat16()

    def loss():
        parts = [part.unflatten(-1, (2, 4)).transpose(1, 2) for part in together(layers, x)]
        return fused_attention(*([query] * (3 - count)), *parts).float().square().sum()

    wanted = [x, *(layer.weight for layer in layers)]
    with disable_fused():
        usual = torch.autograd.grad(loss(), wanted)
    total = loss()
    joined = []
    real = fused._joined
    monkeypatch.setattr(fused, "_joined", lambda *parts: joined.append(real(*parts)) or joined[-1])
    torch.testing.assert_close(torch.autograd.grad(total, wanted), usual, atol=0.05, rtol=0.05)
    assert joined[0] is not None


def test_gradients_from_different_places_are_put_together(by_our_kernels):
    layers = [nn.Linear(6, width, device=DEVICE) for width in (4, 3, 5)]
    x = torch.randn(2, 6, device=DEVICE)
    first, _, third = together(layers, x)
    (first.sum() + (third * 2).sum()).backward()
    torch.testing.assert_close(layers[0].weight.grad, x.sum(0).expand(4, 6))
    torch.testing.assert_close(layers[2].weight.grad, 2 * x.sum(0).expand(5, 6))
    assert layers[1].weight.grad.count_nonzero() == 0


@pytest.mark.parametrize(
    ("change", "short"),
    [
        ({}, True),
        ({"length": 15}, True),
        ({"length": 129}, False),
        ({"size": 129}, False),
        ({"width": 65}, False),
        ({"dtype": torch.float32}, False),
        ({"mask": (2, 1, 1, 20)}, True),
        ({"mask": (2, 1, 16, 20)}, False),
        ({"sight": "causal", "size": 16, "mask": (1, 1, 16, 16)}, True),
        ({"sight": "causal", "mask": (1, 1, 16, 20)}, False),
    ],
    ids=str,
)
def test_which_are_short(by_our_kernels, change, short):
    case = {"length": 16, "size": 20, "width": 8, "dtype": torch.bfloat16, "mask": None, "sight": "any"} | change
    parts = inputs(2, 1, case["length"], case["size"], case["width"], case["dtype"])[:3]
    mask = None if case["mask"] is None else torch.ones(case["mask"], dtype=torch.bool, device=DEVICE)
    assert sdpa._is_short(*parts, mask, case["sight"]) == short
    with disable_fused():
        assert not sdpa._is_short(*parts, mask, case["sight"])

"""The Triton kernel of the cross-entropy, on a GPU if there is one, else through Triton's interpreter."""

import math

import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("triton", reason="needs Triton")

from helpers.naive_kernels import naive_cross_entropy
from saccade.errors import ConfigError
from saccade.kernels import disable_fused, dispatch
from saccade.kernels.cross_entropy import cross_entropy, fused

# the interpreter is numpy, which warns of infinities that the kernels count on
pytestmark = [
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:divide by zero encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def by_our_kernels(monkeypatch):
    """On any device, and in blocks so small that a row has several."""
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)
    monkeypatch.setattr(fused, "BLOCK", 16)


def layer(rows, width, classes, bias=True, dtype=torch.float32):
    hidden, weight = (torch.randn(n, width, device=DEVICE).to(dtype) for n in (rows, classes))
    expected = torch.randint(0, classes, (rows,), device=DEVICE)  # some rows expect class 0, which is padding
    return hidden, weight, torch.randn(classes, device=DEVICE).to(dtype) if bias else None, expected


def with_gradients(loss, hidden, weight, bias, expected, **options):
    """The three sums, then the gradients of 0.7 times the first."""
    leaves = [None if tensor is None else tensor.clone().requires_grad_() for tensor in (hidden, weight, bias)]
    losses = loss(*leaves, expected, **options)
    wanted = [leaf for leaf in leaves if leaf is not None]
    return *(sum_.detach() for sum_ in losses), *torch.autograd.grad(0.7 * losses.smoothed, wanted)


def error(found, truth):
    return ((found.double() - truth).norm() / truth.norm().clamp_min(1e-9)).item()


def assert_as_exact_as_by_definition(parts, floor, **options):
    exact = with_gradients(
        naive_cross_entropy, *(None if part is None else part.double() for part in parts[:3]), parts[3], **options
    )
    usual = with_gradients(naive_cross_entropy, *parts, **options)
    ours = with_gradients(cross_entropy, *parts, **options, chunk=5)
    for place, (one, other, truth) in enumerate(zip(ours, usual, exact, strict=True)):
        if place != 2:  # a tie in half precision is none in double
            assert one.isfinite().all()
            assert error(one, truth) <= max(2 * error(other, truth), floor)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (7, 16), (13, 67)])
def test_in_float32(rows, classes, bias, smoothing):
    assert_as_exact_as_by_definition(layer(rows, 5, classes, bias), 1e-6, smoothing=smoothing)


@pytest.mark.parametrize("hidden_dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("cast", [torch.bfloat16, torch.float16], ids=str)
def test_under_autocast(cast, hidden_dtype):
    hidden, *rest = layer(31, 16, 70)
    with torch.autocast(DEVICE, cast):
        assert_as_exact_as_by_definition((hidden.to(hidden_dtype), *rest), 1e-3, smoothing=0.1)


def test_in_bfloat16_throughout():
    assert_as_exact_as_by_definition(layer(31, 16, 70, dtype=torch.bfloat16), 1e-3, smoothing=0.1)


def test_each_gradient_has_the_dtype_of_its_tensor():
    hidden, weight, bias, expected = layer(7, 8, 11)
    leaves = hidden.bfloat16().requires_grad_(), weight.requires_grad_(), bias.requires_grad_()
    with torch.autocast(DEVICE, torch.bfloat16):
        cross_entropy(*leaves, expected).smoothed.backward()
    assert [leaf.grad.dtype for leaf in leaves] == [torch.bfloat16, torch.float32, torch.float32]


def test_rows_that_expect_padding_count_nothing():
    hidden, weight, bias, expected = layer(9, 5, 40)
    expected[:] = 3
    expected[::2] = 7
    ours = with_gradients(cross_entropy, hidden, weight, bias, expected, smoothing=0.1, padding=7)
    alone = with_gradients(cross_entropy, hidden[1::2], weight, bias, expected[1::2], smoothing=0.1, padding=7)
    assert (ours[3][::2] == 0).all()
    torch.testing.assert_close((*ours[:3], ours[3][1::2], *ours[4:]), alone)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_may_be_forbidden(smoothing):
    bias = torch.zeros(40, device=DEVICE)
    bias[:20] = -math.inf if not smoothing else 0.0  # a block of nothing else, then some more
    bias[1] = -math.inf
    parts = torch.zeros(1, 4, device=DEVICE), torch.randn(40, 4, device=DEVICE), bias
    expected = torch.tensor([30], device=DEVICE)
    ours, truth = (
        with_gradients(loss, *parts, expected, smoothing=smoothing, padding=1)
        for loss in (cross_entropy, naive_cross_entropy)
    )
    torch.testing.assert_close(ours, truth)


def test_a_common_offset_costs_no_precision():
    hidden, weight, _, expected = layer(7, 5, 50)
    bias = torch.full((50,), 1024.0, device=DEVICE)
    ours, usual = (loss(hidden, weight, bias, expected, smoothing=0.1) for loss in (cross_entropy, naive_cross_entropy))
    torch.testing.assert_close(ours.smoothed, usual.smoothed)


def test_correct_counts_the_rows_whose_best_class_is_expected():
    hidden, weight, bias, expected = layer(40, 5, 3)
    best = F.linear(hidden, weight, bias).argmax(-1)
    found = cross_entropy(hidden, weight, bias, expected).correct
    assert found.dtype == torch.int64
    assert found == ((best == expected) & (expected != 0)).sum()


@pytest.mark.parametrize("wanted", [(True, False, False), (False, True, False), (False, False, True)])
def test_only_what_is_wanted_gets_a_gradient(wanted):
    *leaves, expected = layer(7, 5, 11)
    full = with_gradients(naive_cross_entropy, *leaves, expected, smoothing=0.1)[3:]
    leaves = [leaf.requires_grad_(want) for leaf, want in zip(leaves, wanted, strict=True)]
    (0.7 * cross_entropy(*leaves, expected, smoothing=0.1, chunk=3).smoothed).backward()
    for leaf, want, gradient in zip(leaves, wanted, full, strict=True):
        assert (leaf.grad is not None) == want
        if want:
            torch.testing.assert_close(leaf.grad, gradient)


def test_without_gradients_the_slope_is_not_made(monkeypatch):
    parts = layer(3, 4, 20)
    parts[1].requires_grad_()
    monkeypatch.setattr(fused, "column_sums", None)
    monkeypatch.setattr(fused, "add_product_", None)
    with torch.no_grad():
        assert not cross_entropy(*parts).smoothed.requires_grad
    with pytest.raises(TypeError):
        cross_entropy(*parts)


def test_a_class_that_does_not_exist_makes_the_loss_nan(monkeypatch):
    hidden, weight, bias, expected = layer(3, 4, 20)
    for wrong in (20, -1):
        expected[1] = wrong
        monkeypatch.setattr("saccade.kernels.cross_entropy.choose.check_classes", lambda *parts: None)
        assert cross_entropy(hidden, weight, bias, expected).smoothed.isnan()


def test_a_second_derivative_is_refused():
    hidden, weight, bias, expected = layer(7, 5, 11)
    loss = cross_entropy(hidden.requires_grad_(), weight, bias, expected).smoothed
    with pytest.raises(ConfigError, match=r"create_graph=True .* without a graph"):
        torch.autograd.grad(loss, hidden, create_graph=True)


def test_chunks_are_of_about_one_size_and_no_larger_than_allowed():
    assert fused._rows_at_once(32768, 32000, torch.bfloat16) == 8192
    assert fused._rows_at_once(10, 32000, torch.bfloat16) == 10
    assert fused._rows_at_once(8400, 32000, torch.bfloat16) == 4200
    assert fused._rows_at_once(0, 32000, torch.bfloat16) == 1


def test_the_plain_way_can_be_asked_for(monkeypatch):
    monkeypatch.setattr(fused, "fused_cross_entropy", None)
    parts = layer(3, 4, 5)
    with disable_fused():
        cross_entropy(*parts)
    with pytest.raises(TypeError):
        cross_entropy(*parts)


def test_other_precisions_and_no_rows_go_the_other_way(monkeypatch):
    monkeypatch.setattr(fused, "fused_cross_entropy", None)
    assert cross_entropy(*layer(0, 4, 5)).smoothed == 0
    assert cross_entropy(*layer(3, 4, 5, dtype=torch.float64)).smoothed.dtype == torch.float64

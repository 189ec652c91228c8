"""Residual sum and norm: Triton kernels, on a GPU or in the interpreter, and their reference."""

import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("triton", reason="needs Triton")

from saccade.kernels import disable_fused, dispatch
from saccade.kernels.residual import fused, layer_norm, residual, residual_and_norm, residual_norm, residual_norm_twice
from saccade.kernels.residual.naive import naive_layer_norm, naive_residual, naive_residual_norm

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHAPES = [(1, 1), (3, 7), (2, 5, 48), (41, 100), (2, 2049)]
EPS = 1e-5


@pytest.fixture
def by_our_kernels(monkeypatch):
    monkeypatch.setattr(dispatch, "_on_gpu", lambda tensor: True)


@pytest.fixture
def same_seed(by_our_kernels, monkeypatch):
    seed = torch.tensor([2**61 + 12345], device=DEVICE)
    monkeypatch.setattr(fused, "_seed", lambda device: seed)


def inputs(shape, dtype, x_dtype=None):
    """x, out, weight, bias, and the gradients of two results."""
    x, out, one, two = (torch.randn(shape, device=DEVICE) for _ in range(4))
    weight, bias = (torch.randn(shape[-1], device=DEVICE) for _ in range(2))
    return (x.to(x_dtype or dtype), out.to(dtype), weight, bias), (one.to(dtype), two.to(dtype))


def with_gradients(way, parts, slopes):
    parts = [part.clone().requires_grad_() for part in parts]
    made = way(*parts)
    made = made if isinstance(made, tuple) else (made,)
    grads = torch.autograd.grad(
        made, parts, [slope.to(one.dtype) for one, slope in zip(made, slopes, strict=False)], allow_unused=True
    )
    return [*(one.detach() for one in made), *(grad for grad in grads if grad is not None)]


def error(found, truth):
    return ((found.double() - truth).norm() / truth.norm().clamp_min(1e-9)).item()


def in_one_dtype(way, dtype):
    """The reference, with parameters cast to the dtype of the input."""
    return lambda *parts: way(*(part.to(dtype) for part in parts))


WAYS = {
    "norm": (
        lambda x, out, w, b: layer_norm(x, w, b, EPS),
        lambda x, out, w, b: naive_layer_norm(x, w, b, EPS),
    ),
    "sum": (
        lambda x, out, w, b: residual(x, out, 0.3, False),
        lambda x, out, w, b: naive_residual(x, out, 0.3, False),
    ),
    "norm of sum": (
        lambda x, out, w, b: residual_norm(x, out, w, b, EPS, 0.0, True),
        lambda x, out, w, b: naive_residual_norm(x, out, w, b, EPS, 0.0, True)[1],
    ),
    "norm of sum twice": (
        lambda x, out, w, b: residual_norm_twice(x, out, w, b, EPS, 0.0, True),
        lambda x, out, w, b: (naive_residual_norm(x, out, w, b, EPS, 0.0, True)[1],) * 2,
    ),
    "both": (
        lambda x, out, w, b: residual_and_norm(x, out, w, b, EPS, 0.0, True),
        lambda x, out, w, b: naive_residual_norm(x, out, w, b, EPS, 0.0, True),
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_as_exact_as_by_definition_in_the_same_precision(by_our_kernels, shape, way, dtype):
    ours, naive = WAYS[way]
    parts, slopes = inputs(shape, dtype)
    exact = with_gradients(naive, [part.double() for part in parts], [slope.double() for slope in slopes])
    usual = with_gradients(in_one_dtype(naive, dtype), parts, slopes)
    found = with_gradients(ours, parts, slopes)
    for one, other, truth in zip(found, usual, exact, strict=True):
        assert one.isfinite().all()
        if shape[-1] > 1:  # the norm of a single number is 0, and so are its gradients
            assert error(one, truth) <= max(2 * error(other, truth), 4 * torch.finfo(dtype).eps)


def test_gradients_have_the_dtypes_of_what_they_belong_to(by_our_kernels):
    parts, _ = inputs((3, 8), torch.bfloat16, torch.float32)
    parts = [part.requires_grad_() for part in parts]
    with torch.autocast(DEVICE, torch.bfloat16):
        total, normed = residual_and_norm(*parts, EPS, 0.1, True)
        alone = layer_norm(parts[0], *parts[2:], EPS)
    assert total.dtype == normed.dtype == alone.dtype == torch.bfloat16
    (total.float().sum() + normed.float().square().sum()).backward()
    assert [part.grad.dtype for part in parts] == [part.dtype for part in parts]


def test_a_sum_is_kept_in_bfloat16_only_where_autocast_says_so(by_our_kernels):
    wide, narrow = torch.randn(2, 8, device=DEVICE), torch.randn(2, 8, device=DEVICE).half()
    assert residual(wide, narrow, 0.0, True).dtype == torch.float32
    assert residual(narrow, narrow, 0.0, True).dtype == torch.float16
    with torch.autocast(DEVICE, torch.float16):
        assert residual(wide, narrow, 0.0, True).dtype == torch.float32


def naive_twice(*parts):
    return (naive_residual_norm(*parts)[1],) * 2


@pytest.mark.parametrize("which", [(True, False), (False, True), (True, True)], ids=["first", "second", "both"])
@pytest.mark.parametrize(
    "ways",
    [(residual_and_norm, naive_residual_norm), (residual_norm_twice, naive_twice)],
    ids=["sum and norm", "twice"],
)
def test_only_one_of_two_results_may_be_used(by_our_kernels, ways, which):
    (x, out, w, b), slopes = inputs((3, 10), torch.float64)
    results = []
    for way, dtype in zip(ways, (torch.float32, torch.float64), strict=True):
        leaves = [part.to(dtype).requires_grad_() for part in (x, out, w, b)]
        made = way(*leaves, EPS, 0.0, True)
        loss = sum((one * slope.to(dtype)).sum() for one, slope, used in zip(made, slopes, which, strict=True) if used)
        grads = torch.autograd.grad(loss, leaves, allow_unused=True)
        results.append([None if grad is None else grad.double() for grad in grads])
    for one, other in zip(*results, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.97])
def test_the_share_that_is_dropped(same_seed, p):
    ones = torch.ones(60, 500, device=DEVICE)
    made = residual(torch.zeros_like(ones), ones, p, True)
    kept = made != 0
    assert made[kept].unique().tolist() == pytest.approx([1 / (1 - p)], rel=1e-3)
    assert (~kept).float().mean().item() == pytest.approx(p, abs=4 * (p * (1 - p) / ones.numel()) ** 0.5)
    # columns, rows and pairs of neighbors are dropped equally often
    assert kept.float().mean(0).sub(1 - p).abs().max() < 6 * (p * (1 - p) / 60) ** 0.5
    assert kept.float().mean(1).sub(1 - p).abs().max() < 5 * (p * (1 - p) / 500) ** 0.5
    both = (kept[:, 1:] & kept[:, :-1]).float().mean().item()
    assert both == pytest.approx((1 - p) ** 2, abs=0.02)


def test_all_or_nothing_may_be_dropped(by_our_kernels):
    x, out = torch.randn(3, 9, device=DEVICE), torch.randn(3, 9, device=DEVICE, requires_grad=True)
    dropped = residual(x, out, 1.0, True)
    assert torch.equal(dropped, x)
    assert torch.autograd.grad(dropped.sum(), out)[0].count_nonzero() == 0
    torch.testing.assert_close(residual(x, out, 1.0, False), x + out)


@pytest.mark.parametrize("way", ["norm of sum", "both"])
def test_both_passes_drop_the_same_numbers(same_seed, way):
    (x, out, w, b), slopes = inputs((19, 50), torch.float32)
    mask = residual(torch.zeros_like(out), torch.ones_like(out), 0.4, True)  # 0 or 1 / 0.6
    kernel = residual_norm if way == "norm of sum" else residual_and_norm
    found = with_gradients(lambda x, out, w, b: kernel(x, out, w, b, EPS, 0.4, True), (x, out, w, b), slopes)
    naive = WAYS[way][1]
    truth = with_gradients(lambda x, out, w, b: naive(x, out * mask, w, b), (x, out, w, b), slopes)
    torch.testing.assert_close(found, truth, atol=1e-5, rtol=1e-4)


def test_the_gradient_is_that_of_finite_differences(same_seed):
    (x, out, w, b), (slope, _) = inputs((2, 6), torch.float32)

    def loss(out):
        return (residual_norm(x, out, w, b, 1e-2, 0.3, True) * slope).sum()

    leaf = out.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(leaf), leaf)
    for place in range(out.numel()):
        step = torch.zeros(out.numel(), device=DEVICE)
        step[place] = 1e-2
        step = step.view_as(out)
        assert (loss(out + step) - loss(out - step)).item() / 2e-2 == pytest.approx(
            gradient.flatten()[place].item(), abs=2e-2
        )


def test_every_call_drops_anew_and_the_generator_decides(by_our_kernels):
    ones = torch.ones(4, 64, device=DEVICE)
    torch.manual_seed(3)
    first, second = (residual(ones, ones, 0.5, True) for _ in range(2))
    torch.manual_seed(3)
    assert not torch.equal(first, second)
    assert torch.equal(first, residual(ones, ones, 0.5, True))


def test_rows_in_any_layout(by_our_kernels):
    (x, out, w, b), _ = inputs((6, 10), torch.float32)
    torch.testing.assert_close(
        residual_norm(x.t().contiguous().t(), out.t().contiguous().t(), w, b, EPS, 0.0, True),
        F.layer_norm(x + out, (10,), w, b, EPS),
    )


def test_the_plain_way_is_the_definition(by_our_kernels, monkeypatch):
    (x, out, w, b), _ = inputs((3, 8), torch.float32)
    monkeypatch.setattr(fused, "_Residual", None)
    with disable_fused():
        assert torch.equal(residual_norm(x, out, w, b, EPS, 0.0, True), F.layer_norm(x + out, (8,), w, b, EPS))
        assert torch.equal(residual(x, out, 0.0, True), x + out)
        assert torch.equal(layer_norm(x, w, b, EPS), F.layer_norm(x, (8,), w, b, EPS))
    with pytest.raises(AttributeError):
        residual(x, out, 0.0, True)


def test_what_does_not_fit_goes_the_other_way(by_our_kernels, monkeypatch):
    monkeypatch.setattr(fused, "_Residual", None)
    x = torch.randn(2, 1, 8, device=DEVICE)
    assert residual(x, torch.randn(2, 3, 8, device=DEVICE), 0.0, True).shape == (2, 3, 8)
    assert residual(x.double(), x.double(), 0.0, True).dtype == torch.float64
    wide = torch.randn(1, 8193, device=DEVICE)
    assert torch.equal(residual(wide, wide, 0.0, True), wide + wide)

"""The chunked cross-entropy against its slow reference, and against torch's."""

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck
from torch.testing import assert_close

from helpers.naive_kernels import naive_cross_entropy, naive_from_logits
from saccade.errors import ConfigError, DataError, ShapeError
from saccade.kernels.cross_entropy import Losses, cross_entropy, from_logits

TIGHT = {torch.float64: 1e-12, torch.float32: 1e-6}


def layer(rows=7, width=5, classes=11, bias=True, dtype=torch.float64):
    """hidden, weight, bias, expected; no row expects class 0, which is padding."""
    tensors = torch.randn(rows, width, dtype=dtype), torch.randn(classes, width, dtype=dtype)
    expected = torch.randint(1, classes, (rows,)) if classes > 1 else torch.zeros(rows, dtype=torch.long)
    return *tensors, torch.randn(classes, dtype=dtype) if bias else None, expected


def with_gradients(loss, hidden, weight, bias, expected, factor=0.7, **options):
    """The three sums, then the gradients of `factor` times the first."""
    leaves = [None if tensor is None else tensor.clone().requires_grad_() for tensor in (hidden, weight, bias)]
    losses = loss(*leaves, expected, **options)
    wanted = [leaf for leaf in leaves if leaf is not None]
    return *(sum_.detach() for sum_ in losses), *torch.autograd.grad(factor * losses.smoothed, wanted)


def assert_same(ours, theirs, tolerance):
    """Every number is off by at most `tolerance` of the tensor's largest, sums over many terms included."""
    for mine, other in zip(ours, theirs, strict=True):
        size = other.abs().max().item() if other.numel() else 1.0
        assert_close(mine, other, rtol=tolerance, atol=tolerance * max(size, 1.0))


@pytest.mark.parametrize("dtype", TIGHT, ids=str)
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize(("rows", "classes", "chunk"), [(1, 2, 1), (7, 11, 3), (63, 100, 16), (5, 3, 512), (0, 4, 2)])
def test_chunked_is_naive(rows, classes, chunk, bias, smoothing, dtype):
    parts = layer(rows, 5, classes, bias, dtype)
    ours = with_gradients(cross_entropy, *parts, smoothing=smoothing, chunk=chunk)
    assert_same(ours, with_gradients(naive_cross_entropy, *parts, smoothing=smoothing), TIGHT[dtype])


@pytest.mark.parametrize("dtype", TIGHT, ids=str)
@pytest.mark.parametrize("chunk", [1, 4, 512])
@pytest.mark.parametrize("rows", [0, 1, 63])
def test_from_logits_is_naive(rows, chunk, dtype):
    expected = torch.randint(0, 9, (rows,))  # some rows expect padding, here class 3
    results = []
    for loss in (partial(from_logits, chunk=chunk), naive_from_logits):
        logits = torch.linspace(-4, 3, rows * 9, dtype=dtype).sin().view(rows, 9).requires_grad_()
        losses = loss(logits, expected, 0.2, 3)
        results.append((*(sum_.detach() for sum_ in losses), *torch.autograd.grad(0.3 * losses.smoothed, logits)))
    assert_same(*results, TIGHT[dtype])


def test_a_worked_example():
    logits = torch.tensor([[0.0, math.log(3.0), math.log(4.0)]])  # shares 1/8, 3/8, 4/8
    losses = from_logits(logits, torch.tensor([1]), 0.2, 0)
    # the target is 0 on padding, 0.8 + 0.1 on class 1 and 0.1 on class 2
    assert losses.smoothed.item() == pytest.approx(-0.9 * math.log(3 / 8) - 0.1 * math.log(4 / 8))
    assert losses.plain.item() == pytest.approx(-math.log(3 / 8))
    assert losses.correct.item() == 0
    assert from_logits(logits, torch.tensor([2])).correct.item() == 1


def test_without_smoothing_it_is_torchs():
    hidden, weight, bias, expected = layer(dtype=torch.float32)
    losses = cross_entropy(hidden, weight, bias, expected)
    assert_close(losses.smoothed, F.cross_entropy(F.linear(hidden, weight, bias), expected, reduction="sum"))
    assert_close(losses.plain, losses.smoothed)


def test_padding_gets_no_mass():
    """With the padding's logit far down, smoothing that gave it mass would cost about 1e6."""
    logits = torch.randn(4, 6)
    logits[:, 2] = -1e8
    assert from_logits(logits, torch.tensor([0, 1, 3, 4]), 0.1, 2).smoothed < 100


@pytest.mark.parametrize("loss", [from_logits, naive_from_logits], ids=["chunked", "naive"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_may_be_forbidden(loss, smoothing):
    logits = torch.tensor([[0.0, -math.inf, 0.0]], requires_grad=True)
    losses = loss(logits, torch.tensor([2]), smoothing, 1)
    losses.smoothed.backward()
    assert losses.smoothed.item() == pytest.approx(math.log(2))  # of two equal classes, whatever the target
    assert_close(logits.grad, torch.tensor([[0.5 - smoothing / 2, 0.0, smoothing / 2 - 0.5]]))


@pytest.mark.parametrize("loss", [from_logits, naive_from_logits], ids=["chunked", "naive"])
def test_without_smoothing_any_other_class_may_be_forbidden(loss):
    logits = torch.tensor([[0.0, 0.0, -math.inf]], requires_grad=True)
    losses = loss(logits, torch.tensor([1]))
    losses.smoothed.backward()
    assert losses.smoothed.item() == pytest.approx(math.log(2))
    assert logits.grad.tolist() == [[0.5, -0.5, 0.0]]


def test_rows_that_expect_padding_count_nothing():
    hidden, weight, bias, expected = layer()
    padded = torch.cat([hidden, torch.randn(3, 5, dtype=hidden.dtype)])
    expected_padded = torch.cat([expected, torch.zeros(3, dtype=torch.long)])
    ours = with_gradients(cross_entropy, padded, weight, bias, expected_padded, smoothing=0.1, chunk=4)
    alone = with_gradients(cross_entropy, hidden, weight, bias, expected, smoothing=0.1)
    assert (ours[3][7:] == 0).all()
    assert_close((*ours[:3], ours[3][:7], *ours[4:]), alone)


def test_a_lone_class_is_padding():
    hidden, weight, bias, expected = layer(classes=1)
    for tensor in with_gradients(cross_entropy, hidden, weight, bias, expected, smoothing=0.1):
        assert (tensor == 0).all()


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_gradients_are_those_of_the_loss(smoothing, bias):
    *leaves, expected = layer(rows=5, classes=6, bias=bias)
    expected[1] = 0
    leaves = [leaf.requires_grad_() for leaf in leaves if leaf is not None]

    def loss(hidden, weight, bias=None):
        return cross_entropy(hidden, weight, bias, expected, smoothing=smoothing, chunk=2).smoothed

    assert gradcheck(loss, leaves)
    logits = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda logits: from_logits(logits, expected, smoothing, chunk=2).smoothed, [logits])


@pytest.mark.parametrize("wanted", [(True, False, False), (False, True, False), (False, False, True)])
def test_only_what_is_wanted_gets_a_gradient(wanted):
    *leaves, expected = layer()
    full = with_gradients(naive_cross_entropy, *leaves, expected, factor=1.0, smoothing=0.1)[3:]
    leaves = [leaf.requires_grad_(want) for leaf, want in zip(leaves, wanted, strict=True)]
    cross_entropy(*leaves, expected, smoothing=0.1, chunk=3).smoothed.backward()
    for leaf, want, gradient in zip(leaves, wanted, full, strict=True):
        assert (leaf.grad is not None) == want
        if want:
            assert_close(leaf.grad, gradient)


def test_nothing_is_made_for_a_backward_pass_that_cannot_come(monkeypatch):
    hidden, weight, bias, expected = layer()
    weight.requires_grad_()
    monkeypatch.setattr(torch.Tensor, "addmm_", None)
    with torch.no_grad():
        assert not cross_entropy(hidden, weight, bias, expected).smoothed.requires_grad
    with pytest.raises(TypeError):
        cross_entropy(hidden, weight, bias, expected)


def test_the_plain_loss_and_the_count_carry_no_gradient():
    hidden, weight, bias, expected = layer()
    for losses in (
        cross_entropy(hidden.requires_grad_(), weight, bias, expected),
        from_logits(torch.randn(7, 11, requires_grad=True), expected),
    ):
        assert isinstance(losses, Losses)
        assert losses.smoothed.requires_grad
        assert not losses.plain.requires_grad
        assert not losses.correct.requires_grad
        assert losses.correct.dtype == torch.int64


def test_a_weight_tied_with_an_embedding_gets_both_gradients():
    _, weight, bias, expected = layer()
    tokens = torch.randint(0, 11, (7,))
    gradients = []
    for loss in (cross_entropy, naive_cross_entropy):
        tied = weight.clone().requires_grad_()
        loss(F.embedding(tokens, tied).tanh(), tied, bias, expected, smoothing=0.1).smoothed.backward()
        gradients.append(tied.grad)
    assert_close(*gradients)


def test_a_backward_pass_leaves_nothing_changed_for_the_next():
    hidden, weight, bias, expected = layer()
    hidden.requires_grad_()
    for loss in (
        cross_entropy(hidden, weight, bias, expected).smoothed,
        from_logits(F.linear(hidden, weight, bias), expected).smoothed,
    ):
        first, second = (torch.autograd.grad(2 * loss, hidden, retain_graph=True)[0] for _ in range(2))
        assert_close(first, second, rtol=0, atol=0)


def test_inputs_are_left_alone():
    parts = layer()
    before = [part.clone() for part in parts]
    cross_entropy(*parts, smoothing=0.1)
    logits = torch.randn(7, 11)
    copy = logits.clone()
    from_logits(logits, parts[3], 0.1)
    assert_close([*parts, logits], [*before, copy], rtol=0, atol=0)


@pytest.mark.parametrize("entry", ["layer", "logits"])
def test_a_second_derivative_is_refused(entry):
    hidden, weight, bias, expected = layer()
    hidden.requires_grad_()
    if entry == "layer":
        loss = cross_entropy(hidden, weight, bias, expected).smoothed
    else:
        loss = from_logits(F.linear(hidden, weight, bias), expected).smoothed
    with pytest.raises(ConfigError, match=r"create_graph=True .* without a graph.*torch.* for second derivatives"):
        torch.autograd.grad(loss, hidden, create_graph=True)


def test_a_common_offset_costs_no_precision():
    hidden, weight, _, expected = layer(dtype=torch.float32)
    bias = torch.full((11,), 1024.0)  # logits keep about four digits after the point
    losses = cross_entropy(hidden, weight, bias, expected, smoothing=0.1)
    assert_close(losses.smoothed, naive_cross_entropy(hidden, weight, bias, expected, smoothing=0.1).smoothed)


@pytest.mark.parametrize("size", [1e4, 1e30], ids=str)
def test_huge_logits_stay_finite(size):
    logits = torch.tensor([[0.0, size, -size], [0.0, -size, size]], requires_grad=True)
    losses = from_logits(logits, torch.tensor([1, 1]), 0.1)
    losses.smoothed.backward()
    assert losses.smoothed.isfinite()
    assert logits.grad.isfinite().all()
    assert losses.plain.item() == pytest.approx(2 * size)


def errors(loss, parts, exact):
    """How far the sums and gradients are off, each relative to the tensor's size."""
    found = with_gradients(loss, *parts, smoothing=0.1)
    return [
        ((mine.double() - true).norm() / true.norm()).item()
        for name, mine, true in zip("sp.hwb", found, exact, strict=True)
        if name != "."
    ]


@pytest.mark.parametrize("cast", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("hidden_dtype", [torch.float32, None], ids=["wide hidden", "narrow hidden"])
def test_autocast_is_no_worse_than_plain_torch(cast, hidden_dtype):
    parts = layer(100, 32, 200, dtype=torch.float32)
    parts = (parts[0].to(hidden_dtype or cast), *parts[1:])
    exact = with_gradients(naive_cross_entropy, *(part.double() for part in parts[:3]), parts[3], smoothing=0.1)
    with torch.autocast("cpu", cast):
        ours = errors(partial(cross_entropy, chunk=16), parts, exact)
        plain = errors(naive_cross_entropy, parts, exact)
        sums = cross_entropy(*parts)
    assert sums.smoothed.dtype == sums.plain.dtype == torch.float32
    for mine, theirs in zip(ours, plain, strict=True):
        assert mine <= 2 * theirs + 1e-4


def test_each_gradient_has_the_dtype_of_its_tensor():
    hidden, weight, bias, expected = layer(dtype=torch.float32)
    leaves = hidden.bfloat16().requires_grad_(), weight.requires_grad_(), bias.requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        cross_entropy(*leaves, expected).smoothed.backward()
    assert [leaf.grad.dtype for leaf in leaves] == [torch.bfloat16, torch.float32, torch.float32]


def test_autocast_leaves_double_precision_alone():
    parts = layer()
    with torch.autocast("cpu", torch.bfloat16):
        assert_close(cross_entropy(*parts).smoothed, naive_cross_entropy(*parts).smoothed, rtol=1e-12, atol=0)


def test_logits_in_half_precision_are_read_in_full():
    logits = torch.randn(9, 50).bfloat16()
    expected = torch.randint(1, 50, (9,))
    assert_close(from_logits(logits, expected, 0.1).smoothed, from_logits(logits.float(), expected, 0.1).smoothed)
    from_logits(logits.requires_grad_(), expected, 0.1).smoothed.backward()
    assert logits.grad.dtype == torch.bfloat16


def test_rows_in_any_layout():
    hidden, weight, bias, expected = layer()
    inputs = hidden.t().contiguous().t(), weight.t().contiguous().t(), bias, expected
    ours = with_gradients(cross_entropy, *inputs, smoothing=0.1, chunk=3)
    assert_same(ours, with_gradients(naive_cross_entropy, *inputs, smoothing=0.1), 1e-12)


@pytest.mark.parametrize("loss", [cross_entropy, naive_cross_entropy], ids=["chunked", "naive"])
def test_correct_counts_the_rows_whose_best_class_is_expected(loss):
    hidden, weight, bias, expected = layer(rows=40, classes=3)
    best = F.linear(hidden, weight, bias).argmax(-1)
    assert loss(hidden, weight, bias, expected).correct == (best == expected).sum()


def test_what_does_not_go_together_is_refused():
    hidden, weight, bias, expected = layer()
    with pytest.raises(ShapeError, match=r"hidden is \(7, 5\) and weight \(11, 4\).*same D"):
        cross_entropy(hidden, weight[:, :4], bias, expected)
    with pytest.raises(ShapeError, match=r"hidden is \(1, 7, 5\).*\(N, D\).*hidden\[mask\]"):
        cross_entropy(hidden[None], weight, bias, expected)
    with pytest.raises(ShapeError, match=r"bias is \(3,\), but weight has 11 classes"):
        cross_entropy(hidden, weight, bias[:3], expected)
    with pytest.raises(ShapeError, match=r"expected is \(3,\) of torch.int64, but 7 rows need \(7,\)"):
        cross_entropy(hidden, weight, bias, expected[:3])
    with pytest.raises(ShapeError, match=r"\(7,\) of torch.int32.*torch.int64"):
        cross_entropy(hidden, weight, bias, expected.int())
    with pytest.raises(ShapeError, match=r"logits are \(1, 7, 5\), but must be \(N, V\)"):
        from_logits(hidden[None], expected)


def test_classes_that_do_not_exist_are_refused():
    hidden, weight, bias, expected = layer()
    for wrong in (11, -100):
        expected[3] = wrong
        with pytest.raises(DataError, match=f"expects class {wrong}, but there are 11"):
            cross_entropy(hidden, weight, bias, expected)


def test_settings_out_of_range_are_refused():
    hidden, weight, bias, expected = layer()
    with pytest.raises(ConfigError, match=r"smoothing is 1.0.*\[0, 1\)"):
        cross_entropy(hidden, weight, bias, expected, smoothing=1.0)
    with pytest.raises(ConfigError, match=r"padding is -1.*11 classes, 0 to 10"):
        cross_entropy(hidden, weight, bias, expected, padding=-1)
    for loss in (partial(cross_entropy, hidden, weight, bias), partial(from_logits, torch.randn(7, 11))):
        with pytest.raises(ConfigError, match="chunk is 0"):
            loss(expected, chunk=0)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own, from its compiler
def test_it_compiles_as_one_graph():
    hidden, weight, bias, expected = layer(dtype=torch.float32)

    def both(hidden, weight, bias):
        by_layer = cross_entropy(hidden, weight, bias, expected, smoothing=0.1, chunk=3)
        return by_layer.smoothed + from_logits(F.linear(hidden, weight, bias), expected, 0.1).smoothed

    results = []
    for run in (both, torch.compile(both, fullgraph=True, backend="aot_eager")):
        leaves = [tensor.clone().requires_grad_() for tensor in (hidden, weight, bias)]
        out = run(*leaves)
        results.append((out.detach(), *torch.autograd.grad(out, leaves)))
    assert_close(*results)

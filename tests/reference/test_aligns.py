"""Each align against an independent implementation."""

import math

import entmax
import pytest
import torch

from saccade.attention import (
    AlphaEntmax,
    Attention,
    DotScore,
    Entmax15,
    Monotonic,
    SigmoidSmoothing,
    Softmax,
    Sparsemax,
    Tape,
)

SPARSE = {
    "sparsemax": (Sparsemax(), entmax.sparsemax),
    "entmax-1.5": (Entmax15(), entmax.entmax15),
    "entmax-alpha": (AlphaEntmax(alpha=1.3).double(), lambda x: entmax.entmax_bisect(x, alpha=1.3, n_iter=100)),
}


def agree(align, reference, scores, **tolerance):
    """Values, and gradients of a random mix of them."""
    mix = torch.randn_like(scores)
    results = []
    for rule in (align, reference):
        leaf = scores.clone().requires_grad_()
        weights = rule(leaf)
        results.append((weights.detach(), *torch.autograd.grad((weights * mix).sum(), leaf)))
    torch.testing.assert_close(*results, **tolerance)


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("size", [1, 2, 7, 63])
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_align_agrees_with_the_entmax_package(name, size, spread):
    align, reference = SPARSE[name]
    agree(align, reference, spread * torch.randn(3, 5, size, dtype=torch.float64))


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_align_agrees_in_single_precision(name):
    align, reference = SPARSE[name]
    agree(align, lambda x: reference(x.double()).float(), 2 * torch.randn(3, 5, 63), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_align_shares_ties_equally(name):
    align, _ = SPARSE[name]
    scores = torch.tensor([3.0, 3.0, -9.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(align(scores), torch.tensor([1, 1, 0, 1], dtype=torch.float64) / 3)


@pytest.mark.parametrize("name", SPARSE)
def test_masked_sparse_align_is_the_align_of_the_visible_slice(name):
    align, reference = SPARSE[name]
    scores = 2 * torch.randn(4, 9, dtype=torch.float64)
    scores[:, 2] = 50.0  # the best key is hidden
    visible = torch.tensor([0, 1, 3, 5, 6, 8])
    mask = torch.zeros(4, 9, dtype=torch.bool)
    mask[:, visible] = True

    def on_the_slice(x):
        return torch.zeros_like(x).index_copy(-1, visible, reference(x[:, visible]))

    agree(lambda x: align(x, mask), on_the_slice, scores)


@pytest.mark.parametrize("alpha", [1.02, 1.3, 1.5, 1.95])
def test_the_gradient_of_alpha_agrees_with_the_entmax_package(alpha):
    heads = 3
    scores = 2 * torch.randn(2, heads, 4, 7, dtype=torch.float64)
    mix = torch.randn_like(scores)
    align = AlphaEntmax(alpha=alpha, heads=heads).double()
    align.alpha_logit.data += torch.tensor([-0.3, 0.0, 0.2], dtype=torch.float64).view(heads, 1, 1)
    (align(scores) * mix).sum().backward()
    logit = align.alpha_logit.detach().clone().requires_grad_()
    per_row = (1 + torch.sigmoid(logit)).expand(2, heads, 4, 1)  # entmax needs one for each distribution
    weights = entmax.entmax_bisect(scores, alpha=per_row, n_iter=100)
    (weights * mix).sum().backward()
    torch.testing.assert_close(align(scores), weights)
    torch.testing.assert_close(align.alpha_logit.grad, logit.grad)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_alpha_that_has_sunk_to_one_is_softmax_and_not_noise(dtype):
    align = AlphaEntmax()
    torch.nn.init.constant_(align.alpha_logit, -30.0)
    align.to(dtype)
    scores = torch.randn(5, 7, dtype=dtype)
    tolerance = max(3e-3, 2 * torch.finfo(dtype).eps)
    torch.testing.assert_close(align(scores), torch.softmax(scores, -1), rtol=tolerance, atol=tolerance)


def test_alpha_at_its_upper_end_is_sparsemax():
    align = AlphaEntmax().double()
    torch.nn.init.constant_(align.alpha_logit, 40.0)
    scores = torch.randn(5, 7, dtype=torch.float64)
    torch.testing.assert_close(align(scores), Sparsemax()(scores))


def test_softmax_divides_scores_by_its_temperature():
    scores = torch.randn(3, 7)
    torch.testing.assert_close(Softmax(temperature=0.5)(scores), torch.softmax(2 * scores, -1))


def test_sigmoid_smoothing_normalises_sigmoids():
    scores = torch.randn(3, 7, dtype=torch.float64)
    mask = torch.rand(3, 7) < 0.7
    wanted = []
    for row, seen in zip(scores.tolist(), mask.tolist(), strict=True):
        sigmoids = [keep / (1 + math.exp(-score)) for score, keep in zip(row, seen, strict=True)]
        wanted.append([value / sum(sigmoids) for value in sigmoids])
    torch.testing.assert_close(SigmoidSmoothing()(scores, mask), torch.tensor(wanted, dtype=torch.float64))


def test_sigmoid_smoothing_stays_right_where_every_sigmoid_underflows():
    weights = SigmoidSmoothing()(torch.tensor([-200.0, -201.0]))
    torch.testing.assert_close(weights, torch.softmax(torch.tensor([1.0, 0.0]), -1))


@pytest.mark.parametrize("length", [3, 6])
def test_monotonic_is_raffels_sum_over_all_walks(length):
    steps, size = 4, 6
    query = torch.randn(1, steps, 3, dtype=torch.float64)
    keys = torch.randn(1, size, 3, dtype=torch.float64)
    stop = torch.sigmoid(query @ keys.mT)[0].tolist()
    wanted, before = [], [1.0] + [0.0] * (size - 1)
    for t in range(steps):
        now = [0.0] * size
        for s in range(length):
            for start in range(s + 1):
                walked = before[start]
                for passed in range(start, s):
                    walked *= 1 - stop[t][passed]
                now[s] += walked * stop[t][s]
        wanted.append(now)
        before = now
    attention = Attention(DotScore(3, 3), Monotonic())
    tape = Tape()
    attention(query, attention.bank(keys, mask=torch.arange(size)[None] < length), tape=tape)
    torch.testing.assert_close(tape["attention"][0, 0], torch.tensor(wanted, dtype=torch.float64))


def test_monotonic_survives_sure_decisions():
    """Where every stopping probability is 0 or 1, the closed form would divide by zero."""
    attention = Attention(DotScore(1, 1), Monotonic())
    keys = torch.tensor([[[-1.0], [-1.0], [1.0], [1.0]]], requires_grad=True)
    query = torch.full((1, 3, 1), 1e6)
    tape = Tape()
    attention(query, attention.bank(keys), tape=tape)
    torch.testing.assert_close(tape["attention"][0, 0], torch.tensor([[0.0, 0.0, 1.0, 0.0]]).expand(3, 4))
    tape["attention"].sum().backward()
    assert keys.grad.isfinite().all()


def test_monotonic_walk_begins_with_the_first_query_that_sees_a_key():
    attention = Attention(DotScore(3, 3), Monotonic())
    query, keys = torch.randn(1, 3, 3), torch.randn(1, 5, 3)
    late = torch.tensor([[[0] * 5, [1] * 5, [1] * 5]]).bool()
    tape, direct = Tape(), Tape()
    attention(query, attention.bank(keys, mask=late), tape=tape)
    attention(query[:, 1:], attention.bank(keys), tape=direct)
    torch.testing.assert_close(tape["attention"][:, :, 1:], direct["attention"])

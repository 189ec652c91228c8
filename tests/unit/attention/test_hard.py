"""Hard attention: one key at a time."""

import pytest
import torch
from torch.testing import assert_close

from saccade.attention import Attention, DotScore, Hard, Tape

DRAWS = 4000


@pytest.mark.parametrize("estimator", ["reinforce", "gumbel"])
def test_draws_come_as_often_as_their_distribution_says(estimator):
    align = Hard(estimator=estimator)
    scores = torch.tensor([0.0, 1.0, 2.0, 5.0]).expand(DRAWS, 4)
    mask = torch.tensor([True, True, True, False])
    distribution = align(scores, mask)
    drawn = align.choose(distribution)
    assert_close(drawn.sum(-1), torch.ones(DRAWS))
    assert ((drawn > 0.5).sum(-1) == 1).all()
    assert_close(drawn.mean(0), distribution[0], atol=0.02, rtol=0)
    assert (drawn[:, 3] == 0).all(), "the best key is hidden and never drawn"


def test_temperature_sharpens_the_distribution_drawn_from():
    scores = torch.tensor([[0.0, 1.0, 2.0]])
    assert_close(Hard(temperature=0.5)(scores), torch.softmax(2 * scores, -1))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_gradient_of_gumbel_draws_is_that_of_a_softmax_at_the_temperature(temperature):
    align = Hard(estimator="gumbel", temperature=temperature)
    distribution = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64, requires_grad=True)
    mix = torch.tensor([1.0, -2.0, 4.0], dtype=torch.float64)
    torch.manual_seed(7)
    (found,) = torch.autograd.grad(align.choose(distribution) @ mix, distribution)
    torch.manual_seed(7)
    noise = -torch.empty_like(distribution).exponential_().log()
    soft = torch.softmax((distribution.log() + noise) / temperature, -1)
    (wanted,) = torch.autograd.grad(soft @ mix, distribution)
    assert_close(found, wanted)


def test_evaluation_takes_the_best_visible_key():
    align = Hard().eval()
    distribution = align(torch.tensor([[0.0, 3.0, 1.0, 9.0]]), torch.tensor([True, True, True, False]))
    assert align.choose(distribution).tolist() == [[0.0, 1.0, 0.0, 0.0]]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("estimator", ["reinforce", "gumbel"])
def test_a_query_that_sees_nothing_draws_nothing(estimator, training):
    attention = Attention(DotScore(2, 2), Hard(estimator=estimator)).train(training)
    query, keys = torch.randn(1, 2, 2, requires_grad=True), torch.randn(1, 3, 2)
    mask = torch.tensor([[[False] * 3, [True] * 3]])
    attended = attention(query, attention.bank(keys, mask=mask))
    assert (attended.weights[0, 0] == 0).all()
    assert (attended.context[0, 0] == 0).all()
    assert_close(attended.weights[0, 1].sum(), torch.tensor(1.0))
    (attended.context.sum() + attended.distribution.sum()).backward()
    assert (query.grad[0, 0] == 0).all()
    assert query.grad.isfinite().all()


def test_the_context_is_the_value_that_was_drawn():
    attention = Attention(DotScore(2, 2), Hard())
    values = torch.tensor([[[10.0], [20.0], [30.0]]])
    attended = attention(torch.randn(1, 5, 2), attention.bank(torch.randn(1, 3, 2), values))
    assert set(attended.context.flatten().tolist()) <= {10.0, 20.0, 30.0}
    assert attended.context[0, :, 0].tolist() == [10.0 * (1 + row.index(1.0)) for row in attended.weights[0].tolist()]


def test_the_tape_holds_the_draw_and_what_it_was_drawn_from():
    attention = Attention(DotScore(2, 2), Hard(), site="eye")
    query, keys = torch.randn(2, 3, 2), torch.randn(2, 4, 2)
    tape = Tape()
    attention(query, attention.bank(keys), tape=tape)
    assert list(tape) == ["eye", "eye.distribution"]
    assert_close(tape["eye.distribution"], torch.softmax(query @ keys.mT, -1)[:, None])
    assert sorted(tape["eye"].unique().tolist()) == [0.0, 1.0]


@pytest.mark.parametrize("heads", [(), (3,)])
def test_rows_that_expect_get_the_distribution_and_the_others_a_draw(heads):
    align = Hard()
    distribution = align(torch.randn(4, *heads, 2, 5))
    align.expecting = torch.tensor([True, False, False, True])
    found = align.choose(distribution)
    assert found.shape == distribution.shape
    assert torch.equal(found[[0, 3]], distribution[[0, 3]])
    assert set(found[1:3].unique().tolist()) == {0.0, 1.0}

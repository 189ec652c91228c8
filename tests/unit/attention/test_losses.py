"""Losses on attention weights, by hand."""

import math

import pytest
import torch
from torch.testing import assert_close

from saccade.attention import Attention, DotScore, Hard, MovingBaseline, Tape, coverage_loss, reinforce_loss
from saccade.attention.losses import doubly_stochastic_loss, guided_loss, hop_loss
from saccade.errors import ShapeError


def test_coverage_loss_by_hand():
    weights = torch.tensor([[[[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]]])
    # step 0: nothing covered. step 1: min(.2, .5) + min(.8, .5). step 2: min(1, .7) + min(0, 1.3)
    assert_close(coverage_loss(weights), torch.tensor([0.0 + 0.7 + 0.7]))


def test_coverage_loss_leaves_out_steps_behind_the_end():
    weights = torch.tensor([[[[0.5, 0.5], [0.2, 0.8], [1.0, 0.0]]]]).repeat(2, 1, 1, 1)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert_close(coverage_loss(weights, mask), torch.tensor([0.7, 1.4]))


def test_coverage_loss_is_zero_when_nothing_is_looked_at_twice():
    weights = torch.eye(5)[[3, 0, 4, 1]][None, None]
    assert coverage_loss(weights).tolist() == [0.0]


def test_coverage_loss_is_the_mean_over_heads():
    one, other = torch.rand(2, 1, 3, 4), torch.rand(2, 1, 3, 4)
    both = coverage_loss(torch.cat([one, other], 1))
    assert_close(both, (coverage_loss(one) + coverage_loss(other)) / 2)


def test_guided_loss_is_the_cross_entropy_with_the_gold_links():
    weights = torch.tensor([[[0.5, 0.25, 0.25], [0.1, 0.0, 0.9]]])
    gold = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]])
    assert guided_loss(weights, gold).item() == pytest.approx(-0.5 * math.log(0.5) - 0.5 * math.log(0.25))
    unseen = torch.tensor([[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    assert guided_loss(weights, unseen).item() == pytest.approx(9 * math.log(10)), "no weight counts as 1e-9"


def test_doubly_stochastic_loss_is_how_far_the_attention_of_each_place_is_from_one():
    weights = torch.tensor([[[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [1.0, 0.0]]])
    assert_close(doubly_stochastic_loss(weights), torch.tensor([0.25**2 + 0.25**2, 1.0 + 1.0]))
    mask = torch.tensor([[True, False], [True, True]])
    assert_close(doubly_stochastic_loss(weights, mask), torch.tensor([0.5**2 + 0.5**2, 2.0]))


def test_losses_refuse_weights_of_another_shape():
    with pytest.raises(ShapeError, match=r"but the gold alignment is \(1, 2, 4\)"):
        guided_loss(torch.rand(1, 2, 3), torch.rand(1, 2, 4))
    with pytest.raises(ShapeError, match="mean over heads first"):
        doubly_stochastic_loss(torch.rand(1, 1, 2, 3))


def test_reinforce_loss_by_hand():
    distribution = torch.tensor([[[[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]]]])
    weights = torch.tensor([[[[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]]])
    loss = reinforce_loss(weights, distribution, torch.tensor([3.0]), 1.0)
    assert_close(loss, torch.tensor([-2.0 * (math.log(0.25) + math.log(0.8))]))


def test_reinforce_loss_rewards_entropy():
    distribution = torch.tensor([[[[0.5, 0.5, 0.0]]]])
    weights = torch.tensor([[[[1.0, 0.0, 0.0]]]])
    loss = reinforce_loss(weights, distribution, torch.tensor([1.0]), 1.0, entropy=0.1)
    assert_close(loss, torch.tensor([-0.1 * math.log(2)]))


def test_reinforce_loss_ignores_steps_without_weights():
    distribution = torch.softmax(torch.randn(1, 1, 3, 4), -1)
    weights = torch.eye(4)[[2, 0, 1]][None, None]
    ended, short = weights.clone(), distribution.clone()
    ended[:, :, 2], short[:, :, 2] = 0, 0
    whole = reinforce_loss(ended, short, torch.tensor([2.0]), 0.5)
    assert_close(whole, reinforce_loss(weights[:, :, :2], distribution[:, :, :2], torch.tensor([2.0]), 0.5))


def test_reinforce_loss_leaves_out_steps_behind_the_mask():
    distribution = torch.softmax(torch.randn(2, 1, 3, 4), -1)
    weights = torch.eye(4)[[2, 0, 1]].expand(2, 1, 3, 4)
    reward, mask = torch.tensor([2.0, -1.0]), torch.tensor([[True, True, False], [True, True, True]])
    found = reinforce_loss(weights, distribution, reward, 0.5, entropy=0.1, mask=mask)
    for row, length in enumerate((2, 3)):
        parts = weights[row : row + 1, :, :length], distribution[row : row + 1, :, :length], reward[row : row + 1]
        assert_close(found[row : row + 1], reinforce_loss(*parts, 0.5, entropy=0.1))


def test_reinforce_gradient_is_the_policy_gradient_estimate():
    """d/de log softmax(e)[drawn] = one-hot(drawn) - softmax(e)."""
    scores = torch.randn(1, 1, 1, 4, dtype=torch.float64, requires_grad=True)
    distribution = torch.softmax(scores, -1)
    drawn = torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64).view(1, 1, 1, 4)
    reward, baseline = torch.tensor([0.7], dtype=torch.float64), 0.2
    reinforce_loss(drawn, distribution, reward, baseline).sum().backward()
    assert_close(scores.grad, -(0.7 - 0.2) * (drawn - distribution.detach()))


@pytest.mark.parametrize("baseline", [0.0, 0.4])
def test_expected_reinforce_gradient_is_the_gradient_of_the_expected_reward(baseline):
    """Every draw of three keys, weighted by its probability; the baseline adds no bias."""
    scores = torch.tensor([0.3, -1.0, 0.8], dtype=torch.float64, requires_grad=True)
    rewards = torch.tensor([1.0, -0.5, 2.0], dtype=torch.float64)
    chances = torch.softmax(scores, -1)
    (wanted,) = torch.autograd.grad((chances * rewards).sum(), scores)
    expected = torch.zeros_like(scores)
    for key in range(3):
        distribution = torch.softmax(scores, -1).view(1, 1, 1, 3)
        drawn = torch.eye(3, dtype=torch.float64)[key].view(1, 1, 1, 3)
        loss = reinforce_loss(drawn, distribution, rewards[key].view(1), baseline)
        expected += chances[key].detach() * torch.autograd.grad(loss.sum(), scores)[0]
    assert_close(-expected, wanted)


def test_neither_reward_nor_draw_receives_gradient():
    distribution = torch.softmax(torch.randn(1, 1, 1, 3), -1).requires_grad_()
    weights = torch.tensor([[[[1.0, 0.0, 0.0]]]], requires_grad=True)
    reward = torch.tensor([2.0], requires_grad=True)
    reinforce_loss(weights, distribution, reward, 0.0).sum().backward()
    assert weights.grad is None
    assert reward.grad is None
    assert distribution.grad is not None


def test_hard_attention_learns_by_reinforce_where_the_reward_is():
    attention = Attention(DotScore(2, 2), Hard())
    query = torch.zeros(64, 1, 2, requires_grad=True)
    keys = torch.tensor([[1.0, 0.0], [0.0, 1.0]]).expand(64, 2, 2)
    tape = Tape()
    attention(query, attention.bank(keys), tape=tape)
    weights = tape["attention"]
    reinforce_loss(weights, tape["attention.distribution"], weights[:, 0, 0, 1], 0.5).sum().backward()
    assert (query.grad[:, 0, 1] < 0).all(), "going down the gradient turns every query towards key 1"
    assert (query.grad[:, 0, 0] > 0).all()


def test_moving_baseline_trails_the_mean_reward():
    baseline = MovingBaseline(decay=0.9)
    assert baseline(torch.tensor([1.0, 3.0])).item() == 0.0
    assert_close(baseline(torch.tensor([10.0])), torch.tensor(0.2))
    assert_close(baseline(torch.tensor([0.0])), torch.tensor(0.9 * 0.2 + 1.0))


def test_moving_baseline_does_not_count_rows_that_are_no_sentences():
    baseline = MovingBaseline(decay=0.9)
    baseline(torch.tensor([1.0, 3.0, 0.0]), torch.tensor([True, True, False]))
    assert_close(baseline.value, torch.tensor(0.2))


def test_moving_baseline_of_one_sentence_and_of_none():
    """A step without any sentence counts as a reward of 0."""
    baseline = MovingBaseline(decay=0.5)
    baseline(torch.tensor([4.0, 9.0]), torch.tensor([True, False]))
    assert baseline.value.item() == 2.0
    baseline(torch.tensor([4.0, 9.0]), torch.tensor([False, False]))
    assert baseline.value.item() == 1.0


def test_moving_baseline_stands_still_when_evaluating_and_is_saved():
    baseline = MovingBaseline()
    baseline(torch.tensor([1.0]))
    baseline.eval()
    assert baseline(torch.tensor([50.0])) == baseline(torch.tensor([50.0]))
    copy = MovingBaseline()
    copy.load_state_dict(baseline.state_dict())
    assert_close(copy.value, torch.tensor(0.1))


def test_moving_baseline_passes_no_gradient():
    assert not MovingBaseline()(torch.tensor([1.0], requires_grad=True)).requires_grad


def test_hop_loss_wants_each_hop_in_its_sentence_and_further_hops_in_the_last():
    weights = torch.tensor([[[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]]])
    spans = torch.tensor([[[2, 3], [0, 0], [-1, -1]]])
    assert hop_loss(weights, spans).item() == pytest.approx(-math.log(0.7) - math.log(0.4) - math.log(0.25))
    one = torch.tensor([[[1, 2], [-1, -1], [-1, -1]]])
    assert hop_loss(weights, one).item() == pytest.approx(-3 * math.log(0.5), rel=1e-5)


def test_hop_loss_leaves_out_examples_without_evidence():
    weights = torch.softmax(torch.randn(2, 2, 5), -1)
    spans = torch.tensor([[[1, 2], [3, 3]], [[-1, -1], [-1, -1]]])
    assert_close(hop_loss(weights, spans), hop_loss(weights[:1], spans[:1]))
    assert hop_loss(weights, torch.full((2, 2, 2), -1)).item() == 0
    more = torch.tensor([[[1, 2], [3, 3], [4, 4]]])  # more sentences than hops
    assert_close(hop_loss(weights[:1], more), hop_loss(weights[:1], spans[:1]))

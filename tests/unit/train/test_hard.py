"""The objective of hard attention, compared with its equations computed word by word."""

import math

import pytest
import torch
from torch.testing import assert_close

from helpers.models import VOCABULARY, tiny
from helpers.recipes import untrained
from saccade.attention import Tape
from saccade.batch import BOS, EOS, PAD, Batch
from saccade.errors import ConfigError
from saccade.models import MODELS, build_captioner, presets_for
from saccade.train.hard import HardLoss
from saccade.train.objective import losses_of
from saccade.train.terms import DoublyStochastic, Reinforce

CAPTIONERS = presets_for("captioner")

BASELINE = -0.7
REWARD = Reinforce(weight=0.5, entropy=0.3, expected=0.5)
EVEN = DoublyStochastic(weight=0.2)


def made():
    torch.manual_seed(0)
    name = "show-attend-tell-hard"
    model = build_captioner(name, VOCABULARY, **CAPTIONERS[name].tiny).double().train()
    model.baseline.value.fill_(BASELINE)
    return model


def batch():
    """Return two captions of different lengths, and a padding row as in rounded batches."""
    target = torch.tensor([[BOS, 4, 5, 6, EOS], [BOS, 7, EOS, PAD, PAD], [BOS, PAD, PAD, PAD, PAD]])
    mask = target != PAD
    pictures = torch.randn(3, 3, 12, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return Batch(target=target, target_mask=mask, pictures=pictures)


def by_hand(model, given):
    """Return the total loss, the likelihood alone, and the mean reward."""
    tape = Tape()
    model.attention.align.expecting = torch.rand(3) < REWARD.expected
    chances = model(given, tape=tape).log_softmax(-1).tolist()
    model.attention.align.expecting = None
    weights, distribution = (tape[site][:, 0].tolist() for site in ("attention", "attention.distribution"))
    total, likelihood, rewards = 0.0, 0.0, []
    for row in range(3):
        words = int(given.expected_mask[row].sum())
        looked, spread, plain = 0.0, 0.0, 0.0
        places = [0.0] * len(weights[row][0])
        for step in range(words):
            word = int(given.expected[row, step])
            plain -= chances[row][step][word]
            others = sum(chances[row][step][other] for other in range(VOCABULARY) if other != PAD) / (VOCABULARY - 1)
            total -= 0.9 * chances[row][step][word] + 0.1 * others
            for place, (weight, share) in enumerate(zip(weights[row][step], distribution[row][step], strict=True)):
                looked += weight * math.log(share)
                spread -= share * math.log(share)
                places[place] += weight
        total -= (-REWARD.weight * plain - BASELINE) * looked + REWARD.entropy * spread
        total += EVEN.weight * sum((1 - place) ** 2 for place in places)
        likelihood += plain
        if words:
            rewards.append(-REWARD.weight * plain)
    return total, likelihood, sum(rewards) / len(rewards)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_the_loss_is_that_of_the_equations(seed):
    model, twin, given = made(), made(), batch()
    torch.manual_seed(seed)
    losses = losses_of(HardLoss(model, REWARD, terms=[EVEN], label_smoothing=0.1).train(), given)
    torch.manual_seed(seed)
    total, likelihood, reward = by_hand(twin, given)
    assert losses.total.item() == pytest.approx(total)
    assert losses.plain.item() == pytest.approx(likelihood)
    assert model.baseline.value.item() == pytest.approx(0.9 * BASELINE + 0.1 * reward)


def test_only_an_update_looks_everywhere_now_and_then(monkeypatch):
    """Soft attention is off after each update, even one that failed."""
    model = made()
    objective = HardLoss(model, Reinforce(expected=1.0)).train()
    losses_of(objective, batch())
    assert model.attention.align.expecting is None
    monkeypatch.setattr(model, "hidden_states", lambda *given, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        losses_of(objective, batch())
    assert model.attention.align.expecting is None


def test_measuring_moves_no_baseline_and_rewards_nothing():
    model, given = made(), batch()
    model.eval()
    likelihood = losses_of(HardLoss(model, REWARD).eval(), given)
    assert_close(likelihood.total, likelihood.plain)
    assert model.baseline.value.item() == pytest.approx(BASELINE)


@pytest.mark.parametrize("task", ["translation", "language-modeling"])
def test_tasks_without_a_reward_refuse_attention_that_learns_by_it(task):
    preset = {"translation": "bahdanau", "language-modeling": "lstmn"}[task]
    settings = {"preset": preset, **MODELS[preset].tiny, "attention": {"align": "hard"}}
    with pytest.raises(
        ConfigError, match=r"hard attention learns by reward \(REINFORCE\), which this task has no objective for"
    ):
        untrained(task, settings).objective()
    gumbel = {"align": "hard", "align_options": {"estimator": "gumbel"}}
    assert untrained(task, settings | {"attention": gumbel}).objective().model.training


@pytest.mark.parametrize("options", [{}, {"attention": {"align": "hard"}}])
def test_reward_needs_draws_and_a_baseline_to_compare_them_with(options):
    with pytest.raises(ConfigError, match="this objective is for models with hard attention, but this one has none"):
        HardLoss(tiny("bahdanau", **options))

"""R-Drop: compared with torch's KL divergence and with two separate forward passes."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from helpers.captioning import captioner
from helpers.models import tiny
from helpers.recipes import MODEL, untrained
from saccade import pytree
from saccade.batch import EOS, NO_LABEL, Batch
from saccade.errors import ConfigError
from saccade.models import MODELS, build_classifier
from saccade.train.agreement import disagreement
from saccade.train.hard import HardLoss
from saccade.train.objective import ClassLoss, WordLoss, losses_of
from saccade.train.terms import GuidedAlignment


def ragged():
    return Batch.from_lists([[4, 5, 6, EOS], [7, EOS], [8, 9, EOS]], [[5, 4], [6, 7, 8, 9], [10]])


def divergence(first, second):
    """Return the mean of both directions, summed over rows."""
    ways = [(first, second), (second, first)]
    sums = [F.kl_div(of.log_softmax(-1), to.log_softmax(-1), log_target=True, reduction="sum") for to, of in ways]
    return sum(sums) / 2


def test_it_is_the_mean_of_both_divergences():
    first, second = torch.randn(2, 5, 7, dtype=torch.float64).float().unbind()
    both = torch.cat([first, second]).requires_grad_()
    found = disagreement(both, torch.ones(10, dtype=torch.bool))
    assert_close(found, divergence(*both.chunk(2)))
    wanted = torch.autograd.grad(divergence(*both.chunk(2)), both)[0]
    assert_close(torch.autograd.grad(found, both)[0], wanted)


def test_rows_that_do_not_count_add_nothing():
    logits = torch.randn(8, 5)
    counts = torch.tensor([True, False, True, True] * 2)
    assert_close(disagreement(logits, counts), divergence(*logits[counts].chunk(2)))


def test_who_agrees_with_himself_is_left_alone():
    logits = torch.randn(4, 5).repeat(2, 1).requires_grad_()
    found = disagreement(logits, torch.ones(8))
    assert found == 0
    assert_close(torch.autograd.grad(found, logits)[0], torch.zeros(8, 5))


@pytest.mark.parametrize("name", ["bahdanau", "transformer-base", "lstmn"])
def test_a_batch_is_read_twice_and_the_readings_compared(name):
    model = tiny(name, dropout=0.3) if name != "bahdanau" else tiny(name, decoder={"dropout": 0.3})
    objective = WordLoss(model, label_smoothing=0.1, r_drop=5.0).train()
    torch.manual_seed(3)
    losses = losses_of(objective, ragged())
    torch.manual_seed(3)
    both = pytree.concatenate([ragged(), ragged()])
    logits = model(both)[both.expected_mask]
    answers = both.expected[both.expected_mask]
    apart = divergence(*logits.chunk(2))
    assert apart > 0
    plain = F.cross_entropy(logits, answers, reduction="sum") / 2
    assert_close(losses.plain, plain)
    torch.manual_seed(3)
    smoothed = losses_of(WordLoss(model, label_smoothing=0.1).train(), both).total
    assert_close(losses.total, (smoothed + 5 * apart) / 2)


def test_without_dropout_and_in_evaluation_it_changes_nothing():
    model = tiny("transformer-base")
    usual = losses_of(WordLoss(model), ragged())
    assert_close(losses_of(WordLoss(model, r_drop=5.0).train(), ragged()), usual)
    objective = WordLoss(model, r_drop=5.0).eval()
    sizes = set()
    model.encoder.register_forward_hook(lambda part, given, made: sizes.add(len(given[0])))
    assert_close(losses_of(objective, ragged()), usual)
    assert sizes == {3}
    losses_of(objective.train(), ragged())
    assert sizes == {3, 6}, "two copies in training only"


def test_gold_attention_is_doubled_with_the_batch():
    model, links = tiny("bahdanau"), torch.rand(3, 5, 4)
    usual = losses_of(WordLoss(model, terms=[GuidedAlignment(weight=2.0)]), replace(ragged(), links=links))
    assert_close(
        losses_of(WordLoss(model, terms=[GuidedAlignment(weight=2.0)], r_drop=1.0), replace(ragged(), links=links)),
        usual,
    )


def test_classes():
    model = build_classifier("bahdanau", 11, 4, head_dropout=0.5, **MODELS["bahdanau"].tiny)
    batch = Batch.from_lists([[4, 5], [6], [7, 8]], labels=[1, NO_LABEL, 3])
    objective = ClassLoss(model, r_drop=2.0).train()
    torch.manual_seed(5)
    losses = losses_of(objective, batch)
    torch.manual_seed(5)
    both = pytree.concatenate([batch, batch])
    logits = model(both)
    real = both.labels != NO_LABEL
    usual = F.cross_entropy(logits, both.labels, reduction="sum")
    assert_close(losses.total, (usual + 2 * divergence(*logits[real].chunk(2))) / 2)
    assert_close(losses.plain, usual / 2)


@pytest.mark.parametrize("r_drop", [0.0, 1.0])
def test_a_batch_of_classes_is_read_twice_only_where_it_learns_to_agree(r_drop):
    model, sizes = build_classifier("bahdanau", 11, 4, **MODELS["bahdanau"].tiny), []
    model.register_forward_hook(lambda part, given, made: sizes.append(len(made)))
    objective = ClassLoss(model, r_drop=r_drop)
    for training in (True, False):
        losses_of(objective.train(training), Batch.from_lists([[4, 5], [6], [7, 8]], labels=[1, 0, 3]))
    assert sizes == [6 if r_drop else 3, 3]


@pytest.mark.parametrize("name", ["translation", "language-modeling", "classification", "captioning"])
def test_a_recipe_asks_for_it(name):
    task = captioner().task if name == "captioning" else untrained(name, MODEL)
    assert task.objective().r_drop == 0
    task.recipe = task.recipe.model_copy(update={"train": task.recipe.train.model_copy(update={"r_drop": 2.0})})
    assert task.objective().r_drop == 2


def test_hard_attention_has_draws_of_its_own():
    with pytest.raises(ConfigError, match="hard attention samples too"):
        HardLoss(tiny("bahdanau", attention={"align": "hard"}), r_drop=1.0)

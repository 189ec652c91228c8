"""SAGAN, Zhang et al. 2018: the attention block, spectral normalization and the hinge losses, by their equations."""

import math

import pytest
import torch

from saccade.attention import Tape
from saccade.batch import NO_LABEL, Batch
from saccade.layers.image_blocks import BatchSpread, GridAttention
from saccade.layers.spectral_norm import spectral_norm
from saccade.models.sagan import SaganConfig
from saccade.train.adversarial import AdversarialLoss
from saccade.train.terms import Adversarial


def tiny(**settings):
    torch.manual_seed(1)
    known = {"noise": 4, "generator": [6, 4], "discriminator": [4], "attend": [4, 8], "color": False}
    return SaganConfig.model_validate(known | settings).image_generator(3)


def batch(labels):
    return Batch(pictures=torch.randint(0, 256, (len(labels), 8, 8, 3), dtype=torch.uint8), labels=torch.tensor(labels))


def test_a_block_is_the_identity_at_first_and_then_adds_what_each_place_attends_to():
    torch.manual_seed(1)
    block = GridAttention(16).eval()
    x = torch.randn(2, 16, 2, 3)
    assert torch.equal(block(x), x)
    torch.nn.init.constant_(block.gamma, 0.7)
    tape = Tape()
    found = block(x, tape)
    f, g, h, v = (part.weight[:, :, 0, 0].detach() for part in (block.key, block.query, block.value, block.out))
    assert (len(f), len(g), len(h)) == (2, 2, 8)
    places = [(row, column) for row in range(2) for column in range(3)]
    for b in range(2):
        for t, here in enumerate(places):
            scores = [float((g @ x[(b, slice(None), *here)]) @ (f @ x[(b, slice(None), *there)])) for there in places]
            total = sum(math.exp(score) for score in scores)
            shares = [math.exp(score) / total for score in scores]
            seen = sum(share * (h @ x[(b, slice(None), *there)]) for share, there in zip(shares, places, strict=True))
            expected = 0.7 * (v @ seen) + x[(b, slice(None), *here)]
            torch.testing.assert_close(found[(b, slice(None), *here)], expected)
            torch.testing.assert_close(tape["attention"][b, 0, t], torch.tensor(shares))


def test_spectral_norm_divides_by_the_largest_singular_value():
    torch.manual_seed(1)
    layer = spectral_norm(torch.nn.Conv2d(3, 5, 3))
    plain = layer.parametrizations.weight.original
    for _ in range(200):
        layer(torch.zeros(1, 3, 3, 3))
    expected = plain / torch.linalg.matrix_norm(plain.flatten(1), 2)
    torch.testing.assert_close(layer.weight, expected)


def test_power_iteration_runs_only_while_the_weight_is_trained():
    layer = spectral_norm(torch.nn.Linear(4, 3))
    vector = layer.parametrizations.weight[0].u
    for prepare, moves in (
        (lambda: layer.train(), True),
        (lambda: layer.requires_grad_(False), False),
        (lambda: layer.requires_grad_(True).eval(), False),
    ):
        prepare()
        before = vector.clone()
        _ = layer.weight
        assert torch.equal(before, vector) != moves


@pytest.mark.parametrize("labels", [[0, 2, 1], [1, NO_LABEL, 0]])
def test_the_losses_are_the_hinges_of_each_turn(labels):
    model = tiny()
    with torch.no_grad():
        for _ in range(300):  # until power iteration has converged, so that another pass changes nothing
            model.score(model.generate(torch.randn(3, 4), torch.arange(3)), torch.arange(3))
    objective, given = AdversarialLoss(model, Adversarial()), batch(labels)
    known, real = given.labels.clamp_min(0), given.labels >= 0
    objective.train().take_turn(1)
    torch.manual_seed(2)
    found = objective.losses(given).total.detach()
    torch.manual_seed(2)
    fake = model.generate(torch.randn(3, 4), known)
    pixels = given.pictures[..., 1].float()[:, None] / 127.5 - 1
    both = torch.cat([pixels, fake])
    scores = model.score(both, known.repeat(2)).detach().view(2, 3)
    expected = sum(max(0.0, 1 - float(a)) + max(0.0, 1 + float(b)) for a, b, r in zip(*scores, real, strict=True) if r)
    assert float(found) == pytest.approx(expected, rel=1e-3)
    objective.take_turn(2)
    torch.manual_seed(3)
    found = objective.losses(given).total.detach()
    torch.manual_seed(3)
    score = model.score(model.generate(torch.randn(3, 4), known), known)[real].sum()
    judged = model.judge(given.pictures[..., 1:2])[1].log_softmax(-1).detach()
    mistaken = -sum(float(judged[row, label]) for row, label in enumerate(labels) if label >= 0)
    assert float(found) == pytest.approx(mistaken - float(score.detach()), rel=1e-3)


def test_a_turn_gives_gradients_to_its_player_alone():
    model = tiny()
    objective = AdversarialLoss(model, Adversarial(turns=2)).train()
    turns = []
    for step in range(1, 7):
        objective.take_turn(step)
        turns.append(objective.turn)
        objective.zero_grad(set_to_none=True)
        objective.losses(batch([0, 1, 2])).total.backward()
        moved = {name.split(".")[0] for name, part in model.named_parameters() if part.grad is not None}
        assert moved == ({"discriminator"} if objective.turn == "discriminator" else {"generator", "judge"})
    assert turns == ["discriminator", "discriminator", "generator"] * 2


def test_shifted_images_are_cut_from_the_image_with_longer_edges():
    objective = AdversarialLoss(tiny(), Adversarial(shift=2)).train()
    image = torch.arange(64.0).view(1, 1, 8, 8).repeat(20, 1, 1, 1)
    wide = torch.nn.functional.pad(image[:1], (2,) * 4, mode="replicate")[0, 0]
    cuts = [wide[row : row + 8, column : column + 8] for row in range(5) for column in range(5)]
    found = objective._moved(image)[:, 0]
    assert all(any(torch.equal(one, cut) for cut in cuts) for one in found)
    assert len({tuple(one.flatten().tolist()) for one in found}) > 5
    assert torch.equal(objective.eval()._moved(image), image)


@pytest.mark.parametrize("labels", [[0, 2, 1, 1], [1, NO_LABEL, 0, 2]])
def test_relativistic_losses_compare_pairs_and_the_penalty_is_the_squared_slope(labels):
    model = tiny(normalized="generator", place_block=True, compare=True)
    with torch.no_grad():
        for _ in range(300):  # until power iteration has converged
            model.generate(torch.randn(3, 4), torch.arange(3))
    objective, given = AdversarialLoss(model, Adversarial(relativistic=True, penalty=3.0)), batch(labels)
    known, real = given.labels.clamp_min(0), given.labels >= 0
    pixels = model.pixels(given.pictures)

    def scores(fake):
        both = torch.cat([pixels, fake]).requires_grad_(True)
        found = model.score(both, known.repeat(2))
        slopes = torch.autograd.grad(found.sum(), both)[0].square().flatten(1).sum(1)
        return found.detach().view(2, -1), slopes.view(2, -1)

    objective.train().take_turn(1)
    torch.manual_seed(2)
    total = objective.losses(given).total
    torch.manual_seed(2)
    with torch.no_grad():
        fake = model.generate(torch.randn(4, 4), known)
    (right, drawn), slopes = scores(fake)
    expected = (torch.log1p(torch.exp(drawn - right)) + 1.5 * slopes.sum(0))[real].sum()
    assert float(total.detach()) == pytest.approx(float(expected), rel=1e-4)
    total.backward()
    assert all(part.grad is not None for part in model.discriminator.parameters())
    objective.take_turn(2)
    torch.manual_seed(3)
    total = objective.losses(given).total.detach()
    torch.manual_seed(3)
    (right, drawn), _ = scores(model.generate(torch.randn(4, 4), known).detach())
    judged = model.judge(given.pictures[..., 1:2])[1].log_softmax(-1).detach()
    mistaken = -sum(float(judged[row, label]) for row, label in enumerate(labels) if label >= 0)
    expected = torch.log1p(torch.exp(right - drawn))[real].sum()
    assert float(total) == pytest.approx(mistaken + float(expected), rel=1e-4)


def test_the_spread_of_a_batch_is_that_of_groups_of_neighbors():
    torch.manual_seed(1)
    layer = BatchSpread(3).eval()
    h = torch.randn(16, 3)
    found = layer(h)
    for start in (0, 8):
        group = h[start : start + 8]
        spread = ((group - group.mean(0)).square().mean(0) + 1e-6).sqrt()
        inside = torch.cat([group, spread.expand(8, 3)], 1) @ layer.linear.weight.T + layer.linear.bias
        torch.testing.assert_close(found[start : start + 8], group + torch.relu(inside))
    assert not torch.allclose(layer(h[:1]), found[:1]), "alone it is no group"


def test_networks_are_normalized_as_the_settings_say():
    for normalized, expected in (("both", {"generator", "discriminator"}), ("generator", {"generator"})):
        model = tiny(normalized=normalized)
        assert {name.partition(".")[0] for name, _ in model.named_parameters() if "original" in name} == expected

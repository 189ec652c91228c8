"""Captioners: shapes, properties, the paper's equations, and that attention learns to find objects."""

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from helpers.search import beam, greedy
from saccade.attention import Tape
from saccade.batch import BOS, EOS, Batch
from saccade.errors import ConfigError, DataError, ShapeError
from saccade.layers.grids import flatten, normalise
from saccade.models import build_captioner, presets_for
from saccade.models.captioning import GridConfig
from saccade.outside import trusting
from saccade.train.hard import HardLoss
from saccade.train.objective import WordLoss, losses_of
from saccade.train.terms import DoublyStochastic, Reinforce

CAPTIONERS = presets_for("captioner")

WORDS = 11
each = pytest.mark.parametrize("name", CAPTIONERS)


def tiny(name):
    torch.manual_seed(0)
    return build_captioner(name, WORDS, **CAPTIONERS[name].tiny).double()


def batch(count=3, size=12):
    pictures = torch.randn(count, 3, size, size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    rows = [[BOS, *range(4, 4 + count - n), EOS] for n in range(count)]
    target = torch.tensor([row + [0] * (count + 2 - len(row)) for row in rows])
    return Batch(target=target, target_mask=target > 0, pictures=pictures)


@each
def test_every_word_looks_at_the_regions(name):
    model, given, tape = tiny(name).eval(), batch(), Tape()
    model(given, tape=tape)
    (site, *_) = model.source_sites
    weights = tape[site]
    assert weights.shape[0] == 3
    assert weights.shape[2:] == (given.inputs.shape[1], 9)  # 12 × 12, halved twice
    assert_close(weights.sum(-1), torch.ones(weights.shape[:3], dtype=weights.dtype))


@each
def test_a_picture_alone_is_captioned_as_in_company(name):
    model, given = tiny(name), batch()
    together = beam(model, Batch(pictures=given.pictures), 3, max_length=8)
    for row, (best, *_) in enumerate(together):
        ((alone, *_),) = beam(model, Batch(pictures=given.pictures[row : row + 1]), 3, max_length=8)
        assert alone.tokens == best.tokens
        for site, weights in best.attention.items():
            assert_close(alone.attention[site], weights)


def test_regions_can_be_glimpses():
    """The decoder attends to places, and the glimpse at the corner does not see what lies beyond its coarsest patch."""
    own = {"kind": "glimpses", "frozen": False, "retina": {"size": 4, "scales": 2, "hidden": 5, "width": 6}}
    changes = {**CAPTIONERS["show-attend-tell-soft"].tiny, "image_encoder": own}
    model, given = build_captioner("show-attend-tell-soft", WORDS, **changes).double(), batch()
    tape = Tape()
    model(given, tape=tape)
    assert tape[model.source_sites[0]].shape[-1] == 9
    losses_of(WordLoss(model), given).total.backward()
    assert model.encoder.grid.encoder.what.weight.grad.abs().sum() > 0
    changed = given.pictures.clone()
    changed[:, :, 7:] += 1.0
    before, after = (model.encoder.grid(pictures)[:, :, 0, 0] for pictures in (given.pictures, changed))
    assert_close(after, before)


def test_the_papers_equations():
    """One step of the soft model by hand."""
    model, given = tiny("show-attend-tell-soft").eval(), batch(1)
    annotations = flatten(model.encoder.grid(given.pictures))[0]
    start = torch.tanh(model.first_state.layer(torch.relu(model.first_state.shared(annotations.mean(0)))))
    h, c = start.chunk(2)
    score = model.attention.score
    energies = torch.tanh(score.query_weight @ h + annotations @ score.key_weight.T) @ score.v[0]
    z = torch.softmax(energies, 0) @ annotations * torch.sigmoid(model.gate(h))
    word = model.target_embedding.weight[BOS]
    cell = model.cells.first.rnn
    gates = cell.weight_ih_l0 @ torch.cat([word, z]) + cell.bias_ih_l0 + cell.weight_hh_l0 @ h + cell.bias_hh_l0
    i, f, g, o = gates.chunk(4)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    logits = model.output(word + model.readout.of_state(h) + model.readout.of_context(z))
    memory = model.encode(given)
    found, _ = model.step(memory, model.init_state(memory, 3), torch.tensor([BOS]))
    assert_close(found[0], logits)


@each
def test_bytes_and_what_they_mean_are_the_same_picture(name):
    model, given = tiny(name).eval(), batch()
    seen = torch.randint(0, 256, (3, 12, 12, 3), dtype=torch.uint8)
    bytes_, numbers = replace(given, pictures=seen), replace(given, pictures=normalise(seen).double())
    assert_close(model(bytes_), model(numbers))


def test_the_shape_of_a_grid_is_found_without_a_trace():
    encoder = GridConfig(width=8, channels=(4,)).build().train()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    assert encoder.shape(8, 8, torch.zeros(1)) == (2, 2)
    assert encoder.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in encoder.state_dict().items())


@pytest.mark.parametrize("frozen", [False, True])
def test_a_grid_that_is_frozen_stays_as_it_is(frozen):
    encoder = GridConfig(width=8, channels=(4,), frozen=frozen).build()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    encoder.train().see(torch.randn(4, 3, 8, 8))
    changed = [name for name, tensor in encoder.state_dict().items() if not torch.equal(tensor, before[name])]
    assert bool(changed) is not frozen
    assert all(parameter.requires_grad is not frozen for parameter in encoder.parameters())


def test_a_batch_without_pictures_is_refused():
    with pytest.raises(DataError, match="reads images"):
        tiny("show-attend-tell-soft").encode(Batch.from_lists(targets=[[4]]))


def test_soft_attention_can_be_asked_to_look_everywhere():
    model, given = tiny("show-attend-tell-soft"), batch()
    plain, asked = (
        losses_of(WordLoss(model, terms=[DoublyStochastic(weight=weight)]).eval(), given) for weight in (0.0, 2.0)
    )
    tape = Tape()
    model(given, tape=tape)
    weights = tape["attention"][:, 0] * given.expected_mask[..., None]
    assert_close(asked.total - plain.total, 2 * (1 - weights.sum(1)).square().sum())
    assert_close(asked.plain, plain.plain)


def test_hard_attention_learns_by_reward_and_keeps_its_baseline():
    model, given = tiny("show-attend-tell-hard").train(), batch()
    objective = HardLoss(model, Reinforce(weight=0.1, entropy=0.0, expected=0.0))
    torch.manual_seed(3)
    losses = losses_of(objective, given)
    losses.total.backward()
    assert model.attention.score.v.grad.abs().sum() > 0  # by the reward alone
    assert model.baseline.value.item() == pytest.approx(0.1 * 0.1 * -(losses.plain.item() / 3))
    assert "baseline.value" in model.state_dict()
    with pytest.raises(ConfigError, match="hard attention"):
        HardLoss(tiny("show-attend-tell-soft"))


def test_labels_are_smoothed_by_one_equation_whatever_the_attention():
    """With soft attention for every sentence and no reward, hard attention has the loss of soft attention."""
    model, given = tiny("show-attend-tell-hard"), batch()
    hard = HardLoss(model, Reinforce(weight=0.0, entropy=0.0, expected=1.0), label_smoothing=0.3).train()
    soft = WordLoss(model, label_smoothing=0.3).train()
    found = losses_of(hard, given)
    model.attention.align.expecting = torch.ones(given.size, dtype=torch.bool)
    wanted = losses_of(soft, given)
    assert_close(found.total, wanted.total)
    assert_close(found.plain, wanted.plain)
    for parameters in (model.output.parameters(), model.encoder.parameters()):
        pairs = [
            torch.autograd.grad(losses.total, p, retain_graph=True) for p in parameters for losses in (found, wanted)
        ]
        for mine, theirs in zip(pairs[::2], pairs[1::2], strict=True):
            assert_close(mine, theirs)


@each
def test_own_words_leave_the_running_means_of_norms_to_the_one_pass_that_learns(name):
    """The model runs twice in a step, to choose its own words and to learn from them; norms count the batch once."""
    counted = []
    for share in (0.0, 1.0):
        model = tiny(name)
        objective = (HardLoss(model) if name.endswith("hard") else WordLoss(model)).train()
        objective.own_words = share
        losses_of(objective, batch())
        counted.append({key: part for key, part in model.named_buffers() if key.startswith(("encoder", "grid"))})
    assert {int(part) for key, part in counted[0].items() if key.endswith("tracked")} == {1}
    assert_close(counted[1], counted[0], rtol=0, atol=0)


def test_expected_sentences_look_everywhere():
    model, given, tape = tiny("show-attend-tell-hard").train(), batch(), Tape()
    model.attention.align.expecting = torch.tensor([True, False, True])
    model(given, tape=tape)
    most = tape["attention"].amax(-1)
    assert (most[1] == 1).all()
    assert (most[[0, 2]] < 1).all()
    assert_close(tape["attention"][0], tape["attention.distribution"][0])


def colours(count, chance):
    """Squares of one of two colours in one of four corners: "colour corner" as two words."""
    pictures, rows = torch.zeros(count, 3, 16, 16), []
    for n in range(count):
        colour, corner = int(torch.randint(2, (), generator=chance)), int(torch.randint(4, (), generator=chance))
        top, left = 9 * (corner // 2) + 1, 9 * (corner % 2) + 1
        pictures[n, colour, top : top + 5, left : left + 5] = 1.0
        rows.append([4 + colour, 6 + corner])
    return pictures, rows


@pytest.mark.parametrize("name", CAPTIONERS)
def test_learns_what_is_where_in_a_picture(name):
    torch.manual_seed(0)
    settings = {"image_encoder": {"kind": "small", "width": 24, "channels": (12,), "frozen": False}}
    if name.startswith("show"):
        settings |= {"embedding": 24, "decoder": {"width": 32, "dropout": 0.0}}
    else:
        settings |= {"width": 32, "feed_forward": 64, "layers": 1, "dropout": 0.0}
    model = build_captioner(name, WORDS, **settings)
    hard = name.endswith("hard")
    objective = (HardLoss(model) if hard else WordLoss(model)).train()
    optimizer = torch.optim.Adam(model.parameters(), 4e-3)
    chance = torch.Generator().manual_seed(0)
    for _ in range(120):
        pictures, rows = colours(32, chance)
        given = Batch.from_lists(targets=rows)
        losses = losses_of(objective, Batch(target=given.target, target_mask=given.target_mask, pictures=pictures))
        optimizer.zero_grad()
        (losses.total / 96).backward()
        optimizer.step()
    pictures, rows = colours(64, chance)
    found = greedy(model, Batch(pictures=pictures), max_length=5)
    right = sum(hypothesis.tokens == [*row, EOS] for hypothesis, row in zip(found, rows, strict=True))
    assert right >= (45 if hard else 60)


def own_grid():
    return torch.nn.Conv2d(3, 6, 4, 4)


@pytest.mark.parametrize("name", CAPTIONERS)
def test_a_grid_of_ones_own(name):
    settings = {**CAPTIONERS[name].tiny, "image_encoder": {"kind": f"{__name__}:own_grid", "width": 6}}
    with pytest.raises(ConfigError, match="trust"):
        build_captioner(name, WORDS, **settings)
    with trusting():
        model = build_captioner(name, WORDS, **settings)
        wrong = build_captioner(
            name, WORDS, **{**settings, "image_encoder": {"kind": f"{__name__}:own_grid", "width": 5}}
        )
    assert (
        model(Batch(target=batch().target, target_mask=batch().target_mask, pictures=batch().pictures.float())).shape[
            -1
        ]
        == WORDS
    )
    with pytest.raises(ShapeError, match="rows, columns"):
        wrong.encode(Batch(pictures=batch().pictures.float()))

"""Losses, compared with torch's and with slow loops."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from helpers.models import tiny
from helpers.question_models import asked, reader
from saccade.attention import Tape
from saccade.batch import BOS, EOS, PAD, UNK, Batch
from saccade.errors import ConfigError
from saccade.models import MODELS, build_classifier
from saccade.train.objective import ClassLoss, SpanLoss, WordLoss, losses_of
from saccade.train.terms import Coverage, DoublyStochastic, GuidedAlignment, GuidedHops, Reinforce

SOURCES = [[4, 5, 6, EOS], [7, EOS], [8, 9, EOS]]
TARGETS = [[5, 4], [6, 7, 8, 9], [10]]


def ragged():
    return Batch.from_lists(SOURCES, TARGETS)


def flat(model, batch):
    """Return logits and targets of the real positions, concatenated."""
    return model(batch)[batch.expected_mask], batch.expected[batch.expected_mask]


@pytest.mark.parametrize("name", ["bahdanau", "sutskever", "transformer-base", "lstmn", "luong-local-p"])
def test_words_are_a_plain_cross_entropy(name):
    model = tiny(name)
    losses = losses_of(WordLoss(model), ragged())
    expected = F.cross_entropy(*flat(model, ragged()), reduction="sum")
    assert_close(losses.total, expected)
    assert_close(losses.plain, expected)
    wanted = torch.autograd.grad(expected, list(model.parameters()), allow_unused=True)
    found = torch.autograd.grad(losses.total, list(model.parameters()), allow_unused=True)
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_smoothing_gives_padding_nothing():
    model = tiny("bahdanau")
    losses = losses_of(WordLoss(model, label_smoothing=0.3), ragged())
    logits, answers = flat(model, ragged())
    chances = logits.log_softmax(-1)
    target = torch.full_like(chances, 0.3 / (chances.shape[1] - 1))
    target[:, PAD] = 0.0
    target[torch.arange(len(answers)), answers] += 0.7
    assert_close(losses.total, -(target * chances).sum())
    assert_close(losses.plain, F.cross_entropy(logits, answers, reduction="sum"))


def test_guided_alignment_adds_what_it_costs_to_look_elsewhere():
    model, batch = tiny("bahdanau"), ragged()
    links = torch.zeros(3, 5, 4)
    links[0, 0, 1] = 1.0
    links[1, 2, 0] = links[1, 2, 1] = 0.5
    objective = WordLoss(model, terms=[GuidedAlignment(weight=2.0)])
    tape = Tape()
    model(batch, tape=tape)
    weights = tape[model.source_sites[0]][:, 0].tolist()
    looked = -math.log(weights[0][0][1]) - 0.5 * math.log(weights[1][2][0]) - 0.5 * math.log(weights[1][2][1])
    plain = losses_of(WordLoss(model), batch).total
    guided = losses_of(objective, replace(batch, links=links))
    assert guided.total.item() == pytest.approx(plain.item() + 2.0 * looked, rel=1e-5)
    assert_close(guided.plain, plain)
    assert_close(losses_of(objective, batch).total, plain)  # without links the term is 0


def test_one_head_alone_can_be_guided():
    model, batch = tiny("transformer-base"), ragged()
    links = torch.zeros(3, 5, 4)
    links[0, 0, 1] = 1.0
    site = model.source_sites[1]
    tape = Tape()
    model(batch, tape=tape)
    plain = losses_of(WordLoss(model), batch).total.item()
    for head in (0, 1):
        objective = WordLoss(model, terms=[GuidedAlignment(weight=3.0, site=site, head=head)])
        looked = -math.log(tape[site][0, head, 0, 1].item())
        assert losses_of(objective, replace(batch, links=links)).total.item() == pytest.approx(
            plain + 3.0 * looked, rel=1e-5
        )


def test_a_head_to_guide_must_be_there():
    model, batch = tiny("transformer-base"), ragged()
    with pytest.raises(
        ConfigError, match=r"guided_alignment.site 'decoder.layers.9.cross' does not exist. Did you mean"
    ):
        WordLoss(model, terms=[GuidedAlignment(site="decoder.layers.9.cross")])
    objective = WordLoss(model, terms=[GuidedAlignment(head=2)])
    with pytest.raises(ConfigError, match=r"guided_alignment.head is 2, but the heads are numbered from 0 to 1"):
        losses_of(objective, replace(batch, links=torch.zeros(3, 5, 4)))


def test_every_place_of_a_source_is_to_get_its_share_from_real_words_alone():
    """Attention at padding positions of a shorter target does not count."""
    model, batch, tape = tiny("bahdanau").eval(), ragged(), Tape()
    plain = losses_of(WordLoss(model), batch)
    asked = losses_of(WordLoss(model, terms=[DoublyStochastic(weight=3.0)]), batch)
    model(batch, tape=tape)
    weights, uneven = tape[model.source_sites[0]][:, 0].tolist(), 0.0  # (B, T, S)
    for row, target in zip(weights, TARGETS, strict=True):
        for place in range(len(row[0])):
            uneven += (1 - sum(step[place] for step in row[: len(target) + 1])) ** 2
    assert asked.total.item() == pytest.approx(plain.total.item() + 3.0 * uneven, rel=1e-5)
    assert_close(asked.plain, plain.plain)


@pytest.mark.parametrize("form", ["bytes (B, H, W, 3)", "numbers (B, 3, H, W)"])
def test_pictures_are_mirrored_from_left_to_right(form):
    objective = WordLoss(tiny("bahdanau"), horizontal_flip=1.0).train()
    pictures = torch.arange(2 * 2 * 5 * 3, dtype=torch.uint8).view(2, 2, 5, 3)
    wanted = torch.stack([pictures[:, :, 4 - column] for column in range(5)], 2)
    if form.startswith("numbers"):
        pictures, wanted = (part.permute(0, 3, 1, 2).float() for part in (pictures, wanted))
    batch = Batch(pictures=pictures)
    assert torch.equal(objective._augmented(batch).pictures, wanted)
    assert torch.equal(objective.eval()._augmented(batch).pictures, pictures)


def test_some_pictures_are_mirrored_and_others_not():
    objective = WordLoss(tiny("bahdanau"), horizontal_flip=0.3).train()
    pictures = torch.arange(5, dtype=torch.uint8).view(1, 1, 5, 1).expand(400, 2, 5, 3)
    fed = objective._augmented(Batch(pictures=pictures)).pictures
    turned = fed[:, 0, 0, 0] == 4
    assert 0.2 < turned.float().mean() < 0.4
    assert torch.equal(fed[~turned], pictures[~turned])


@pytest.mark.parametrize("term", [GuidedAlignment(), DoublyStochastic(), Coverage()], ids=lambda term: term.name)
def test_what_is_asked_of_attention_needs_some(term):
    with pytest.raises(ConfigError, match=f"^{term.name} needs attention to the source, but this model has none"):
        WordLoss(tiny("sutskever"), terms=[term])


def test_a_recipe_that_mirrors_pictures_leaves_batches_without_them_alone():
    batch = ragged()
    assert torch.equal(WordLoss(tiny("bahdanau"), horizontal_flip=1.0).train()._augmented(batch).source, batch.source)


def test_pictures_that_are_not_mirrored_cost_no_random_numbers():
    objective, pictures = WordLoss(tiny("bahdanau")).train(), torch.zeros(2, 4, 4, 3, dtype=torch.uint8)
    before = torch.get_rng_state()
    assert objective._augmented(Batch(pictures=pictures)).pictures is pictures
    assert torch.equal(torch.get_rng_state(), before)


def slow_mixture(model, batch):
    """Feed the model only its own predictions, sentence by sentence."""
    rows = []
    for source, target in zip(SOURCES, batch.target, strict=True):
        memory = model.encode(Batch.from_lists([source]))
        state = model.init_state(memory, len(target) - 1)
        fed = [BOS]
        for _ in range(len(target) - 2):
            logits, state = model.step(memory, state, torch.tensor([fed[-1]]))
            fed.append(int(logits[0].argmax()))
        rows.append(fed)
    return torch.tensor(rows)


@pytest.mark.parametrize("name", ["bahdanau", "transformer-base"])
def test_with_only_own_words_the_model_is_fed_its_best(name):
    model, batch = tiny(name), ragged()
    objective = WordLoss(model).train()
    objective.own_words = 1.0
    fed = objective._augmented(batch)
    assert fed.inputs.tolist() == slow_mixture(model, batch).tolist()
    assert not torch.equal(fed.inputs, batch.inputs)
    logits = model(fed)[batch.expected_mask]
    expected = F.cross_entropy(logits, batch.expected[batch.expected_mask], reduction="sum")
    assert_close(losses_of(objective, batch).total, expected)  # but must predict the true words


def test_some_own_words_leave_the_others():
    objective, batch = WordLoss(tiny("bahdanau")).train(), ragged()
    objective.own_words = 0.5
    changed = [
        (objective._augmented(batch).inputs != batch.inputs)[batch.expected_mask].float().mean() for _ in range(20)
    ]
    assert 0.1 < float(torch.stack(changed).mean()) < 0.5  # the first word of each is always BOS


def test_no_own_words_and_evaluation_change_nothing():
    objective, batch = WordLoss(tiny("bahdanau")).train(), ragged()
    before = torch.get_rng_state()
    assert torch.equal(objective._augmented(batch).target, batch.target)
    assert torch.equal(torch.get_rng_state(), before)
    objective.own_words = objective.word_dropout = 0.9
    assert objective.eval()._augmented(batch) is batch


def test_word_dropout_hides_words_and_no_special_tokens():
    objective, batch = WordLoss(tiny("bahdanau"), word_dropout=0.5).train(), ragged()
    hidden = {"source": 0, "target": 0}
    for _ in range(20):
        fed = objective._augmented(batch)
        for side in hidden:
            was, now = getattr(batch, side), getattr(fed, side)
            assert torch.equal(now[was <= UNK], was[was <= UNK])
            assert set(now[now != was].tolist()) <= {UNK}
            hidden[side] += int((now != was).sum())
    words = {"source": 6, "target": 7}
    for side, count in hidden.items():
        assert 0.35 < count / (20 * words[side]) < 0.65


def test_word_dropout_does_not_hide_what_must_be_answered():
    model = tiny("bahdanau")
    objective = WordLoss(model, word_dropout=0.5).train()
    state = torch.get_rng_state()
    fed = objective._augmented(ragged())
    torch.set_rng_state(state)
    logits, answers = model(fed)[ragged().expected_mask], ragged().expected[ragged().expected_mask]
    assert_close(losses_of(objective, ragged()).total, F.cross_entropy(logits, answers, reduction="sum"))


def classifier():
    return build_classifier("bahdanau", 11, 4, **MODELS["bahdanau"].tiny)


def test_classes_are_a_plain_cross_entropy():
    model, batch = classifier().eval(), Batch.from_lists(SOURCES, labels=[0, 3, 1])
    losses = losses_of(ClassLoss(model, label_smoothing=0.2), batch)
    logits = model(batch)
    assert_close(losses.total, F.cross_entropy(logits, batch.labels, label_smoothing=0.2, reduction="sum"))
    assert_close(losses.plain, F.cross_entropy(logits, batch.labels, reduction="sum"))
    assert not losses.plain.requires_grad


def test_classes_are_told_with_words_missing_only_in_training():
    batch = Batch.from_lists([[4, 5, 6, 7, 8, 9, EOS]], labels=[2])
    objective = ClassLoss(classifier(), word_dropout=0.9)
    seen = losses_of(objective.eval(), batch).plain
    assert_close(seen, losses_of(ClassLoss(objective.model).eval(), batch).plain)
    assert not torch.equal(losses_of(objective.train(), batch).plain, seen)


def test_terms_add_up_each_with_its_weight():
    model, batch = tiny("bahdanau"), ragged()
    plain = losses_of(WordLoss(model).eval(), batch).total
    terms = [Coverage(weight=2.0), DoublyStochastic(weight=3.0)]
    tape = Tape()
    model.hidden_states(batch, tape=tape)
    expected = plain + sum(term.weight * term.loss(model, batch, tape) for term in terms)
    assert_close(losses_of(WordLoss(model, terms=terms).eval(), batch).total, expected)
    assert terms[0].loss(model, batch, tape) > 0


def test_a_term_without_weight_is_left_out():
    assert WordLoss(tiny("sutskever"), terms=[Coverage(weight=0.0)]).terms == []


def test_reward_is_for_hard_attention_alone():
    with pytest.raises(ConfigError, match="reinforce is for models with hard attention"):
        WordLoss(tiny("bahdanau"), terms=[Reinforce()])


def test_a_term_may_begin_late():
    model, batch = tiny("bahdanau"), ragged()
    objective = WordLoss(model, terms=[Coverage(weight=2.0, after=0.75), DoublyStochastic()])
    both = WordLoss(model, terms=[Coverage(weight=2.0), DoublyStochastic()])
    one = WordLoss(model, terms=[DoublyStochastic()])
    totals, phases = [], []
    for share in (0.0, 0.7, 0.75, 0.9):
        objective.progress(share)
        totals.append(losses_of(objective, batch).total)
        phases.append(objective.phase)
    assert_close(totals[0], losses_of(one, batch).total)
    assert_close(totals[1], totals[0])
    assert_close(totals[2], losses_of(both, batch).total)
    assert_close(totals[3], totals[2])
    assert phases[0] == phases[1] == ("doubly_stochastic",)
    assert phases[2] == phases[3] == ("coverage", "doubly_stochastic")


def questions():
    """Two acceptable answers, one, and none; evidence of the first alone."""
    spans = torch.tensor([[[1, 2], [3, 3]], [[0, 1], [-1, -1]], [[-1, -1], [-1, -1]]])
    evidence = torch.tensor([[[0, 1], [3, 4]], [[-1, -1], [-1, -1]], [[-1, -1], [-1, -1]]])
    batch = asked([[5, 6, 7, 8, 9, 2], [10, 11, 2], [6, 2]], [[4, 5, 2], [12, 13, 14, 15, 2], [7, 2]])
    return replace(batch, spans=spans, evidence=evidence)


def test_any_acceptable_answer_counts_and_a_padding_row_counts_nothing():
    model, batch = reader("recurrent", hops=2).eval(), questions()
    logs = model(batch).detach().double()
    wanted = [
        math.log(math.exp(logs[0, 0, 1] + logs[0, 1, 2]) + math.exp(logs[0, 0, 3] + logs[0, 1, 3])),
        float(logs[1, 0, 0] + logs[1, 1, 1]),
    ]
    losses = losses_of(SpanLoss(model), batch)
    assert losses.plain.item() == pytest.approx(-sum(wanted), rel=1e-4)
    assert losses.total.item() == losses.plain.item()


def test_guided_hops_add_what_it_costs_to_look_elsewhere():
    model, batch = reader("recurrent", hops=3).eval(), questions()
    objective = SpanLoss(model, terms=[GuidedHops(weight=0.5, after=0.6)])
    assert losses_of(objective, batch).total == losses_of(objective, batch).plain
    before = objective.phase
    objective.progress(0.7)
    assert objective.phase != before
    losses, tape = losses_of(objective, batch), Tape(detach=True)
    model(batch, tape=tape)
    hops = [tape[f"hops.{number}"][0, 0, 0] for number in range(3)]
    cost = -sum(float(part.log()) for part in (hops[0][:2].sum(), hops[1][3:5].sum(), hops[2][3:5].sum()))
    assert (losses.total - losses.plain).detach().item() == pytest.approx(0.5 * cost, rel=1e-4)
    losses.total.backward()
    assert model.hops[0].score.weight.grad.abs().sum() > 0


def test_guided_hops_need_evidence():
    model, batch = reader("recurrent", hops=1).eval(), replace(questions(), evidence=None)
    losses = losses_of(SpanLoss(model, terms=[GuidedHops()]), batch)
    assert losses.total == losses.plain
    assert not GuidedHops().applies(ragged())

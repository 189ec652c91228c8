"""AttnGAN, Xu et al. 2018, and MirrorGAN, Qiao et al. 2019: attention to words and the losses, by their equations."""

import math

import pytest
import torch

from saccade.attention import Tape
from saccade.batch import UNK, Batch
from saccade.layers.word_blocks import SentenceEncoder, SentenceNorm, WordAttention
from saccade.models.drawing import DrawingConfig
from saccade.train.drawing import DrawingLoss
from saccade.train.terms import Adversarial

TARGETS = [[4, 5, 6], [7, 4], [5, 8, 9]]


def tiny(**settings):
    torch.manual_seed(1)
    networks = {"generator": [6, 4], "discriminator": [4], "read": [4, 8], "judge": [4, 8, 8]}
    return DrawingConfig.model_validate({"noise": 4, "words": 6, **networks} | settings).drawer(10)


def batch(targets=TARGETS):
    words = Batch.from_lists(targets=targets)
    pictures = torch.randint(0, 256, (len(targets), 8, 8, 3), dtype=torch.uint8)
    return Batch(target=words.target, target_mask=words.target_mask, pictures=pictures)


def test_every_place_adds_what_it_reads_of_the_real_words():
    torch.manual_seed(1)
    block = WordAttention(8, 6).eval().requires_grad_(False)
    x, words, mask = (
        torch.randn(2, 8, 2, 3),
        torch.randn(2, 4, 6),
        torch.tensor([[True] * 4, [True, True, False, False]]),
    )
    tape = Tape()
    found = block(x, words, mask, tape)
    for b in range(2):
        real = [s for s in range(4) if mask[b, s]]
        for place in range(6):
            row, column = divmod(place, 3)
            here = x[b, :, row, column]
            query = block.query.weight[:, :, 0, 0] @ here + block.query.bias
            scores = [float(query @ block.key(words[b, s])) / 2 for s in real]  # √4 = 2
            total = sum(map(math.exp, scores))
            shares = [math.exp(score) / total for score in scores]
            read = sum(share * block.value(words[b, s]) for share, s in zip(shares, real, strict=True))
            expected = here + block.out.weight[:, :, 0, 0] @ torch.cat([here, read]) + block.out.bias
            torch.testing.assert_close(found[b, :, row, column], expected)
            expected = torch.zeros(4).index_put((torch.tensor(real),), torch.tensor(shares))
            torch.testing.assert_close(tape["attention"][b, 0, place], expected)


def test_the_norm_is_batch_norm_with_the_gain_and_bias_of_a_vector():
    torch.manual_seed(1)
    norm, x, vector = SentenceNorm(3, 5), torch.randn(4, 3, 2, 2), torch.randn(4, 5)
    mean, deviation = x.mean((0, 2, 3), keepdim=True), x.var((0, 2, 3), unbiased=False, keepdim=True)
    with torch.no_grad():
        norm.eval()
        gain, bias = (part(vector)[..., None, None] for part in (norm.gain, norm.bias))
        norm.norm.train()
        expected = (x - mean) / (deviation + norm.norm.eps).sqrt() * (1 + gain) + bias
        torch.testing.assert_close(norm(x, vector), expected)


def test_the_sentence_is_the_last_state_of_each_direction_and_ignores_padding():
    torch.manual_seed(1)
    encoder = SentenceEncoder(10, 6)
    tokens, mask = torch.tensor([[4, 5, 2, 0]]), torch.tensor([[True, True, True, False]])
    words, sentence = encoder(tokens, mask)
    torch.testing.assert_close(sentence[0], torch.cat([words[0, 2, :3], words[0, 0, 3:]]))
    alone = encoder(tokens[:, :3], mask[:, :3])
    torch.testing.assert_close(alone[1], sentence)
    torch.testing.assert_close(alone[0], words[:, :3])


def fixed(weight, turn):
    """A model that a turn of its objective does not change: no power iteration, running means in batch norms."""
    model = tiny()
    objective = DrawingLoss(model, Adversarial(), weight).train()
    objective.take_turn(turn)
    model.eval()
    model.judge.train = lambda mode=True: None
    return model, objective


def nats(model, pictures, given, counted):
    """The judge's loss for each caption, per word; `counted`: which words."""
    logs = model.judge(Batch(target=given.target, target_mask=given.target_mask, pictures=pictures)).log_softmax(-1)
    rows = zip(logs.detach(), given.expected, counted, given.expected_mask, strict=True)
    return [
        -sum(float(log[word]) for log, word, counts in zip(row, words, real, strict=True) if counts) / int(every.sum())
        for row, words, real, every in rows
    ]


def test_the_discriminator_rejects_drawings_and_captions_of_other_images():
    (model, objective), given = fixed(1.0, 1), batch()
    torch.manual_seed(2)
    found, plain = (part.detach() for part in objective.losses(given))
    torch.manual_seed(2)
    tokens, mask = given.expected, given.expected_mask
    drawn = model.generate(torch.randn(3, 4), tokens, mask)
    pixels = given.pictures.movedim(-1, 1) / 127.5 - 1
    expected = 0.0
    for row in range(3):
        before = (row - 1) % 3
        right, fake, wrong = (
            float(model.score(image[row : row + 1], tokens[place : place + 1], mask[place : place + 1]).detach())
            for image, place in ((pixels, row), (drawn, row), (pixels, before))
        )
        expected += max(0, 1 - right) + max(0, 1 + fake) / 2 + max(0, 1 + wrong) / 2
    learned = sum(nats(model, given.pictures, given, mask))
    assert float(found) == pytest.approx(expected + learned, rel=1e-3)
    assert float(plain) == pytest.approx(expected, rel=1e-3)
    assert objective.numbers()["discriminator_loss"] == pytest.approx(expected / 3, rel=1e-3)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_the_generator_is_to_be_accepted_and_read(weight):
    (model, objective), given = fixed(weight, 2), batch()
    torch.manual_seed(3)
    found = objective.losses(given).total.detach()
    torch.manual_seed(3)
    tokens, mask = given.expected, given.expected_mask
    drawn = model.generate(torch.randn(3, 4), tokens, mask).detach()
    score = float(model.score(drawn, tokens, mask).sum().detach())
    colors = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)]
    seen = torch.stack([((drawn[:, c] + 1) / 2 - mean) / std for c, (mean, std) in enumerate(colors)], 1)
    read, learned = sum(nats(model, seen, given, mask)), sum(nats(model, given.pictures, given, mask))
    assert float(found) == pytest.approx(weight * read - score + learned, rel=1e-3)
    numbers = objective.numbers()
    assert numbers["generator_loss"] == pytest.approx(-score / 3, rel=1e-3)
    assert numbers["redescription"] == pytest.approx(read / 3 if weight else 0, rel=1e-3)


def test_a_turn_gives_gradients_to_its_player_and_the_judge_learns_from_real_images_alone():
    model = tiny()
    objective = DrawingLoss(model, Adversarial(), 1.0).train()
    for turn in (1, 2, 3):
        objective.take_turn(turn)
        objective.zero_grad(set_to_none=True)
        objective.losses(batch()).total.backward()
        moved = {name.split(".")[0] for name, part in model.named_parameters() if part.grad is not None}
        assert moved == {"judge", "discriminator" if turn % 2 else "generator"}
    given = batch()
    objective.take_turn(2)
    losses = []
    for weight in (0.0, 5.0):
        objective.weight = weight
        objective.zero_grad(set_to_none=True)
        torch.manual_seed(1)
        objective.losses(given).total.backward()
        losses.append([part.grad.clone() for part in model.judge.parameters()])
        assert model.judge.training
    for first, second in zip(*losses, strict=True):
        torch.testing.assert_close(first, second)


def test_hidden_words_are_neither_seen_nor_asked_for():
    model, given = tiny(), batch()
    objective = DrawingLoss(model, Adversarial(), 1.0, word_dropout=1.0).train()
    told = []
    model.misread = lambda pixels, _, counted: told.append(counted) or pixels.flatten(1).sum(1) * 0
    seen = []
    model.generate = lambda noise, tokens, mask: seen.append(tokens) or torch.zeros(3, 3, 8, 8, requires_grad=True)
    objective.take_turn(2)
    objective.losses(given)
    assert seen[0].tolist() == [[UNK, UNK, UNK, 2], [UNK, UNK, 2, 0], [UNK, UNK, UNK, 2]]
    ends = given.expected == 2
    assert torch.equal(told[0], ends)
    assert torch.equal(told[1], given.expected_mask)
    objective.eval()
    assert torch.equal(objective._read(given)[0], given.expected)


def test_a_row_that_pads_a_batch_does_not_count():
    model, given = tiny(), batch([*TARGETS[:2], []])
    mask = given.target_mask.clone()
    mask[2, 1:] = False
    objective, found = DrawingLoss(model, Adversarial(), 1.0).eval(), []
    for color in (0, 255):
        pictures = given.pictures.clone()
        pictures[2] = color
        torch.manual_seed(1)
        found.append(
            float(objective.losses(Batch(target=given.target, target_mask=mask, pictures=pictures)).total.detach())
        )
    assert found[0] == pytest.approx(found[1])
    torch.manual_seed(1)
    assert float(objective.losses(given).total.detach()) > found[0]

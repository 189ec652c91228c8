"""The span reader over every kind of encoder and every way to compare: probabilities, padding, forced starts."""

import pytest
import torch

from helpers.question_models import FAMILIES, asked, reader
from saccade.attention import Steering, Tape
from saccade.errors import DataError

WAYS = [
    {},
    {"matches": False, "align": False},
    {"joint": True},
    {"flow": True, "cell": "lstm"},
    {"every_word": True},
    {"hops": 2},
    {"joint": True, "flow": True, "hops": 1},
]
PASSAGES, QUESTIONS = [[5, 6, 7, 8, 9, 2], [10, 11, 2], [6, 2]], [[4, 5, 2], [12, 13, 14, 15, 2], [7, 2]]


@pytest.fixture(params=[(family, number) for family in FAMILIES for number in range(len(WAYS))], ids=str)
def model(request):
    family, number = request.param
    return reader(family, **WAYS[number]).eval()


@torch.no_grad()
def test_both_ends_are_distributions_over_the_real_tokens(model):
    batch = asked(PASSAGES, QUESTIONS)
    found = model(batch).exp()
    torch.testing.assert_close(found.sum(-1), torch.ones(3, 2))
    assert (found[~batch.source_mask[:, None].expand_as(found)] < 1e-30).all()


@torch.no_grad()
def test_padding_changes_nothing(model):
    together = model(asked(PASSAGES, QUESTIONS))
    for row, (passage, question) in enumerate(zip(PASSAGES, QUESTIONS, strict=True)):
        alone = model(asked([passage], [question]))
        torch.testing.assert_close(together[row, :, : len(passage)], alone[0], atol=1e-5, rtol=1e-4)


@torch.no_grad()
def test_recording_changes_nothing_and_names_the_sides_of_every_site(model):
    batch, tape = asked(PASSAGES, QUESTIONS), Tape(detach=True, detailed=True)
    torch.testing.assert_close(model(batch, tape=tape), model(batch), atol=1e-6, rtol=1e-5)
    sizes = {"source": 6, "question": 5, "target": 2, "summary": 1}
    for site in tape:
        rows, columns = model.sides(site)
        assert tape[site].shape[-2:] == (sizes[rows], sizes[columns]), site
    torch.testing.assert_close(tape["answer"][:, 0], model(batch).exp(), atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_the_end_depends_on_a_forced_start(model):
    batch = asked(PASSAGES[:1], QUESTIONS[:1])
    free, first, second = model(batch), *(model(batch, start=torch.tensor([place])) for place in (0, 3))
    torch.testing.assert_close(first[:, 0], free[:, 0])
    assert not torch.allclose(first[:, 1], second[:, 1])


@torch.no_grad()
def test_a_hidden_word_is_no_answer(model):
    tape = Tape(steering=Steering(["answer"], blocked=[2]))
    logs = model(asked(PASSAGES[:1], QUESTIONS[:1]), tape=tape)
    assert (tape["answer"][..., 2] == 0).all()
    assert (logs[0, :, 2] < -80).all()


def test_every_weight_learns(model):
    batch = asked(PASSAGES, QUESTIONS)
    model(batch)[:, :, 0].sum().backward()
    still = [name for name, part in model.named_parameters() if part.grad is None]
    assert still == []


def test_a_batch_without_questions_is_refused():
    batch = asked(PASSAGES, QUESTIONS)
    with pytest.raises(DataError, match="reads a question and a passage"):
        reader("recurrent")(type(batch)(batch.source, batch.source_mask))

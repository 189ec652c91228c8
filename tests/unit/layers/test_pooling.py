"""Poolings by pencil and paper."""

import pytest
import torch
from torch.testing import assert_close

from helpers.models import loud
from saccade import masks
from saccade.attention import Tape
from saccade.layers.encoder import EncoderOutput, RecurrentEncoder
from saccade.layers.pooling import POOLINGS, build_pooling

ANNOTATIONS = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [99.0, 99.0]], [[4.0, 4.0], [99.0, 99.0], [99.0, 99.0]]])
MASK = masks.padding(torch.tensor([2, 1]), 3)
READING = EncoderOutput(ANNOTATIONS, torch.tensor([[3.0, 6.0], [4.0, 4.0]]))


@pytest.mark.parametrize(("name", "wanted"), [("mean", [[2.0, 4.0], [4.0, 4.0]]), ("last", [[3.0, 6.0], [4.0, 4.0]])])
def test_mean_and_last(name: str, wanted: list[list[float]]):
    assert build_pooling(name, 2)(READING, MASK).tolist() == wanted


def test_attention_is_a_weighted_mean_of_what_is_real():
    pooling, tape = loud(build_pooling("attention", 2)), Tape()
    pooled = pooling(READING, MASK, tape=tape)
    score = pooling.attention.score
    h = ANNOTATIONS[0, :2]
    e = torch.tanh(pooling.question[0, 0] @ score.query_weight.T + h @ score.key_weight.T) @ score.v[0]
    assert_close(pooled[0], torch.softmax(e, 0) @ h)
    assert_close(pooled[1], ANNOTATIONS[1, 0])
    assert tape["attention"].shape == (2, 1, 1, 3)
    assert (tape["attention"][:, 0, 0][~MASK] == 0).all()


@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"bidirectional": True}], ids=str)
@pytest.mark.parametrize("name", POOLINGS)
def test_every_word_counts_whichever_way_it_was_read(name: str, options: dict[str, bool]):
    encoder = loud(RecurrentEncoder("gru", 2, 3, **options))
    pooling, inputs = build_pooling(name, encoder.width), torch.randn(1, 4, 2, requires_grad=True)
    mask = torch.ones(1, 4, dtype=torch.bool)
    (grad,) = torch.autograd.grad(pooling(encoder(inputs, mask), mask).square().sum(), inputs)
    assert (grad.abs().sum(-1) > 1e-6).all()

"""Pencil and paper: the lecture's worked example, and its three steps to query, key and value."""

import math

import pytest
import torch
from torch.testing import assert_close

from saccade.attention import Attention, DotScore, MultiHead, ProjectedDot, ScaledDot, Tape

MORE, LESS = math.e / (math.e + 1), 1 / (math.e + 1)  # softmax of two scores one apart


def test_the_lectures_worked_numbers():
    query = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    keys = torch.tensor([[[2.0, 3.0, 4.0, 2.0], [4.0, 4.0, 2.0, 2.0]]])
    values = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    assert DotScore(4, 4)(query, keys).tolist() == [[[28.0, 26.0]]]
    assert ScaledDot(4, 4)(query, keys).tolist() == [[[14.0, 13.0]]]
    attention = Attention(ScaledDot(4, 4))
    tape = Tape()
    context = attention(query, attention.bank(keys, values), tape=tape).context
    assert [round(weight, 3) for weight in tape["attention"].flatten().tolist()] == [0.731, 0.269]
    assert_close(context, torch.tensor([[[MORE, LESS]]]))


def test_step_one_embeddings_are_their_own_queries_keys_and_values():
    words = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    attention = Attention(DotScore(2, 2))
    attended = attention(words, attention.bank(words))
    assert_close(attended.context, torch.tensor([[[MORE, LESS], [LESS, MORE]]]))
    assert not list(attention.parameters()), "nothing to learn yet"


def test_step_two_queries_and_keys_are_projected():
    words = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    attention = Attention(ProjectedDot(2, 2, width=1))
    with torch.no_grad():
        attention.score.query_weight.copy_(torch.tensor([[1.0, 2.0]]))
        attention.score.key_weight.copy_(torch.tensor([[0.0, 1.0]]))
    # queries 1 and 2, keys 0 and 1: scores [[0, 1], [0, 2]]
    sure = math.exp(2) / (math.exp(2) + 1)
    attended = attention(words, attention.bank(words))
    assert_close(attended.context, torch.tensor([[[LESS, MORE], [1 - sure, sure]]]))


def test_step_three_queries_keys_and_values_are_projected():
    words = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    attention = MultiHead(Attention(ScaledDot(2, 2, heads=1)), 2)
    root = math.sqrt(2)  # undoes the division by the root of the width
    with torch.no_grad():
        attention.query.weight.copy_(root * torch.tensor([[1.0, 2.0], [0.0, 0.0]]))
        attention.key.weight.copy_(torch.tensor([[0.0, 1.0], [5.0, 5.0]]))
        attention.value.weight.copy_(torch.tensor([[10.0, 0.0], [0.0, 20.0]]))
        attention.output.weight.copy_(torch.eye(2))
    sure = math.exp(2) / (math.exp(2) + 1)
    attended = attention(words, attention.bank(words))
    assert_close(attended.context, torch.tensor([[[10 * LESS, 20 * MORE], [10 * (1 - sure), 20 * sure]]]))


def test_heads_look_apart_and_are_joined_in_order():
    """The first head reads entry 0, the second entry 1; each value passes through."""
    words = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    attention = MultiHead(Attention(DotScore(1, 1, heads=2)), 2)
    with torch.no_grad():
        for layer in (attention.query, attention.key, attention.value, attention.output):
            layer.weight.copy_(torch.eye(2))
    tape = Tape()
    context = attention(words, attention.bank(words), tape=tape).context
    assert_close(tape["attention"][0, 0], torch.tensor([[MORE, LESS], [0.5, 0.5]]))
    assert_close(tape["attention"][0, 1], torch.tensor([[0.5, 0.5], [LESS, MORE]]))
    assert_close(context, torch.tensor([[[MORE, 0.5], [0.5, MORE]]]))


def test_rotation_reaches_queries_and_keys_with_their_positions_but_not_values():
    calls = []

    def rotate(split, positions):
        calls.append((tuple(split.shape), positions))
        return 2 * split

    plain = MultiHead(Attention(DotScore(2, 2, heads=2)), 4)
    turned = MultiHead(Attention(DotScore(2, 2, heads=2)), 4, rotate=rotate)
    turned.load_state_dict(plain.state_dict())
    query, source, positions = torch.randn(1, 1, 4), torch.randn(1, 3, 4), torch.tensor([[5]])
    got = turned(query, turned.bank(source), positions=positions).context
    assert calls == [((1, 2, 3, 2), None), ((1, 2, 1, 2), positions)]
    with torch.no_grad():
        plain.query.weight *= 4
    assert_close(got, plain(query, plain.bank(source)).context)


@pytest.mark.parametrize("heads", [None, 2])
def test_dropout_thins_out_weights_in_training_only(heads):
    score = DotScore(4, 4) if heads is None else DotScore(2, 2, heads=heads)
    attention = Attention(score, dropout=0.5)
    lead = () if heads is None else (heads,)
    query, keys = torch.zeros(1, *lead, 1, score.query_width), torch.zeros(1, *lead, 4000, score.key_width)
    bank = attention.bank(keys, torch.ones(1, *lead, 4000, 1))
    for tape in (None, Tape()):
        context = attention.train()(query, bank, tape=tape).context
        assert (context != 1).all(), "half of the weights are gone, the others count double"
        assert_close(context, torch.ones_like(context), atol=0.1, rtol=0)
        assert_close(attention.eval()(query, bank, tape=tape).context, torch.ones_like(context), atol=1e-4, rtol=0)
    assert_close(tape["attention"].sum(-1), torch.ones_like(tape["attention"].sum(-1)))

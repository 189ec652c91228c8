"""The hierarchical encoder-decoder by hand: Serban et al. 2016, and attention as a product of two softmaxes."""

import math

import torch
from torch.testing import assert_close

from helpers.models import loud, tiny
from saccade.attention import Tape
from saccade.batch import BOS, EOS, Batch

DIALOGUES = [[BOS, 4, 5, 6, EOS, 7, 8, BOS, 9, EOS], [EOS, 10, EOS]]
TARGETS = [[5, 6], [7, 4, 4]]
TURNS = [[[0, 1, 2, 3], [4, 5, 6], [7, 8], [9]], [[0, 1], [2]]]
"""The positions of each turn."""


def softmax(numbers: list[float]) -> list[float]:
    total = sum(map(math.exp, numbers))
    return [math.exp(number) / total for number in numbers]


def gru(cell, inputs: torch.Tensor) -> list[torch.Tensor]:
    """States after each input (T, D), by torch's own equations written out."""
    rnn, state, states = cell.rnn, torch.zeros(cell.rnn.hidden_size).double(), []
    for x in inputs:
        own = (rnn.weight_ih_l0 @ x + rnn.bias_ih_l0).chunk(3)
        old = (rnn.weight_hh_l0 @ state + rnn.bias_hh_l0).chunk(3)
        reset, update = torch.sigmoid(own[0] + old[0]), torch.sigmoid(own[1] + old[1])
        state = (1 - update) * torch.tanh(own[2] + reset * old[2]) + update * state
        states.append(state)
    return states


@torch.no_grad()
def test_encoder_and_attention_by_hand():
    encoder, turns = {"width": 4, "bidirectional": False}, {"width": 5}
    model = loud(tiny("hred-attention", encoder=encoder, turns=turns, decoder={"width": 8}).double())
    batch, tape = Batch.from_lists(DIALOGUES, TARGETS), Tape()
    memory = model.encode(batch)
    model(batch, tape=tape)
    (words,), (above,) = model.encoder.words.layers.at(0), model.encoder.turns.layers.at(0)
    for row, places in enumerate(TURNS):
        embedded = model.source_embedding.weight[batch.source[row]]
        read = [gru(words, embedded[turn]) for turn in places]
        states = gru(above, torch.stack([turn[-1] for turn in read]))
        wanted = [torch.cat([word, state]) for turn, state in zip(read, states, strict=True) for word in turn]
        assert_close(memory.bank.values[row, : len(wanted)], torch.stack(wanted))
        first = torch.tanh(
            model.first_state.layer.weight @ torch.cat([read[-1][-1], states[-1]]) + model.first_state.layer.bias
        )
        assert_close(memory.start[row, 0], first)
        weights = by_hand(model.attention, first, wanted, states, places)
        assert_close(tape["attention"][row, 0, 0, : len(wanted)], torch.tensor(weights).double())


def by_hand(attention, query, annotations, states, places) -> list[float]:
    """w[s] of each word in its turn, times b of the turn."""

    def additive(score, key) -> float:
        return float(score.v[0] @ torch.tanh(score.query_weight @ query + score.key_weight @ key))

    between = softmax([additive(attention.turn_score, state) for state in states])
    weights = [0.0] * len(annotations)
    for turn, share in zip(places, between, strict=True):
        for place, within in zip(turn, softmax([additive(attention.score, annotations[s]) for s in turn]), strict=True):
            weights[place] = share * within
    assert math.isclose(sum(weights), 1.0)
    return weights


@torch.no_grad()
def test_hred_sees_a_dialogue_through_its_last_turn_state_alone():
    model = loud(tiny("hred").double())
    batch = Batch.from_lists(DIALOGUES, TARGETS)
    memory, tape = model.encode(batch), Tape()
    model(batch, tape=tape)
    assert memory.bank is None
    assert len(tape) == 0
    assert model.source_sites == []
    longer = Batch.from_lists([[BOS, 9, *DIALOGUES[0]], DIALOGUES[1]], TARGETS)
    assert not torch.allclose(model.encode(longer).summary[0], memory.summary[0])  # the oldest turn still counts
    assert_close(model.encode(longer).summary[1], memory.summary[1])


@torch.no_grad()
def test_words_of_a_turn_do_not_depend_on_other_turns():
    model = loud(tiny("hred-attention").double())
    batch = Batch.from_lists([[BOS, 4, 5, EOS, 7], [BOS, 9, 9, EOS, 7]], TARGETS)
    width = model.encoder.words.width
    one, other = model.encode(batch).bank.values
    assert_close(one[3:, :width], other[3:, :width])
    assert not torch.allclose(one[3:, width:], other[3:, width:])  # but the turn does

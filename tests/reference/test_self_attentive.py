"""SimpleRNN + self-attention, by the lecture's equations: c replaces h in the recurrence, the sum includes i = t."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from helpers.models import loud
from helpers.papers import lstm, reset_first_gru
from saccade.attention import Attention, Score, Tape, build_attention
from saccade.batch import Batch
from saccade.layers.self_attentive import SelfAttentiveRNN
from saccade.models import build_language_model

E, D = 3, 4


class Even(Score):
    """Every key scores the same."""

    def forward(self, query: Tensor, keys: Tensor, past: object = None) -> Tensor:
        return query.new_zeros(*query.shape[:-1], keys.shape[-2])


def rnn_of(score: str | Score = "concat", **options: object) -> SelfAttentiveRNN:
    attention = build_attention(score, D, D) if isinstance(score, str) else Attention(score)
    return loud(SelfAttentiveRNN(attention, E, D, **options).double())


def tanh_step(rnn: SelfAttentiveRNN, x: Tensor, c: Tensor) -> Tensor:
    """h = tanh(A [x ; c] + b)."""
    W, U, b, bh = rnn.cell.rnn.all_weights[0]
    return torch.tanh(torch.cat([W, U], 1) @ torch.cat([x, c]) + b + bh)


def look_back(rnn: SelfAttentiveRNN, states: list[Tensor]) -> tuple[Tensor, Tensor]:
    """c_t and α_t from h_1..h_t, with align (a) v·tanh(W [h_i ; h_t]) or (b) (W_K h_i)·(W_Q h_t)."""
    score, h = rnn.attention.score, states[-1]
    if hasattr(score, "v"):
        W = torch.cat([score.key_weight, score.query_weight], 1)
        e = torch.stack([score.v[0] @ torch.tanh(W @ torch.cat([h_i, h])) for h_i in states])
    else:
        e = torch.stack([(score.key_weight @ h_i) @ (score.query_weight @ h) for h_i in states])
    alpha = torch.softmax(e, 0)
    return sum(a * h_i for a, h_i in zip(alpha, states, strict=True)), alpha


@pytest.mark.parametrize("keep_state", [False, True])
@pytest.mark.parametrize("score", ["concat", "projected-dot"])
def test_it_is_the_lectures_recurrence(score: str, keep_state: bool):
    rnn, tape = rnn_of(score, keep_state=keep_state), Tape()
    inputs = torch.randn(2, 6, E, dtype=torch.float64)
    outputs = rnn(inputs, tape=tape)
    for row in range(2):
        c = h = torch.zeros(D, dtype=torch.float64)
        states: list[Tensor] = []
        for t, x in enumerate(inputs[row]):
            h = tanh_step(rnn, torch.cat([x, h]) if keep_state else x, c)
            states.append(h)
            c, alpha = look_back(rnn, states)
            assert_close(outputs[row, t], torch.cat([h, c]))
            assert_close(tape["attention"][row, 0, t, : t + 1], alpha)
            assert (tape["attention"][row, 0, t, t + 1 :] == 0).all()


def test_the_first_context_is_the_first_state_so_the_second_step_is_a_simple_rnns():
    rnn = rnn_of()
    simple = torch.nn.RNN(E, D, batch_first=True).double()
    simple.load_state_dict({name: p.clone() for name, p in rnn.cell.rnn.named_parameters()})
    inputs = torch.randn(5, 3, E, dtype=torch.float64)
    states, contexts = rnn(inputs).chunk(2, -1)
    assert_close(contexts[:, 0], states[:, 0])
    assert_close(states[:, :2], simple(inputs)[0][:, :2])
    assert (states[:, 2] - simple(inputs)[0][:, 2]).abs().max() > 1e-3


def test_even_weights_make_the_context_the_running_mean_of_the_states():
    states, contexts = rnn_of(Even(D, D))(torch.randn(3, 7, E, dtype=torch.float64)).chunk(2, -1)
    assert_close(contexts, states.cumsum(1) / torch.arange(1, 8)[:, None])


def test_an_lstm_gets_the_context_for_its_hidden_state_and_keeps_its_memory():
    rnn = rnn_of(cell="lstm")
    inputs = torch.randn(6, E, dtype=torch.float64)
    outputs = rnn(inputs[None])[0]
    context = memory = torch.zeros(D, dtype=torch.float64)
    states: list[Tensor] = []
    for t, x in enumerate(inputs):
        h, memory = lstm(rnn.cell, x, context, memory)
        states.append(h)
        context, _ = look_back(rnn, states)
        assert_close(outputs[t], torch.cat([h, context]))


@pytest.mark.parametrize(("cell", "z_takes_new"), [("gru-bahdanau", True), ("gru-cho", False)])
def test_a_gru_gets_the_context_for_its_hidden_state(cell: str, z_takes_new: bool):
    rnn = rnn_of(cell=cell)
    inputs = torch.randn(6, E, dtype=torch.float64)
    outputs = rnn(inputs[None])[0]
    context = torch.zeros(D, dtype=torch.float64)
    states: list[Tensor] = []
    for t, x in enumerate(inputs):
        states.append(reset_first_gru(rnn.cell, x, context, z_takes_new=z_takes_new))
        context, _ = look_back(rnn, states)
        assert_close(outputs[t], torch.cat([states[-1], context]))


def test_the_output_is_the_state_the_context_or_both():
    both = rnn_of()
    inputs = torch.randn(2, 5, E, dtype=torch.float64)
    for output, wanted in zip(("state", "context"), both(inputs).chunk(2, -1), strict=True):
        one = rnn_of(output=output)
        one.load_state_dict(both.state_dict())
        assert one.width == D
        assert_close(one(inputs), wanted)


def test_the_preset_predicts_from_state_and_context_of_the_lectures_rnn():
    model = loud(build_language_model("self-attentive-rnn", 11, embedding=E, width=D).double())
    tokens = torch.tensor([1, 7, 4, 9])
    outputs = rnn_of()
    outputs.load_state_dict(model.reader.state_dict())
    wanted = outputs(model.embedding.weight[tokens][None]) @ model.output.weight.T + model.output.bias
    memory = model.encode(Batch.blank(1))
    assert_close(model.extend(memory, model.init_state(memory, 4), tokens[None])[0], wanted)

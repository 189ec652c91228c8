"""RNNsearch, equation by equation: Bahdanau et al. 2015, appendix A."""

import pytest
import torch
from torch import Tensor, nn

from helpers.models import loud, tiny
from helpers.papers import compare_with_paper, reset_first_gru
from saccade.batch import Batch
from saccade.models import Seq2Seq


def annotations(model: nn.Module, source: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Forward states in the order they are read, backward states at the places of their words."""
    forward_cell, backward_cell = model.encoder.layers[0]
    words = [model.source_embedding.weight[token] for token in source]
    ahead, back = [], []
    h = torch.zeros_like(forward_cell.weight_hh[0])
    for x in words:
        h = reset_first_gru(forward_cell, x, h, z_takes_new=True)
        ahead.append(h)
    h = torch.zeros_like(h)
    for x in reversed(words):
        h = reset_first_gru(backward_cell, x, h, z_takes_new=True)
        back.insert(0, h)
    return ahead, back


def by_hand(model: nn.Module, source: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    ahead, back = annotations(model, source)
    h = [torch.cat(pair) for pair in zip(ahead, back, strict=True)]
    Wa, Ua, va = model.attention.score.query_weight, model.attention.score.key_weight, model.attention.score.v[0]
    n, m = len(ahead[0]), model.target_embedding.embedding_dim
    Uo, Co, Vo = model.readout.layer.weight.split([n, 2 * n, m], 1)
    Ws = model.first_state.layer
    s = torch.tanh(Ws.weight @ back[0] + Ws.bias)
    logits, weights = [], []
    for token in inputs:
        y = model.target_embedding.weight[token]
        e = torch.stack([va @ torch.tanh(Wa @ s + Ua @ h_j) for h_j in h])
        alpha = e.exp() / e.exp().sum()
        c = sum(a * h_j for a, h_j in zip(alpha, h, strict=True))
        t = Uo @ s + Vo @ y + Co @ c + model.readout.layer.bias  # the state before this word
        t = torch.stack([max(t[2 * k], t[2 * k + 1]) for k in range(len(t) // 2)])
        logits.append(model.output.weight @ t + model.output.bias)
        weights.append(alpha)
        s = reset_first_gru(model.cells.cells[0], torch.cat([y, c]), s, z_takes_new=True)
    return torch.stack(logits), torch.stack(weights)


@pytest.fixture(scope="module")
def model() -> Seq2Seq:
    torch.manual_seed(5)
    return loud(tiny("bahdanau").double())


def test_bahdanau_is_the_appendix(model: Seq2Seq):
    compare_with_paper(model, lambda source, inputs: by_hand(model, source, inputs))


def test_the_first_state_knows_the_backward_state_of_the_first_word_alone(model: Seq2Seq):
    _, back = annotations(model, torch.tensor([5, 9, 4]))
    batch = Batch.from_lists([[5, 9, 4]])
    layer = model.first_state.layer
    torch.testing.assert_close(model.encode(batch).start[0, 0], torch.tanh(layer.weight @ back[0] + layer.bias))


def test_the_fixed_vector_model_has_the_last_forward_state_as_context():
    """RNNencdec: c_i = h→_{T_x} for all i."""
    decoder = {"width": 8, "output_width": 5, "fixed_context": True, "initial_state": "project"}
    encoder = {"width": 8, "bidirectional": False}
    model = loud(tiny("bahdanau", attention=None, encoder=encoder, decoder=decoder).double())
    cell, target = model.encoder.layers[0][0], model.cells.cells[0]

    def fixed(source: Tensor, inputs: Tensor) -> tuple[Tensor, None]:
        c = torch.zeros(8, dtype=torch.float64)
        for token in source:
            c = reset_first_gru(cell, model.source_embedding.weight[token], c, z_takes_new=True)
        s = torch.tanh(model.first_state.layer.weight @ c + model.first_state.layer.bias)
        logits = []
        for token in inputs:
            y = model.target_embedding.weight[token]
            t = model.readout.layer.weight @ torch.cat([s, c, y]) + model.readout.layer.bias
            logits.append(model.output.weight @ t.view(-1, 2).max(1).values + model.output.bias)
            s = reset_first_gru(target, torch.cat([y, c]), s, z_takes_new=True)
        return torch.stack(logits), None

    compare_with_paper(model, fixed)

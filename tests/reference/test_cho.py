"""The RNN encoder-decoder, equation by equation: Cho et al. 2014, section 2."""

import torch
from torch import Tensor

from helpers.models import loud, tiny
from helpers.papers import compare_with_paper, reset_first_gru


def test_cho_is_the_paper():
    """The summary c is the last state; it starts the decoder, and enters every step and the output."""
    model = loud(tiny("cho").double())
    encoder, decoder, start = model.encoder.layers[0][0], model.cells.cells[0], model.first_state.layer
    n, m = 8, 6
    on_state, on_summary, on_word = model.readout.layer.weight.split([n, n, m], 1)

    def by_hand(source: Tensor, inputs: Tensor) -> tuple[Tensor, None]:
        c = torch.zeros(n, dtype=torch.float64)
        for token in source:
            c = reset_first_gru(encoder, model.source_embedding.weight[token], c, z_takes_new=False)
        h = torch.tanh(start.weight @ c + start.bias)
        logits = []
        for token in inputs:
            y = model.target_embedding.weight[token]
            h = reset_first_gru(decoder, torch.cat([y, c]), h, z_takes_new=False)
            s = on_state @ h + on_word @ y + on_summary @ c + model.readout.layer.bias
            s = torch.stack([max(s[2 * k], s[2 * k + 1]) for k in range(5)])
            logits.append(model.output.weight @ s + model.output.bias)
        return torch.stack(logits), None

    compare_with_paper(model, by_hand)

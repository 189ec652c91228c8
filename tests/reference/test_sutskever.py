"""Sequence to sequence, step by step: Sutskever et al. 2014, section 3."""

import pytest
import torch
from torch import Tensor

from helpers.models import loud, tiny
from helpers.papers import compare_with_paper, lstm


@pytest.mark.parametrize("reverse", [True, False])
def test_sutskever_reads_the_source_backwards_and_hands_over_the_states_of_all_layers(reverse: bool):
    model = loud(tiny("sutskever", encoder={"width": 8, "layers": 2, "reverse": reverse}).double())

    def by_hand(source: Tensor, inputs: Tensor) -> tuple[Tensor, None]:
        layers = [[torch.zeros(8, dtype=torch.float64)] * 2 for _ in range(2)]

        def read(x: Tensor, cells: list) -> Tensor:
            for number, cell in enumerate(cells):
                layers[number] = lstm(cell, x, *layers[number])
                x = layers[number][0]
            return x

        for token in source.flip(0) if reverse else source:
            read(model.source_embedding.weight[token], [layer[0] for layer in model.encoder.layers])
        tops = [read(model.target_embedding.weight[token], list(model.cells.cells)) for token in inputs]
        return torch.stack([model.output.weight @ top + model.output.bias for top in tops]), None

    compare_with_paper(model, by_hand)


def test_encoder_and_decoder_share_no_weights():
    model = tiny("sutskever")
    inside = {id(parameter) for parameter in model.encoder.parameters()}
    assert not inside & {id(parameter) for parameter in model.cells.parameters()}
    assert model.source_embedding.weight is not model.target_embedding.weight

"""Causal layers: stacked, with and without skip connections from the words."""

import pytest
import torch

from helpers.models import form_of, loud, same
from saccade.attention import Tape, build_attention, name_sites
from saccade.errors import ShapeError
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import CausalLayer, PlainReader, StackedReader
from saccade.layers.lstmn import LSTMN
from saccade.layers.self_attentive import SelfAttentiveRNN

E, D = 3, 4


def stack(*, skip: bool) -> StackedReader:
    upper = D + E if skip else D
    return loud(
        StackedReader(
            [
                PlainReader("gru", E, D),
                SelfAttentiveRNN(build_attention("concat", D, D), upper, D, output="state"),
                LSTMN(build_attention("additive", upper + D, D, 2 * D), upper, D),
            ],
            skip=skip,
        )
    )


@pytest.mark.parametrize("skip", [False, True])
def test_upper_readers_read_the_lower_and_with_skip_the_words_too(skip: bool):
    reader, inputs = stack(skip=skip), torch.randn(2, 5, E)
    outputs = inputs
    for number, layer in enumerate(reader.layers):
        outputs = layer(torch.cat([outputs, inputs], -1) if skip and number else outputs)
    same(reader(inputs), outputs)
    assert (reader.input_width, reader.width) == (E, D)


@pytest.mark.parametrize("skip", [False, True])
def test_a_stacks_forward_is_its_steps(skip: bool):
    reader, inputs = stack(skip=skip), torch.randn(2, 5, E)
    name_sites(reader)
    whole, steps = Tape(), Tape()
    outputs = reader(inputs, tape=whole)
    same(CausalLayer.forward(reader, inputs, tape=steps), outputs)
    assert set(whole) == set(steps) == {"layers.1.attention", "layers.2.attention"}
    for site in whole:
        same(steps[site], whole[site])
    state = reader.start(2, 5, inputs)
    assert form_of(reader.step(inputs[:, 0], state)[1]) == form_of(reader.start(2, 5, inputs))


def test_dropout_between_readers_is_only_in_training():
    reader = StackedReader([PlainReader("gru", E, D), PlainReader("gru", D, D)], dropout=Dropout(0.9))
    inputs = torch.randn(1, 6, E)
    assert not torch.equal(reader.train()(inputs), reader(inputs))
    assert torch.equal(reader.eval()(inputs), reader(inputs))


def test_an_lstmn_refuses_many_steps_of_another_width():
    layer = LSTMN(build_attention("additive", E + D, D, 2 * D), E, D)
    state = layer.start(2, 3, torch.zeros(2, E))
    with pytest.raises(ShapeError, match=rf"inputs are \(2, 3, {E + 1}\), but this layer reads \(B, T, {E}\)"):
        layer.extend(torch.zeros(2, 3, E + 1), state)

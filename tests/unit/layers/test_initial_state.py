"""Initial states of a decoder, computed by hand."""

import pytest
import torch
from torch.testing import assert_close

from helpers.models import loud, same
from saccade import masks
from saccade.layers.cells import CellStack
from saccade.layers.encoder import EncoderOutput, RecurrentEncoder
from saccade.layers.initial_state import INITIAL_STATES, build_initial_state

E, D = 3, 4
MASK = masks.padding(torch.tensor([3, 1]))


def parts(cell: str = "lstm", layers: int = 2, bidirectional: bool = True) -> tuple[RecurrentEncoder, CellStack]:
    width = 2 * D if bidirectional else D
    return RecurrentEncoder(cell, E, D, layers, bidirectional=bidirectional), CellStack(cell, E, width, layers)


@pytest.mark.parametrize("cell", ["gru", "lstm", "gru-cho"])
@pytest.mark.parametrize("name", INITIAL_STATES)
def test_every_start_gives_one_state_a_layer(name: str, cell: str):
    encoder, decoder = parts(cell)
    state = build_initial_state(name, encoder, decoder)(encoder(torch.randn(2, 3, E), MASK), MASK)
    assert state.shape == (2, 2, decoder.state_width)
    assert (state == 0).all() == (name == "zero")


def test_final_keeps_hidden_states_and_memories_together_across_directions():
    encoder, decoder = parts("lstm", layers=1)
    finals = torch.arange(16.0).view(1, 1, 2, 8)  # forward h 0-3, c 4-7; backward h 8-11, c 12-15
    reading = EncoderOutput(torch.zeros(1, 1, 8), torch.zeros(1, 8), finals)
    state = build_initial_state("final", encoder, decoder)(reading, MASK[:1])
    assert state.flatten().tolist() == [0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15]


def test_final_hands_every_layers_state_over_as_it_is():
    encoder, decoder = parts("gru", layers=2, bidirectional=False)
    reading = encoder(torch.randn(2, 3, E), MASK)
    assert_close(build_initial_state("final", encoder, decoder)(reading, MASK), reading.finals[:, :, 0])


@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("project", lambda reading: reading.finals.flatten(1)),
        ("first-backward", lambda reading: reading.annotations[:, 0, D:]),
        ("mean", lambda r: torch.stack([r.annotations[0].mean(0), r.annotations[1, 0]])),
        ("last", lambda r: torch.cat([r.annotations[(0, 1), (2, 0), :D], r.annotations[:, 0, D:]], -1)),
    ],
)
def test_the_others_are_a_tanh_layer_on_what_their_name_says(name: str, summary):
    encoder, decoder = parts("gru")
    start, reading = loud(build_initial_state(name, encoder, decoder)), encoder(torch.randn(2, 3, E), MASK)
    wanted = torch.tanh(summary(reading) @ start.layer.weight.T + start.layer.bias)
    same(start(reading, MASK).flatten(1), wanted)


def test_last_of_a_reversed_encoder_is_at_the_first_word():
    encoder, decoder = RecurrentEncoder("gru", E, D, reverse=True), CellStack("gru", E, D)
    start, reading = build_initial_state("last", encoder, decoder), encoder(torch.randn(2, 3, E), MASK)
    same(start(reading, MASK)[:, 0], torch.tanh(start.layer(reading.annotations[:, 0])))

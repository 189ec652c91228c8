"""Recurrent encoders: annotations are in input order, for every reading direction."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from helpers.models import loud, same
from saccade import masks
from saccade.attention import build_attention
from saccade.layers.cells import CELLS
from saccade.layers.encoder import ReaderEncoder, RecurrentEncoder
from saccade.layers.self_attentive import SelfAttentiveRNN

E, D = 3, 4
MASK = masks.padding(torch.tensor([5, 2, 1]))
each_cell = pytest.mark.parametrize("cell", CELLS)


def words() -> Tensor:
    return torch.randn(3, 5, E)


def twin(encoder: RecurrentEncoder, way: int, *, reverse: bool, cell: str) -> RecurrentEncoder:
    """One direction of a single layer as an encoder of its own."""
    alone = RecurrentEncoder(cell, E, D, reverse=reverse)
    alone.layers[0][0].load_state_dict(encoder.layers[0][way].state_dict())
    return alone


@each_cell
def test_both_directions_are_two_encoders_side_by_side(cell: str):
    encoder, inputs = loud(RecurrentEncoder(cell, E, D, bidirectional=True)), words()
    reading = encoder(inputs, MASK)
    halves = reading.annotations.chunk(2, -1)
    for way, half in enumerate(halves):
        alone = twin(encoder, way, reverse=way == 1, cell=cell)(inputs, MASK)
        same(half[MASK], alone.annotations[MASK])
        same(reading.finals[:, :, way], alone.finals[:, :, 0])
        same(reading.last.chunk(2, -1)[way], alone.last)


@each_cell
def test_a_reversed_encoder_reads_from_the_end_and_leaves_annotations_at_their_words(cell: str):
    backward = loud(RecurrentEncoder(cell, E, D, 2, reverse=True))
    forward = RecurrentEncoder(cell, E, D, 2)
    forward.load_state_dict(backward.state_dict())
    inputs = words()
    for row, length in enumerate((5, 2, 1)):
        sentence = inputs[row : row + 1, :length]
        mirrored = forward(sentence.flip(1), MASK[row : row + 1, :length])
        reading = backward(inputs, MASK)
        same(reading.annotations[row, :length], mirrored.annotations[0].flip(0))
        same(reading.finals[row], mirrored.finals[0])


def sees(encoder: RecurrentEncoder, inputs: Tensor) -> Tensor:
    """(S, S): whether the annotation at s changes with the word at s'."""
    mask = torch.ones(1, inputs.shape[1], dtype=torch.bool)
    jacobian = torch.autograd.functional.jacobian(lambda x: encoder(x, mask).annotations.sum(-1)[0], inputs)
    return jacobian[:, 0].abs().sum(-1) > 0


def test_an_annotation_has_read_what_comes_before_it_or_after_it_or_everything():
    inputs, everything = torch.randn(1, 4, E), torch.ones(4, 4, dtype=torch.bool)
    assert torch.equal(sees(RecurrentEncoder("gru", E, D), inputs), everything.tril())
    assert torch.equal(sees(RecurrentEncoder("gru", E, D, reverse=True), inputs), everything.triu())
    assert torch.equal(sees(RecurrentEncoder("gru", E, D, bidirectional=True), inputs), everything)


@each_cell
@pytest.mark.parametrize("options", [{}, {"reverse": True}, {"bidirectional": True}], ids=str)
def test_last_and_finals_have_read_each_sentence_to_its_end(cell: str, options: dict[str, bool]):
    encoder, inputs = loud(RecurrentEncoder(cell, E, D, 2, **options)), words()
    reading = encoder(inputs, MASK)
    assert reading.finals.shape == (3, 2, len(encoder.backwards), encoder.state_width)
    same(reading.last, reading.finals[:, -1, :, :D].flatten(1))
    for row, length in enumerate((5, 2, 1)):
        alone = encoder(inputs[row : row + 1, :length], MASK[row : row + 1, :length])
        same(reading.last[row], alone.last[0])
        same(reading.finals[row], alone.finals[0])
    shaken = inputs.clone()
    shaken[:, 0] += 1.0  # the first word reaches the end of every sentence, forwards or backwards
    assert ((encoder(shaken, MASK).last - reading.last).abs().amax(-1) > 1e-4).all()


def test_upper_layers_read_both_directions_of_the_lower_and_residual_adds_their_input():
    plain = loud(RecurrentEncoder("gru", E, D, 2, bidirectional=True))
    added = RecurrentEncoder("gru", E, D, 2, bidirectional=True, residual=True)
    added.load_state_dict(plain.state_dict())
    lower = RecurrentEncoder("gru", E, D, 1, bidirectional=True)
    lower.layers.load_state_dict(plain.layers[:1].state_dict())
    inputs = words()
    below = lower(inputs, MASK).annotations
    same(added(inputs, MASK).annotations[MASK], (plain(inputs, MASK).annotations + below)[MASK])
    assert plain.layers[1][0].input_width == 2 * D


def test_only_the_lowest_layers_read_both_ways_where_that_is_asked_for():
    encoder = loud(
        RecurrentEncoder("lstm", E, D, 3, bidirectional=True, bidirectional_layers=1, residual=True, residual_from=3)
    )
    lowest = RecurrentEncoder("lstm", E, D, 1, bidirectional=True)
    lowest.layers.load_state_dict(encoder.layers[:1].state_dict())
    upper = RecurrentEncoder("lstm", 2 * D, D, 2, residual=True)
    upper.layers.load_state_dict(encoder.layers[1:].state_dict())
    inputs = words()
    reading, wanted = encoder(inputs, MASK), upper(lowest(inputs, MASK).annotations, MASK)
    assert (encoder.width, reading.finals) == (D, None)
    same(reading.annotations[MASK], wanted.annotations[MASK])
    same(reading.last, wanted.last)


def test_a_reader_is_an_encoder_whose_last_annotation_is_the_last_words():
    reader = loud(SelfAttentiveRNN(build_attention("concat", D, D), E, D))
    inputs = words()
    reading = ReaderEncoder(reader)(inputs, MASK)
    assert_close(reading.annotations, reader(inputs))
    assert_close(reading.last, torch.stack([reading.annotations[row, end] for row, end in enumerate((4, 1, 0))]))
    assert reading.finals is None

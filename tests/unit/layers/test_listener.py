"""Encoders of speech: pairs, lengths and masks; and that padding never reaches an annotation."""

import math

import pytest
import torch

from saccade import masks
from saccade.layers.encoder import RecurrentEncoder
from saccade.layers.listener import Pyramid, Subsampled, Subsampling, halved

WIDTH = 7


def encoder(kind):
    torch.manual_seed(0)
    if kind == "convolution":
        inner = RecurrentEncoder("lstm", 6, 5, 1, bidirectional=True)
        return Subsampled(Subsampling(WIDTH, 6, 3), inner)
    factor = int(kind)
    return Pyramid("gru" if factor == 2 else "lstm", WIDTH, 5, 3, factor)


KINDS = ["1", "2", "4", "8", "convolution"]


def test_pairs_are_concatenated_and_an_odd_one_is_completed_by_zeros():
    frames = torch.arange(12.0).view(2, 3, 2) + 1
    pairs, mask = halved(frames, masks.padding(torch.tensor([3, 2])))
    assert pairs.tolist() == [[[1, 2, 3, 4], [5, 6, 0, 0]], [[7, 8, 9, 10], [0, 0, 0, 0]]]
    assert mask.tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 5, 8, 13])
def test_a_recording_alone_and_in_a_batch_are_encoded_the_same(kind, length):
    made = encoder(kind).eval()
    lengths = torch.tensor([length, 16, 3])
    frames, mask = torch.randn(3, 16, WIDTH), masks.padding(lengths)
    frames[~mask] = 1e3  # padding is anything
    together, keys = made.listen(frames, mask)
    alone, own = made.listen(frames[:1, :length], mask[:1, :length])
    count = math.ceil(length / made.factor)
    assert own.sum() == keys[0].sum() == count == own.shape[1]
    torch.testing.assert_close(together.annotations[0, :count], alone.annotations[0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(together.last[0], alone.last[0], atol=1e-5, rtol=1e-5)
    assert torch.equal(keys, made.keys(mask))


@pytest.mark.parametrize("kind", KINDS)
def test_no_gradient_reaches_padding(kind):
    made = encoder(kind)
    mask = masks.padding(torch.tensor([5, 12]))
    frames = torch.randn(2, 12, WIDTH, requires_grad=True)
    encoded, keys = made.listen(frames, mask)
    encoded.annotations[keys].sum().backward()
    assert not frames.grad[~mask].any()
    assert frames.grad[mask].any(1).all()


def test_the_pyramid_is_the_equation_of_the_paper():
    """h_j[i] = pBLSTM([h_{j-1}[2i] ; h_{j-1}[2i+1]]), by torch's own LSTM."""
    made = Pyramid("lstm", WIDTH, 5, 2, 2).eval()
    frames = torch.randn(1, 6, WIDTH)

    def blstm(layer, inputs):
        forward, backward = layer.layers.at(0)
        one, _ = forward.sequence(inputs, torch.zeros(1, 10))
        other, _ = backward.sequence(inputs.flip(1), torch.zeros(1, 10))
        return torch.cat([one, other.flip(1)], -1)

    below = blstm(made.layers.at(0), frames)
    pairs = torch.stack([torch.cat([below[0, 2 * i], below[0, 2 * i + 1]]) for i in range(3)])[None]
    found, _ = made.listen(frames, torch.ones(1, 6, dtype=torch.bool))
    torch.testing.assert_close(found.annotations, blstm(made.layers.at(1), pairs))


def test_a_key_of_the_convolution_reads_around_its_own_frames():
    made = Subsampling(8, 4, 3)
    frames = torch.randn(1, 40, 8, requires_grad=True)
    out, _ = made(frames, torch.ones(1, 40, dtype=torch.bool))
    out[0, 5].sum().backward()
    seen = frames.grad[0].any(1).nonzero().flatten()
    assert (int(seen.min()), int(seen.max())) == (17, 23)

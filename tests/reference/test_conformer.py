"""A Conformer layer against its equations as loops over numbers, with rotary positions, and its padding."""

import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from helpers.models import loud
from saccade import masks
from saccade.errors import ConfigError
from saccade.layers.conformer import ConformerEncoder, ConformerLayer, Convolution
from saccade.models import build_recognizer
from saccade.models.transformer import TransformerConfig

WIDTH, HEADS, INNER, KERNEL = 8, 2, 12, 3


def norm(x, module):
    rows = [(row - row.mean()) / math.sqrt(row.var() + module.eps) for row in x]
    return np.stack(rows) * module.weight.detach().numpy() + module.bias.detach().numpy()


def linear(x, module):
    return np.stack([module.weight.detach().numpy() @ row + module.bias.detach().numpy() for row in x])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def slow_feed_forward(x, parts):
    inner = linear(norm(x, parts[0]), parts[1])
    return linear(inner * sigmoid(inner), parts[4])


def slow_convolution(x, part):
    both = linear(norm(x, part.norm), part.gated)
    gated = both[:, :WIDTH] * sigmoid(both[:, WIDTH:])
    weight, bias = part.depthwise.weight.detach().numpy(), part.depthwise.bias.detach().numpy()
    heard = np.zeros_like(x)
    for t in range(len(x)):
        for channel in range(WIDTH):
            taps = [(k, t + k - KERNEL // 2) for k in range(KERNEL)]
            inside = [(k, place) for k, place in taps if 0 <= place < len(x)]
            heard[t, channel] = bias[channel] + sum(
                weight[channel, 0, k] * gated[place, channel] for k, place in inside
            )
    heard = norm(heard, part.between)
    return linear(heard * sigmoid(heard), part.output)


def turned(x):
    """Each pair of numbers (i, i + half) of the vector at position p, turned by the angle p / 10000^(2 i / width)."""
    half = x.shape[1] // 2
    out = np.empty_like(x)
    for position, row in enumerate(x):
        for i in range(half):
            angle = position / 10000 ** (i / half)
            one, two = row[i], row[i + half]
            out[position, i] = one * math.cos(angle) - two * math.sin(angle)
            out[position, i + half] = two * math.cos(angle) + one * math.sin(angle)
    return out


def slow_attention(x, part):
    queries, keys, values = (linear(x, getattr(part, name)) for name in ("query", "key", "value"))
    size, found = WIDTH // HEADS, []
    for head in range(HEADS):
        own = slice(head * size, (head + 1) * size)
        scores = turned(queries[:, own]) @ turned(keys[:, own]).T / math.sqrt(size)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        found.append(weights / weights.sum(1, keepdims=True) @ values[:, own])
    return linear(np.concatenate(found, 1), part.output)


def slow_layer(x, layer):
    x = x + 0.5 * slow_feed_forward(x, layer.first)
    x = x + slow_attention(norm(x, layer.norm_attention), layer.self_attention)
    x = x + slow_convolution(x, layer.convolution)
    return norm(x + 0.5 * slow_feed_forward(x, layer.second), layer.norm)


def built(layers=2):
    torch.manual_seed(3)
    config = TransformerConfig(
        width=WIDTH, feed_forward=INNER, layers=layers, dropout=0.0, positions="rotary",
        attention={"score": "scaled-dot", "heads": HEADS},
    )  # fmt: skip
    return loud(config.conformer_of_vectors(KERNEL).double()).eval()


def test_a_stack_of_layers_is_the_equations_of_the_paper():
    made = built()
    x = torch.randn(1, 6, WIDTH, dtype=torch.float64)
    expected = x[0].numpy()
    for layer in made.layers:
        assert isinstance(layer, ConformerLayer)
        expected = slow_layer(expected, layer)
    found = made(x, torch.ones(1, 6, dtype=torch.bool))
    np.testing.assert_allclose(
        found.annotations[0].detach().numpy(), expected, rtol=1e-5, atol=1e-6
    )  # rotary angles are float32
    assert_close(found.last[0], found.annotations[0, -1])


@pytest.mark.parametrize("length", [1, 2, 5])
def test_padding_changes_nothing(length):
    made = built()
    x, mask = torch.randn(2, 7, WIDTH, dtype=torch.float64), masks.padding(torch.tensor([length, 7]))
    x[~mask] = 1e3
    together, alone = made(x, mask), made(x[:1, :length], mask[:1, :length])
    assert_close(together.annotations[0, :length], alone.annotations[0])


def test_a_convolution_reads_as_far_as_its_kernel():
    torch.manual_seed(1)
    part = Convolution(WIDTH, 5).double()
    x = torch.randn(1, 9, WIDTH, dtype=torch.float64, requires_grad=True)
    part(x, torch.ones(1, 9, dtype=torch.bool))[0, 4].sum().backward()
    assert x.grad[0].any(1).tolist() == [2 <= place <= 6 for place in range(9)]


def test_a_listener_may_have_a_conformer():
    small = {"kind": "conformer", "width": 8, "heads": 2, "feed_forward": 6, "layers": 1, "channels": 2}
    model = build_recognizer("las", 12, 9, sound_encoder={**small, "kernel": 5}, decoder={"width": 6}, embedding=4)
    assert isinstance(model.encoder.inner, ConformerEncoder)
    with pytest.raises(ConfigError, match="kernel is 4, but must be odd"):
        build_recognizer("las", 12, 9, sound_encoder={**small, "kernel": 4}, decoder={"width": 6}, embedding=4)

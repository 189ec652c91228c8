"""GNMT, step by step: Wu et al. 2016, section 3, equations 4 to 7 and figure 1."""

import torch
from torch import Tensor, nn

from helpers.models import loud, tiny
from helpers.papers import compare_with_paper, lstm

WIDTH = 8


def zeros() -> tuple[Tensor, Tensor]:
    return torch.zeros(WIDTH, dtype=torch.float64), torch.zeros(WIDTH, dtype=torch.float64)


def read(cell: nn.Module, inputs: list[Tensor]) -> list[Tensor]:
    state, hiddens = zeros(), []
    for x in inputs:
        state = lstm(cell, x, *state)
        hiddens.append(state[0])
    return hiddens


def encoded(model: nn.Module, source: Tensor) -> list[Tensor]:
    """The lowest layer reads both ways; those above from left to right, with x added to m from the third on."""
    (ahead, back), *upper = model.encoder.layers
    words = [model.source_embedding.weight[token] for token in source]
    both = zip(read(ahead, words), reversed(read(back, words[::-1])), strict=True)
    x = [torch.cat(pair) for pair in both]
    for number, (cell,) in enumerate(upper, 2):
        m = read(cell, x)
        x = [a + b for a, b in zip(m, x, strict=True)] if number >= 3 else m
    return x


def by_hand(model: nn.Module, source: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
    h = encoded(model, source)
    Wa, Ua, va = model.attention.score.query_weight, model.attention.score.key_weight, model.attention.score.v[0]
    states = [zeros() for _ in model.cells.cells]
    logits, weights = [], []
    for token in inputs:
        y = states[0][0]  # the lowest layer's output of the step before
        e = torch.stack([va @ torch.tanh(Wa @ y + Ua @ h_j) for h_j in h])
        p = e.exp() / e.exp().sum()
        a = sum(weight * h_j for weight, h_j in zip(p, h, strict=True))
        x = model.target_embedding.weight[token]
        for number, cell in enumerate(model.cells.cells, 1):
            states[number - 1] = lstm(cell, torch.cat([x, a]), *states[number - 1])
            m = states[number - 1][0]
            x = m + x if number >= 3 else m
        logits.append(model.output.weight @ x + model.output.bias)
        weights.append(p)
    return torch.stack(logits), torch.stack(weights)


def test_gnmt_asks_with_the_lowest_layer_and_feeds_all():
    for layers in (1, 2, 4):
        sizes = {"width": WIDTH, "layers": layers}
        model = loud(tiny("gnmt", encoder=sizes, decoder=sizes).double())
        compare_with_paper(model, lambda source, inputs, model=model: by_hand(model, source, inputs))

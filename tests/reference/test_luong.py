"""Global and local attention, in the order h_t → a_t → c_t → h̃_t: Luong et al. 2015, section 3."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from helpers.models import loud, tiny
from helpers.papers import compare_with_paper, lstm

RADIUS = 2


def score_by_hand(score: nn.Module, name: str, h: Tensor, sources: list[Tensor]) -> Tensor:
    """e (S,) of the state h_t against the source states."""
    if name == "dot":
        return torch.stack([h @ source for source in sources])
    if name == "general":
        return torch.stack([h @ score.weight @ source for source in sources])
    if name == "concat":
        W = torch.cat([score.query_weight, score.key_weight], 1)
        return torch.stack([score.v[0] @ torch.tanh(W @ torch.cat([h, source])) for source in sources])
    return (score.weight @ h)[: len(sources)]  # location: cut to the sentence before the softmax


def align_by_hand(attention: nn.Module, window: str, radius: int, e: Tensor, h: Tensor, t: int) -> Tensor:
    """a_t (S,), with a window around p_t and, in local-p, the Gaussian on top of the softmax."""
    S = len(e)
    if window == "global":
        return torch.softmax(e, 0)
    p = torch.tensor(float(t))
    if window == "local-p":
        W, v = attention.window.weight, attention.window.v[0]
        p = S * torch.sigmoid(v @ torch.tanh(W @ h))
    inside = [s for s in range(S) if p - radius <= s <= p + radius]
    a = torch.zeros(S, dtype=e.dtype)
    if inside:
        a[inside] = torch.softmax(e[inside], 0)
    if window == "local-p":
        sigma = radius / 2
        a = a * torch.stack([torch.exp(-((s - p) ** 2) / (2 * sigma**2)) for s in range(S)])  # not made to sum to 1
    return a


def by_hand(model: nn.Module, settings: dict[str, Any], feeding: bool, source: Tensor, inputs: Tensor) -> Any:
    zero = torch.zeros(8, dtype=torch.float64)
    layers = [(zero, zero), (zero, zero)]

    def read(x: Tensor, cells: list) -> Tensor:
        for number, cell in enumerate(cells):
            layers[number] = lstm(cell, x, *layers[number])
            x = layers[number][0]
        return x

    encoder = [layer[0] for layer in model.encoder.layers]
    sources = [read(model.source_embedding.weight[token], encoder) for token in source.flip(0)][::-1]
    window, radius = settings.get("window", "global"), settings.get("window_options", {"radius": 10})["radius"]
    attentional, logits, weights = zero, [], []
    for t, token in enumerate(inputs):
        y = model.target_embedding.weight[token]
        h = read(torch.cat([y, attentional]) if feeding else y, list(model.cells.cells))
        e = score_by_hand(model.attention.score, settings["score"], h, sources)
        a = align_by_hand(model.attention, window, radius, e, h, t)
        c = sum(weight * state for weight, state in zip(a, sources, strict=True))
        attentional = torch.tanh(model.readout.vector.join.weight @ torch.cat([c, h]))
        logits.append(model.output.weight @ attentional + model.output.bias)
        weights.append(a)
    return torch.stack(logits), torch.stack(weights)


SETTINGS = {
    "dot": {"score": "dot"},
    "general": {"score": "general"},
    "concat": {"score": "concat"},
    "location": {"score": "location"},
    "local-m": {"score": "general", "window": "local-m"},
    "local-p": {"score": "general", "window": "local-p"},
    "local-m, narrow": {"score": "general", "window": "local-m", "window_options": {"radius": RADIUS}},
    "local-p, narrow": {"score": "general", "window": "local-p", "window_options": {"radius": RADIUS}},
}


@pytest.mark.parametrize("feeding", [True, False])
@pytest.mark.parametrize("name", SETTINGS)
def test_luong_is_the_paper(name: str, feeding: bool):
    settings = SETTINGS[name]
    decoder = {"width": 8, "layers": 2, "dropout": 0.0, "input_feeding": feeding}
    model = loud(tiny(f"luong-{name.split(',')[0]}", attention=settings, decoder=decoder).double())
    compare_with_paper(model, lambda source, inputs: by_hand(model, settings, feeding, source, inputs))


def test_the_presets_window_is_ten_words_to_each_side_with_a_standard_deviation_of_five():
    window = tiny("luong-local-p").attention.window
    window.weight.data.zero_()  # so that p = S / 2
    gain = window(torch.zeros(1, 1, 8), 30, None, torch.zeros(1, 1, 1)).gain[0, 0]
    assert gain[15] == 1
    assert gain[20].item() == pytest.approx(math.exp(-(5**2) / (2 * 5**2)))
    assert window(torch.zeros(1, 1, 8), 30, None, torch.zeros(1, 1, 1)).mask[0, 0].nonzero().flatten().tolist() == list(
        range(5, 26)
    )

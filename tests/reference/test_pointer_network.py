"""The pointer network, number by number: Vinyals et al. 2015, equation 3, with an LSTM written out."""

import math

import pytest
import torch

from helpers.models import loud
from saccade.batch import BOS, EOS, Batch
from saccade.data.points import padded_points
from saccade.models import MODELS, build_head, configure
from saccade.models.pointer_network import FIRST, PointsConfig

POINTS = [[[0.1, 0.9], [0.8, 0.3], [0.4, 0.4]], [[0.7, 0.2]]]
ANSWERS = [[2, 0, 1], [0]]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def times(matrix, vector):
    return [sum(float(w) * x for w, x in zip(row, vector, strict=True)) for row in matrix]


def lstm(cell, x, h, c):
    """One step of an LSTM; torch stores the gates in the order input, forget, new, output."""
    weights = {name.rpartition(".")[2].removesuffix("_l0"): part.tolist() for name, part in cell.named_parameters()}
    read = times(weights["weight_ih"], x), times(weights["weight_hh"], h)
    gates = [sum(parts) for parts in zip(*read, weights["bias_ih"], weights["bias_hh"], strict=True)]
    i, f, g, o = (gates[part * len(h) : (part + 1) * len(h)] for part in range(4))
    c = [
        sigmoid(forget) * old + sigmoid(let) * math.tanh(new) for forget, old, let, new in zip(f, c, i, g, strict=True)
    ]
    return [sigmoid(out) * math.tanh(kept) for out, kept in zip(o, c, strict=True)], c


def by_hand(model, points, answer, choose):
    """P(y[t] = s) for every step t, and every position s with the end as the last."""
    width = model.cells.width
    embedded = [
        [x + float(b) for x, b in zip(times(model.embedding.weight, point), model.embedding.bias, strict=True)]
        for point in points
    ]
    h, c = [0.0] * width, [0.0] * width
    encoder, decoder = model.encoder.layers.at(0).at(0), model.cells.cells.at(0)
    keys = []
    for x in [*embedded, model.special.weight[1].tolist()]:
        h, c = lstm(encoder, x, h, c)
        keys.append(h)
    score = model.attention.score
    found, left = [], set(range(len(points)))
    for last in [None, *answer]:
        h, c = lstm(decoder, model.special.weight[0].tolist() if last is None else embedded[last], h, c)
        left -= {last}
        query = times(score.query_weight, h)
        scores = []
        for s, key in enumerate(keys):
            both = zip(query, times(score.key_weight, key), strict=True)
            e = sum(float(v) * math.tanh(a + b) for v, (a, b) in zip(score.v[0], both, strict=True))
            is_end = s == len(points)
            hidden = {
                "any": False,
                "once": not is_end and s not in left,
                "every": bool(left) if is_end else s not in left,
            }
            scores.append(-math.inf if hidden[choose] else e)
        total = sum(math.exp(e) for e in scores)
        found.append([math.exp(e) / total for e in scores])
    return found


@pytest.mark.parametrize("choose", ["any", "once", "every"])
@torch.no_grad()
def test_a_pointer_network_by_hand(choose):
    family = configure("pointer-network", **MODELS["pointer-network"].tiny)
    model = loud(build_head("pointer_network", family, PointsConfig(choose=choose)).double())
    targets = Batch.from_lists(targets=[[FIRST + place for place in answer] for answer in ANSWERS])
    parts = padded_points(POINTS, 2, 2)
    batch = Batch(parts["source"].double(), parts["source_mask"], targets.target, targets.target_mask)
    found = model(batch).exp()
    assert found.shape == (2, 4, FIRST + 4)
    for row, (points, answer) in enumerate(zip(POINTS, ANSWERS, strict=True)):
        for t, wanted in enumerate(by_hand(model, points, answer, choose)):
            *places, end = wanted
            assert found[row, t, FIRST : FIRST + len(points)].tolist() == pytest.approx(places, abs=1e-6)
            assert float(found[row, t, EOS]) == pytest.approx(end, abs=1e-6)
            assert float(found[row, t, : BOS + 1].sum() + found[row, t, FIRST + len(points) :].sum()) < 1e-6

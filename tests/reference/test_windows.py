"""Each window against its paper's words, looped over Python numbers."""

import math

import pytest
import torch

from saccade import masks
from saccade.attention import (
    AroundMedian,
    Attention,
    DotScore,
    ForwardOnly,
    Global,
    LocalMonotonic,
    LocalPredictive,
    Softmax,
    Tape,
)
from saccade.errors import ConfigError

BATCH, QUERIES, KEYS, WIDTH = 2, 5, 9, 3
LENGTHS = [6, 9]


def softmax_of_seen(scores, seen):
    powers = [math.exp(score) if keep else 0.0 for score, keep in zip(scores, seen, strict=True)]
    total = sum(powers)
    return [power / total if total else 0.0 for power in powers]


@pytest.fixture
def inputs():
    query = torch.randn(BATCH, QUERIES, WIDTH, dtype=torch.float64)
    keys = torch.randn(BATCH, KEYS, WIDTH, dtype=torch.float64)
    return query, keys, (query @ keys.mT).tolist()


def weights_of(window, query, keys, positions=None):
    attention = Attention(DotScore(WIDTH, WIDTH), Softmax(), window).double()
    tape = Tape()
    bank = attention.bank(keys, mask=masks.padding(torch.tensor(LENGTHS), KEYS))
    attention(query, bank, positions=positions, tape=tape)
    return tape["attention"][:, 0]


def each_weight(scores, seen, gain=lambda b, t, s: 1.0):
    """seen(b, t, s) and gain(b, t, s) as the paper words them; padding is hidden here."""
    wanted = []
    for b, length in enumerate(LENGTHS):
        wanted.append([])
        for t in range(QUERIES):
            visible = [s < length and seen(b, t, s) for s in range(KEYS)]
            shares = softmax_of_seen(scores[b][t], visible)
            wanted[b].append([share * gain(b, t, s) for s, share in enumerate(shares)])
    return torch.tensor(wanted, dtype=torch.float64)


def test_global_sees_the_whole_sentence(inputs):
    query, keys, scores = inputs
    torch.testing.assert_close(weights_of(Global(WIDTH), query, keys), each_weight(scores, lambda b, t, s: True))


def test_local_m_sees_d_keys_on_each_side_of_its_own_place(inputs):
    query, keys, scores = inputs
    wanted = each_weight(scores, lambda b, t, s: t - 1 <= s <= t + 1)
    torch.testing.assert_close(weights_of(LocalMonotonic(WIDTH, radius=1), query, keys), wanted)


def test_local_m_counts_from_the_position_it_is_told(inputs):
    query, keys, scores = inputs
    wanted = each_weight(scores, lambda b, t, s: abs(s - (t + 3 + b)) <= 1)
    positions = torch.arange(QUERIES) + 3 + torch.arange(BATCH)[:, None]
    torch.testing.assert_close(weights_of(LocalMonotonic(WIDTH, radius=1), query, keys, positions), wanted)
    assert (wanted[0, -1] == 0).all(), "the last query of the short sentence is beyond its end"


def test_local_p_weighs_the_softmax_by_a_gaussian_around_the_predicted_place(inputs):
    query, keys, scores = inputs
    radius = 2
    window = LocalPredictive(WIDTH, radius=radius).double()
    torch.nn.init.normal_(window.v, std=2)
    torch.nn.init.normal_(window.weight)
    w, v = window.weight.tolist(), window.v[0].tolist()
    place = [
        [
            length
            / (1 + math.exp(-sum(v[i] * math.tanh(sum(map(math.prod, zip(w[i], h, strict=True)))) for i in range(3))))
            for h in query[b].tolist()
        ]
        for b, length in enumerate(LENGTHS)
    ]
    sigma = radius / 2
    wanted = each_weight(
        scores,
        lambda b, t, s: place[b][t] - radius <= s <= place[b][t] + radius,
        lambda b, t, s: math.exp(-((s - place[b][t]) ** 2) / (2 * sigma**2)),
    )
    got = weights_of(window, query, keys)
    torch.testing.assert_close(got, wanted)
    assert (got.sum(-1) < 0.999).all(), "the product is not made to sum to one again"
    centres = window.centre(query, KEYS, masks.padding(torch.tensor(LENGTHS), KEYS)[:, None])
    torch.testing.assert_close(centres[..., 0], torch.tensor(place, dtype=torch.float64))


def test_never_look_back_hides_what_lies_before_the_last_peak(inputs):
    query, keys, scores = inputs
    wanted = []
    for b, length in enumerate(LENGTHS):
        peak, rows = 0, []
        for t in range(QUERIES):
            rows.append(softmax_of_seen(scores[b][t], [peak <= s < length for s in range(KEYS)]))
            peak = rows[-1].index(max(rows[-1]))
        wanted.append(rows)
    torch.testing.assert_close(weights_of(ForwardOnly(WIDTH), query, keys), torch.tensor(wanted, dtype=torch.float64))


@pytest.mark.parametrize("radius", [1, 2])
def test_median_sees_keys_around_the_median_of_the_last_weights(inputs, radius):
    query, keys, scores = inputs
    wanted = []
    for b, length in enumerate(LENGTHS):
        shown, rows = range(length), []
        for t in range(QUERIES):
            rows.append(softmax_of_seen(scores[b][t], [s in shown and s < length for s in range(KEYS)]))
            median = next(s for s in range(KEYS) if sum(rows[-1][: s + 1]) >= 0.5)
            shown = range(median - radius, median + radius + 1)
        wanted.append(rows)
    found = weights_of(AroundMedian(WIDTH, radius=radius), query, keys)
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float64))
    with pytest.raises(ConfigError, match="radius is 0"):
        AroundMedian(WIDTH, radius=0)


def test_local_p_finds_its_place_among_thousands_of_keys_in_half_precision():
    """bfloat16 has no number between 2048 and 2064, so the place is counted in float32."""
    window, radius, size = LocalPredictive(WIDTH, radius=3).bfloat16(), 3, 4096
    query = torch.randn(1, 16, WIDTH).bfloat16()
    shown, _ = window(query, size, None, torch.arange(16)[:, None])
    logits = (torch.tanh(query @ window.weight.mT) @ window.v.mT).tolist()
    for row, (logit,) in zip(shown[0], logits[0], strict=True):
        place = size / (1 + math.exp(-logit))
        assert row.nonzero().flatten().tolist() == [s for s in range(size) if abs(s - place) <= radius]

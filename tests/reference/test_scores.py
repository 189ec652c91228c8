"""Each score against its paper's equation, looped over Python numbers."""

import math

import pytest
import torch

from helpers.attention import OPTIONS, Parts, Shape, inner_of, make_case
from saccade.attention import SCORES, Attention, Concat, LocationAware, ProjectedDot, Tape


def inner_product(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix, vector):
    return [inner_product(row, vector) for row in matrix]


def plus(*vectors):
    return [sum(entries) for entries in zip(*vectors, strict=True)]


def network(v, *terms):
    """v · tanh(the sum of the terms)."""
    return inner_product(v, [math.tanh(x) for x in plus(*terms)])


def dot(score, q, k, s):
    """Luong: h · hbar."""
    return inner_product(q, k)


def scaled_dot(score, q, k, s):
    """Vaswani: q · k / √d."""
    return inner_product(q, k) / math.sqrt(len(k))


def general(score, q, k, s):
    """Luong: h · W hbar."""
    return inner_product(q, times(score.weight.tolist(), k))


def concat(score, q, k, s):
    """Luong: v · tanh(W [h ; hbar]), with W one matrix."""
    joined = [mine + yours for mine, yours in zip(score.query_weight.tolist(), score.key_weight.tolist(), strict=True)]
    return network(score.v[0].tolist(), times(joined, q + k))


def additive(score, q, k, s):
    """Bahdanau: v · tanh(W s + U h)."""
    return network(score.v[0].tolist(), times(score.query_weight.tolist(), q), times(score.key_weight.tolist(), k))


def cosine(score, q, k, s):
    """Graves: β cos(q, k)."""
    sharpness = math.exp(score.log_sharpness.item())
    return sharpness * inner_product(q, k) / math.sqrt(inner_product(q, q) * inner_product(k, k))


def location(score, q, k, s):
    """Luong: the entry of W h that belongs to this place."""
    return times(score.weight.tolist(), q)[s]


def projected_dot(score, q, k, s):
    """W_Q q · W_K k."""
    return inner_product(times(score.query_weight.tolist(), q), times(score.key_weight.tolist(), k))


EQUATIONS = {
    "dot": dot,
    "scaled-dot": scaled_dot,
    "general": general,
    "concat": concat,
    "additive": additive,
    "cosine": cosine,
    "location": location,
    "projected-dot": projected_dot,
}


def check(score, equation):
    query = torch.randn(2, 3, score.query_width, dtype=torch.float64)
    keys = torch.randn(2, 5, score.key_width, dtype=torch.float64)
    got = score(query, score.prepare(keys))
    wanted = [
        [[equation(score, q, k, s) for s, k in enumerate(row_keys)] for q in row_queries]
        for row_queries, row_keys in zip(query.tolist(), keys.tolist(), strict=True)
    ]
    torch.testing.assert_close(got, torch.tensor(wanted, dtype=torch.float64))


@pytest.mark.parametrize("name", [name for name, kind in SCORES.items() if not kind.sequential])
def test_score_is_its_papers_equation(name):
    check(Parts(score=name).build().double().score, EQUATIONS[name])


def test_scaled_projected_dot_divides_by_the_root_of_its_own_width():
    score = ProjectedDot(4, 6, width=9, scaled=True).double()
    check(score, lambda *inputs: projected_dot(*inputs) / 3)


@pytest.mark.parametrize("name", ["concat", "additive", "projected-dot", "coverage", "location-aware"])
def test_width_of_the_comparison_can_be_chosen(name):
    score = SCORES[name](4, 6, width=3)
    assert score.prepare(torch.randn(2, 5, 6)).shape == (2, 5, 3)


def test_additive_bias_stands_inside_the_tanh():
    score = SCORES["additive"](4, 6, width=3, bias=True).double()
    torch.nn.init.normal_(score.bias)

    def equation(score, q, k, s):
        terms = times(score.query_weight.tolist(), q), times(score.key_weight.tolist(), k), score.bias.tolist()
        return network(score.v[0].tolist(), *terms)

    check(score, equation)


def test_cosine_knows_the_direction_of_vectors_longer_than_half_precision_can_say():
    score = SCORES["cosine"](4, 4).half()
    query, keys = torch.randn(2, 3, 4).sign(), torch.randn(2, 5, 4).sign()
    got = score((4e4 * query).half(), score.prepare((4e4 * keys).half()))  # of length 8e4, beyond 65504
    torch.testing.assert_close(got.float(), query @ keys.mT / 4, atol=2e-3, rtol=0)


def test_concat_with_identity_keys_is_the_authors_program():
    score = Concat(4, 6, identity_keys=True).double()

    def equation(score, q, k, s):
        return network(score.v[0].tolist(), times(score.query_weight.tolist(), q), k)

    check(score, equation)
    assert not score.key_weight.requires_grad, "the identity is fixed, not learned"


@pytest.mark.parametrize("name", [name for name, kind in SCORES.items() if not kind.sequential])
def test_each_head_is_the_same_score_with_its_own_parameters(name):
    heads = 2
    many = inner_of(Parts(score=name, heads=heads).build()).score
    query, keys = torch.randn(3, heads, 4, many.query_width), torch.randn(3, heads, 5, many.key_width)
    together = many(query, many.prepare(keys))
    for head in range(heads):
        one = SCORES[name](many.query_width, many.key_width, **OPTIONS.get(("score", name), {}))
        for parameter, stacked in zip(one.parameters(), many.parameters(), strict=True):
            parameter.data = stacked.data[head].reshape(parameter.shape)
        torch.testing.assert_close(one(query[:, head], one.prepare(keys[:, head])), together[:, head])


# Scores that depend on earlier attention


def softmax(scores):
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def test_coverage_adds_up_the_weights_of_all_steps_before():
    case = make_case(Parts(score="coverage"), Shape(B=1, T=4, S=5), mask=None)
    score = case.attention.score
    w, b, v = score.coverage_weight[0].tolist(), score.bias.tolist(), score.v[0].tolist()
    coverage, wanted = [0.0] * 5, []
    for q in case.query[0].tolist():
        asked = times(score.query_weight.tolist(), q)
        scores = [
            network(v, asked, times(score.key_weight.tolist(), k), [entry * covered for entry in w], b)
            for k, covered in zip(case.keys[0].tolist(), coverage, strict=True)
        ]
        wanted.append(softmax(scores))
        coverage = plus(coverage, wanted[-1])
    torch.testing.assert_close(case.recorded()[1][0, 0], torch.tensor(wanted, dtype=torch.float64))
    torch.testing.assert_close(case.run().past.total[0, 0], torch.tensor(coverage, dtype=torch.float64))


def test_location_aware_convolves_the_weights_of_the_step_before():
    size, padded, kernel, filters = 4, 6, 3, 2
    score = LocationAware(4, 6, width=5, filters=filters, kernel=kernel).double()
    torch.nn.init.normal_(score.bias)
    attention = Attention(score).double()
    query = torch.randn(1, 3, 4, dtype=torch.float64)
    keys = torch.randn(1, padded, 6, dtype=torch.float64)
    mask = torch.arange(padded)[None] < size
    banks = score.filters.weight[:, 0].tolist()
    before, wanted = [1 / size] * size + [0.0] * (padded - size), []  # uniform over the real keys at first
    for q in query[0].tolist():
        asked, scores = times(score.query_weight.tolist(), q), []
        for s in range(size):
            features = [
                sum(
                    bank[offset] * before[s + offset - kernel // 2]  # centred on s
                    for offset in range(kernel)
                    if 0 <= s + offset - kernel // 2 < padded
                )
                for bank in banks
            ]
            felt = times(score.filter_weight.tolist(), features)
            compared = times(score.key_weight.tolist(), keys[0, s].tolist())
            scores.append(network(score.v[0].tolist(), asked, compared, felt, score.bias.tolist()))
        before = softmax(scores) + [0.0] * (padded - size)
        wanted.append(before)
    tape = Tape()
    attention(query, attention.bank(keys, mask=mask), tape=tape)
    torch.testing.assert_close(tape["attention"][0, 0], torch.tensor(wanted, dtype=torch.float64))


def test_every_score_has_a_reference():
    assert set(EQUATIONS) | {"coverage", "location-aware"} == set(SCORES)

"""Mishra et al. 2018, slowly: one sequence for each query, whose last position is the query; loops over positions."""

import math

import pytest
import torch

from saccade.attention import Tape
from saccade.batch import EpisodeBatch
from saccade.layers.temporal import CausalAttention
from saccade.models import MODELS, build_head
from saccade.models.snail import SnailConfig

CODES = 4


def episodes(sizes=(5, 3, 4), queries=3, seed=0):
    """Episodes with supports of different sizes; the padding holds images and codes, which must not count."""
    chance = torch.Generator().manual_seed(seed)
    longest = max(sizes)
    images = torch.randint(0, 256, (len(sizes), longest + queries, 8, 8, 1), generator=chance, dtype=torch.uint8)
    mask = torch.arange(longest) < torch.tensor(sizes)[:, None]
    return EpisodeBatch(
        source=torch.randint(0, CODES, mask.shape, generator=chance),
        source_mask=mask,
        support=images[:, :longest],
        queries=images[:, longest:],
        labels=torch.randint(0, CODES, (len(sizes), queries), generator=chance),
    )


def snail(**settings):
    torch.manual_seed(0)
    config = SnailConfig.model_validate({**MODELS["snail"].tiny, **settings})
    return build_head("few_shot", config, CODES, 6).eval()


def affine(layer, x):
    bias = 0 if layer.bias is None else layer.bias
    return layer.weight @ x + bias


def attended(block, xs, itself):
    """P affine(x, V): a softmax of q·k / √K over the positions up to each, a query perhaps without itself."""
    found, weights = [], []
    for t, x in enumerate(xs):
        query = affine(block.query, x)
        seen = xs[: t + 1] if itself or t < len(xs) - 1 else xs[:t]
        scores = torch.stack([query @ affine(block.key, other) / math.sqrt(len(query)) for other in seen])
        shares = (scores - scores.max()).exp() / (scores - scores.max()).exp().sum()
        weights.append(shares)
        read = sum(share * affine(block.value, other) for share, other in zip(shares, seen, strict=True))
        found.append(torch.cat([x, read]))
    return found, weights[-1]


def convolved(block, xs):
    """tanh(f) · σ(g) of causal convolutions with kernel 2, which see zeros before the first position."""
    found = []
    for t, x in enumerate(xs):
        both = affine(block.now, x)
        if t >= block.dilation:
            both = both + affine(block.earlier, xs[t - block.dilation])
        values, gates = both.chunk(2)
        found.append(torch.cat([x, values.tanh() * gates.sigmoid()]))
    return found


def slowly(model, batch, row, query):
    """Log-probabilities of a query, and its weights in every attention block."""
    size = int(batch.source_mask[row].sum())
    xs = []
    for place in range(size):
        label = torch.zeros(CODES)
        label[batch.source[row, place]] = 1
        xs.append(torch.cat([model.embedding(batch.support[row, place][None])[0], label]))
    xs.append(torch.cat([model.embedding(batch.queries[row, query][None])[0], torch.zeros(CODES)]))
    maps = []
    for block in model.blocks:
        if isinstance(block, CausalAttention):
            xs, weights = attended(block, xs, model.itself)
            maps.append(weights)
        else:
            for inner in block.blocks:
                xs = convolved(inner, xs)
    logits = affine(model.last, xs[-1])
    given = set(batch.source[row, :size].tolist())
    exponents = torch.stack([logits[code].exp() if code in given else torch.tensor(0.0) for code in range(CODES)])
    return exponents / exponents.sum(), maps


@pytest.mark.parametrize("settings", [{}, {"itself": False}, {"first_dilation": 1}])
def test_queries_that_share_a_support_are_sequences_of_their_own(settings):
    model, batch, tape = snail(**settings), episodes(), Tape()
    with torch.no_grad():
        found = model(batch, tape=tape).exp()
        for row in range(3):
            size = int(batch.source_mask[row].sum())
            for query in range(3):
                shares, maps = slowly(model, batch, row, query)
                torch.testing.assert_close(found[row, query], shares, atol=1e-5, rtol=1e-4)
                for site, expected in zip(tape, maps, strict=True):
                    own = tape[site][row, 0, 5 + query]
                    torch.testing.assert_close(own[:size], expected[:size], atol=1e-5, rtol=1e-4)
                    assert float(own.sum()) == pytest.approx(1, abs=1e-5)
                    assert float(own[5 + query]) == pytest.approx(float(expected[size:].sum()), abs=1e-5)


def test_dilations_double_until_they_span_the_longest_episode():
    model = snail()
    assert [block.dilation for block in model.blocks[1].blocks] == [2, 4, 8], "⌈log2 6⌉ = 3, from 2 as in the paper"
    assert [block.dilation for block in snail(first_dilation=1).blocks[1].blocks] == [1, 2, 4]


def test_the_paper_s_widths():
    """Attention (64, 32), convolutions of 128 filters, attention (256, 128), convolutions, attention (512, 256)."""
    model = build_head("few_shot", SnailConfig(), 5, 26)
    widths = [block.width for block in model.blocks]
    assert widths == [69 + 32, 101 + 5 * 128, 741 + 128, 869 + 5 * 128, 1509 + 256]
    assert model.last.in_features == 1765
    assert all(inner.earlier.bias is None for inner in model.blocks[1].blocks), "a convolution has one bias"


def test_equal_projections_are_only_a_start():
    model = snail(alike=True)
    block = model.blocks[0]
    assert torch.equal(block.query.weight, block.key.weight)
    assert block.query.weight.data_ptr() != block.key.weight.data_ptr()
    assert not torch.equal(snail().blocks[0].query.weight, snail().blocks[0].key.weight)


@pytest.mark.parametrize("name", ["snail", "matching-network"])
def test_neither_padding_nor_batch_mates_nor_other_queries_matter(name):
    torch.manual_seed(0)
    preset = MODELS[name]
    model = build_head("few_shot", preset.family.model_validate(preset.tiny), CODES, 6).eval()
    batch, tape = episodes(), Tape()
    with torch.no_grad():
        together = model(batch, tape=tape)
        for row, size in enumerate((5, 3, 4)):
            alone = EpisodeBatch(
                source=batch.source[row : row + 1, :size],
                source_mask=batch.source_mask[row : row + 1, :size],
                support=batch.support[row : row + 1, :size],
                queries=batch.queries[row : row + 1, :1],
            )
            torch.testing.assert_close(model(alone)[0, 0], together[row, 0], atol=1e-5, rtol=1e-5)
            for site in tape:
                assert (tape[site][row, :, -3:, size:5] == 0).all(), "no weight on padding"


def test_matching_is_the_mean_of_labels_weighted_by_attention():
    torch.manual_seed(0)
    preset = MODELS["matching-network"]
    model, batch = build_head("few_shot", preset.family.model_validate(preset.tiny), CODES, 6).eval(), episodes((4,))
    with torch.no_grad():
        found = model(batch)[0, 0].exp()
        keys = model.embedding(batch.support[0])
        query = model.embedding(batch.queries[0, :1])[0]
        sharpness = float(model.attention.score.log_sharpness.exp())
        scores = torch.stack([sharpness * torch.cosine_similarity(query, key, 0) for key in keys])
        shares = scores.softmax(0)
        expected = torch.zeros(CODES)
        for share, code in zip(shares, batch.source[0].tolist(), strict=True):
            expected[code] += share
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)

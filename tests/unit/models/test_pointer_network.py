"""Pointer networks: what may be chosen, what is refused, and searches over positions."""

from dataclasses import replace

import pytest
import torch

from helpers.models import loud, same
from saccade.attention import Steering, Tape
from saccade.batch import EOS, Batch
from saccade.data.points import padded_points
from saccade.errors import ConfigError, DataError
from saccade.models import MODELS, build_head, configure
from saccade.models.pointer_network import FIRST, PointsConfig
from saccade.search import SearchConfig, decode

NEVER = 1e-30


def pointer(choose="any", dimensions=2, **settings):
    torch.manual_seed(2)
    family = configure("pointer-network", **MODELS["pointer-network"].tiny | settings)
    return loud(build_head("pointer_network", family, PointsConfig(choose=choose, dimensions=dimensions)))


def points(*sizes, dimensions=2):
    chance = torch.Generator().manual_seed(len(sizes))
    rows = [torch.rand(size, dimensions, generator=chance) for size in sizes]
    return Batch(**padded_points(rows, dimensions, len(rows)))


def forced(batch, *answers):
    words = Batch.from_lists(targets=[[FIRST + place for place in answer] for answer in answers])
    return replace(batch, target=words.target, target_mask=words.target_mask)


def possible(probabilities):
    """The tokens that have a probability."""
    return set((probabilities > NEVER).nonzero()[:, 0].tolist())


@torch.no_grad()
def test_what_may_be_chosen():
    batch = forced(points(3, 2), [1, 0, 2], [0, 1])
    every = {choose: pointer(choose)(batch).exp() for choose in ("any", "once", "every")}
    for row, size in enumerate((3, 2)):
        assert all(possible(step) == {EOS, *range(FIRST, FIRST + size)} for step in every["any"][row])
    left = [{0, 1, 2}, {0, 2}, {2}, set()]
    for t, places in enumerate(left):
        tokens = {FIRST + place for place in places}
        assert possible(every["once"][0, t]) == {EOS, *tokens}
        assert possible(every["every"][0, t]) == (tokens or {EOS})
    for logs in every.values():
        same(logs.sum(-1), torch.ones(logs.shape[:2]))


@torch.no_grad()
def test_the_attention_is_the_output():
    model, batch, tape = pointer(), forced(points(3, 2), [1], [0]), Tape()
    found = model(batch, tape=tape).exp()
    same(tape["attention"][0, 0, :, :3], found[0, :, FIRST : FIRST + 3])
    same(tape["attention"][0, 0, :, 3], found[0, :, EOS])
    same(tape["attention"][1, 0, :, 2], found[1, :, EOS])
    assert model.choices(batch) == found.shape[-1] == FIRST + 4


@torch.no_grad()
def test_hiding_a_position_hides_it_from_the_answer():
    tape = Tape(steering=Steering(["attention"], [1], {(0, 0): 0.75}))
    found = pointer("once")(forced(points(3), [0, 2]), tape=tape).exp()
    assert (found[0, :, FIRST + 1] < NEVER).all()
    assert float(found[0, 0, FIRST]) == pytest.approx(0.75)


@pytest.mark.parametrize("search", [{}, {"beam": 3, "nbest": 3}, {"sample": True, "seed": 4}], ids=str)
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_every_search_visits_every_position_once(search, cell):
    model = pointer("every", cell=cell, bidirectional=True, layers=2)
    found = decode(model, points(5, 2, 4), SearchConfig(**search), lengths=[6, 3, 5])
    for size, hypotheses in zip((5, 2, 4), found, strict=True):
        for one in hypotheses:
            assert sorted(one.tokens[:-1]) == [FIRST + place for place in range(size)]
            assert one.tokens[-1] == EOS
            logs = model(forced(points(5, 2, 4).take(slice(0, 3)), *[[0]] * 3))
            assert logs.isfinite().all()
    assert len({tuple(one.tokens) for one in found[0]}) == len(found[0])


def test_two_draws_differ_by_seed():
    drawn = [decode(pointer("every"), points(8), SearchConfig(sample=True, seed=seed), lengths=[9]) for seed in (1, 2)]
    assert drawn[0][0][0].tokens != drawn[1][0][0].tokens


def test_what_is_no_points_is_refused():
    with pytest.raises(DataError, match=r"source is \(1, 4, 2\), but this model reads points \(B, S, 3\)"):
        pointer(dimensions=3)(forced(points(3), [0]))
    with pytest.raises(DataError, match="source is missing, but"):
        pointer()(Batch.from_lists(targets=[[FIRST]]))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"width": 7, "bidirectional": True}, r"model\.width is 7, but two directions need an even one"),
        ({"score": "location-aware"}, "LocationAware reads earlier attention, which a pointer network does not keep"),
        ({"score": "aditive"}, "Did you mean 'additive'"),
        ({"encoder": "transformer", "embedding": 6, "width": 8}, r"embedding is 6, but .* needs model\.width, 8"),
    ],
)
def test_what_cannot_be_built_is_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        pointer(**settings)


@torch.no_grad()
def test_a_transformer_encoder_reads_all_points_at_once():
    model = pointer(encoder="transformer", embedding=8, width=8, heads=2, encoder_layers=2)
    assert len(model.encoder.encoder.layers) == 2
    batch, changed = forced(points(3, 2), [1], [0]), forced(points(3, 2), [1], [0])
    changed.source[0, 2] += 0.5
    changed.source[1, 2] += 0.5  # padding
    found, other = model(batch), model(changed)
    assert not torch.allclose(found[0, 0, FIRST], other[0, 0, FIRST])  # the first point knows the last one
    same(found[1], other[1])


@torch.no_grad()
def test_another_score_points_too():
    found = pointer(score="general")(forced(points(3, 2), [1], [0])).exp()
    same(found.sum(-1), torch.ones(found.shape[:2]))

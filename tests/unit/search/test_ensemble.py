"""Ensembles: decoding with several models."""

import math

import pytest
import torch

from helpers.search import (
    MAX_LENGTH,
    assert_same_attention,
    beam,
    contains,
    greedy,
    lively_case,
    make_batch,
    make_model,
    sample,
    sentence_of,
)
from helpers.slow_search import Penalties, assert_found, brute_force, replay, slow_greedy, words_of
from helpers.table_model import Table
from saccade.attention.tape import Tape
from saccade.batch import EOS, Batch
from saccade.models import Ensemble

A, B = 4, 5
AVERAGES = ("probabilities", "log_probabilities")
FAMILIES = ("bahdanau", "lstmn-shallow", "transformer-base")


@pytest.fixture(params=AVERAGES)
def ensemble(request):
    return Ensemble([make_model(name, seed=seed) for seed, name in enumerate(FAMILIES)], request.param).eval()


def sampled(model, batch, **limits):
    return sample(model, batch, 3, generator=torch.Generator().manual_seed(1), **limits)


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", FAMILIES)
def test_an_ensemble_of_one_is_that_model(name, average):
    model, batch = lively_case(name, "seq2seq")
    one = Ensemble([model], average)
    for search in (
        lambda *args, **more: [greedy(*args, **more)],
        lambda *args, **more: beam(*args, 3, **more),
        sampled,
    ):
        for some, others in zip(
            search(one, batch, max_length=MAX_LENGTH), search(model, batch, max_length=MAX_LENGTH), strict=True
        ):
            assert [found.tokens for found in some] == [found.tokens for found in others]
            assert [found.score for found in some] == pytest.approx([found.score for found in others], rel=1e-12)
            for found, other in zip(some, others, strict=True):
                sites = {f"0.{site}": weights for site, weights in other.attention.items()}
                assert_same_attention(found.attention, sites, 1e-12)


def test_predictions_are_the_mean_by_hand():
    first = Table(6, lambda sentence, words: {A: 0.8, B: 0.1, EOS: 0.1})
    second = Table(6, lambda sentence, words: {A: 0.2, B: 0.3, EOS: 0.5})
    batch = Batch.from_lists([[3]], [[A]])
    mean = torch.softmax(Ensemble([first, second])(batch), -1)[0, 0]
    assert mean[[A, B, EOS]].tolist() == pytest.approx([0.5, 0.2, 0.3])
    mean = torch.softmax(Ensemble([first, second], "log_probabilities")(batch), -1)[0, 0]
    roots = [math.sqrt(0.16), math.sqrt(0.03), math.sqrt(0.05)]
    assert mean[[A, B, EOS]].tolist() == pytest.approx([root / sum(roots) for root in roots])


def test_predictions_are_the_mean_of_the_members(ensemble):
    batch = make_batch()
    batch = Batch(batch.source, batch.source_mask, *targets(3))
    members = torch.stack([torch.log_softmax(member(batch), -1) for member in ensemble.members])
    if ensemble.average == "probabilities":
        wanted = members.exp().mean(0)
        assert wanted.log().allclose(ensemble(batch), rtol=1e-12), "already log-probabilities"
    else:
        wanted = torch.softmax(members.mean(0), -1)
    assert torch.softmax(ensemble(batch), -1).allclose(wanted, rtol=1e-12)


def targets(count):
    batch = Batch.from_lists(targets=[[4, 5, 6][: 1 + row] for row in range(count)])
    return batch.target, batch.target_mask


def test_models_of_different_families_write_together(ensemble):
    batch = make_batch()
    walked = greedy(ensemble, batch, max_length=5)
    for row, one in enumerate(walked):
        assert one.tokens == slow_greedy(ensemble, sentence_of(batch, row), 5)
    for found in (beam(ensemble, batch, 3, nbest=2, max_length=5), sampled(ensemble, batch, max_length=5)):
        for row, some in enumerate(found):
            for one in some:
                (said,) = replay(ensemble, sentence_of(batch, row), [words_of(one.tokens)])
                log = sum(float(said.logs[t, token]) for t, token in enumerate(one.tokens))
                assert one.log_probability == pytest.approx(log, rel=1e-9)


def test_a_wide_beam_over_an_ensemble_ranks_everything():
    members = [make_model(name, vocabulary=6, seed=seed) for seed, name in enumerate(FAMILIES)]
    ensemble = Ensemble(members)
    batch = make_batch(vocabulary=6, lengths=(3,))
    penalties = Penalties(length=0.7, coverage=0.4)
    (found,) = beam(ensemble, batch, 121, nbest=121, max_length=4, length_penalty=0.7, coverage_penalty=0.4)
    assert_found(found, brute_force(ensemble, batch, 4, penalties))


def test_sites_carry_the_number_of_the_member(ensemble):
    batch = make_batch()
    one = greedy(ensemble, batch, max_length=4)[0]
    assert ensemble.source_sites == ["0.attention", "1.attention"] + [f"2.decoder.layers.{n}.cross" for n in (0, 1)]
    assert set(ensemble.source_sites) <= set(one.attention)
    assert {site.partition(".")[0] for site in one.attention} == {"0", "1", "2"}
    (said,) = replay(ensemble, sentence_of(batch, 0), [words_of(one.tokens)])
    rows = {site: len(one.tokens) for site in ensemble.source_sites}
    assert_same_attention(
        {site: one.attention[site][:, :count] for site, count in rows.items()},
        {site: said.looks[site][:, :count] for site, count in rows.items()},
    )


def test_an_ensemble_can_be_a_member():
    members = [make_model("bahdanau", seed=seed) for seed in (1, 2)]
    nested = Ensemble([Ensemble(members), make_model("cho")])
    assert nested.source_sites == ["0.0.attention", "0.1.attention"]
    tape = Tape()
    batch = make_batch()
    nested(Batch(batch.source, batch.source_mask, *targets(3)), tape=tape)
    assert set(tape) == {"0.0.attention", "0.1.attention"}
    assert set(greedy(nested, batch, max_length=3)[0].attention) == set(tape)


def test_a_language_model_can_help_a_translator():
    both = Ensemble([make_model("bahdanau"), make_model("lstmn", "language")], "log_probabilities")
    batch = make_batch()
    for row, one in enumerate(greedy(both, batch, max_length=5)):
        assert one.tokens == slow_greedy(both, sentence_of(batch, row), 5)


def test_required_words_in_an_ensemble(ensemble):
    batch = make_batch()
    required = [[[4, 5]], [[6], [7]], []]
    for found in (
        [[one] for one in greedy(ensemble, batch, required=required, max_length=7)],
        beam(ensemble, batch, 4, nbest=2, required=required, max_length=7),
        sampled(ensemble, batch, required=required, max_length=7),
    ):
        for some, phrases in zip(found, required, strict=True):
            for one in some:
                assert all(contains(one.tokens, phrase) for phrase in phrases)


def test_numbers_of_float64_members_are_not_rounded():
    third = Table(6, lambda sentence, words: {A: 1 / 3, EOS: 2 / 3})
    (one,) = greedy(Ensemble([third, third]), Batch.from_lists([[3]]))
    assert one.log_probability == pytest.approx(math.log(2 / 3), rel=1e-15)

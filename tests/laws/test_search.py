"""Property tests of search, over every model of MODELS and the language model of every family.

A new model is tested by being listed in its table. The slow searches it is compared with are in helpers.slow_search.
"""

import copy
import math
from itertools import cycle

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.search import (
    EVERY,
    MAX_LENGTH,
    SEQ2SEQ,
    assert_same_attention,
    beam,
    greedy,
    lively_case,
    make_batch,
    make_model,
    sample,
    sentence_of,
)
from helpers.slow_search import (
    Penalties,
    assert_found,
    at_least,
    brute_force,
    log_probability,
    mean_attention,
    replay,
    slow_beam,
    slow_greedy,
    words_of,
)
from helpers.slow_search import no_repeat as no_run_twice
from helpers.table_model import random_table
from saccade import pytree
from saccade.attention.tape import Tape
from saccade.batch import EOS, Batch
from saccade.models import presets_for

LOOKING = [name for name in SEQ2SEQ if make_model(name).source_sites]


@pytest.fixture(params=EVERY, ids="-".join)
def case(request):
    return lively_case(*request.param)


def sampled(model, batch, samples=3, seed=5, **limits):
    return sample(model, batch, samples, generator=torch.Generator().manual_seed(seed), **limits)


def all_kinds(model, batch, **limits):
    """Hypotheses of every search, by sentence."""
    kinds = (
        [[one] for one in greedy(model, batch, **limits)],
        beam(model, batch, 4, nbest=3, **limits),
        sampled(model, batch, **limits),
    )
    return [[one for kind in kinds for one in kind[row]] for row in range(batch.size)]


# Against slow references


def test_the_models_under_test_have_something_to_say(case):
    model, batch = case
    words = {token for one in greedy(model, batch, max_length=MAX_LENGTH) for token in one.tokens}
    assert EOS in words
    assert len(words) >= 3


def test_greedy_is_the_likeliest_word_of_forward_each_time(case):
    model, batch = case
    for row, found in enumerate(greedy(model, batch, max_length=MAX_LENGTH)):
        assert found.tokens == slow_greedy(model, sentence_of(batch, row), MAX_LENGTH)
        assert found.finished == (found.tokens[-1] == EOS)
        assert found.score == found.log_probability


def test_a_beam_of_one_is_greedy(case):
    model, batch = case
    walked = greedy(model, batch, max_length=MAX_LENGTH)
    beamed = beam(model, batch, 1, max_length=MAX_LENGTH)
    for one, (other,) in zip(walked, beamed, strict=True):
        assert other.tokens == one.tokens
        assert other.score == pytest.approx(one.score, rel=1e-12)
        assert_same_attention(other.attention, one.attention, 1e-12)


@pytest.mark.parametrize(("case", "alpha"), [*zip(EVERY, cycle([-1.0, 0.6, 2.0]), strict=False)], ids=str)
def test_a_beam_of_one_with_a_length_penalty_is_never_worse_than_greedy(case, alpha):
    model, batch = lively_case(*case)
    walked = greedy(model, batch, max_length=MAX_LENGTH)
    beamed = beam(model, batch, 1, length_penalty=alpha, max_length=MAX_LENGTH)
    for one, (other,) in zip(walked, beamed, strict=True):
        assert one.finished <= other.finished
        assert other.score >= Penalties(alpha).score(one.log_probability, len(one.tokens), None) - 1e-12


FULL = [(case, Penalties(length)) for case in EVERY for length in (0.0, 1.5, -1.0)]
FULL += [((name, "seq2seq"), Penalties(length=0.7, coverage=0.4)) for name in LOOKING]
FULL += [((name, "seq2seq"), Penalties(overlap=0.9)) for name in LOOKING]


@pytest.mark.parametrize(("case", "penalties"), FULL, ids=str)
def test_a_beam_wide_enough_for_everything_ranks_everything(case, penalties):
    name, kind = case
    model = make_model(name, kind, vocabulary=6)
    batch = make_batch(kind, 6, lengths=(3, 1))
    wanted = [brute_force(model, sentence_of(batch, row), 4, penalties) for row in range(2)]
    assert [len(all_there_is) for all_there_is in wanted] == [1 + 3 + 9 + 27 + 81] * 2
    got = beam(
        model,
        batch,
        121,
        nbest=121,
        max_length=4,
        length_penalty=penalties.length,
        coverage_penalty=penalties.coverage,
        overlap_penalty=penalties.overlap,
        attention=False,
    )
    for some, others in zip(got, wanted, strict=True):
        assert_found(some, others)
    best = beam(
        model,
        batch,
        121,
        max_length=4,
        length_penalty=penalties.length,
        coverage_penalty=penalties.coverage,
        overlap_penalty=penalties.overlap,
        attention=False,
    )
    for some, others in zip(best, wanted, strict=True):
        assert_found(some, others[:1])


beams = st.fixed_dictionaries(
    {
        "width": st.integers(1, 6),
        "max_length": st.integers(1, 6),
        "length": st.sampled_from([0.0, -1.0, -0.3, 0.6, 1.0, 2.0]),
        "coverage": st.sampled_from([0.0, 0.0, 0.2, 1.0]),
        "overlap": st.sampled_from([0.0, 0.0, 0.3, 2.0]),
        "rank": st.integers(1, 6),
        "no_repeat": st.sampled_from([None, None, 1, 2]),
        "shortest": st.sampled_from([0, 0, 2]),
    }
)


LATE = {"width": 6, "max_length": 6, "length": -1.0, "coverage": 0.0, "overlap": 0.0, "rank": 6}
"""The best answer may end late."""


def check_against_slow_beam(
    model, batch, width, max_length, length, coverage, overlap, rank, no_repeat=None, shortest=0
):
    penalties, nbest, shortest = Penalties(length, coverage, overlap), min(rank, width), min(shortest, max_length - 1)
    rules = [at_least(shortest), *([] if no_repeat is None else [no_run_twice(no_repeat)])]
    got = beam(
        model,
        batch,
        width,
        nbest=nbest,
        max_length=max_length,
        length_penalty=length,
        coverage_penalty=coverage,
        overlap_penalty=overlap,
        min_length=shortest,
        no_repeat_ngram=no_repeat,
    )
    for row, found in enumerate(got):
        for stop_early in (True, False):
            options = {"stop_early": stop_early, "rules": rules}
            wanted = slow_beam(model, sentence_of(batch, row), width, max_length, penalties, nbest, **options)
            assert_found(found, wanted)


@settings(max_examples=120)
@example(seed=0, end=2.0, sharp=2.0, asked=LATE)
@given(
    seed=st.integers(0, 10_000),
    end=st.sampled_from([0.0, 1.0, 3.0]),
    sharp=st.sampled_from([1.0, 2.0, 4.0]),
    asked=beams,
)
def test_beam_equals_a_plain_one_that_may_also_never_stop_early(seed, end, sharp, asked):
    model = random_table(seed, end=end, sharpness=sharp)
    check_against_slow_beam(model, Batch.from_lists([[3, 4, 5], [4, 5, 6]]), **asked)


@settings(max_examples=25)
@given(name=st.sampled_from(SEQ2SEQ), seed=st.integers(0, 1000), asked=beams)
def test_beam_equals_a_plain_one_on_random_models(name, seed, asked):
    model = make_model(name, vocabulary=7, seed=seed)
    if name not in LOOKING:
        asked = asked | {"coverage": 0.0, "overlap": 0.0}
    check_against_slow_beam(model, make_batch("seq2seq", 7, lengths=(4, 2)), **asked)


def test_a_search_stops_as_soon_as_it_is_sure():
    model = random_table(3, end=4.0)
    batch = Batch.from_lists([[3, 4, 5]])
    beam(model, batch, 2, max_length=50)
    assert model.fed < 10


# Fields of a hypothesis


def test_log_probability_is_forwards_own_and_score_follows_from_it(case):
    model, batch = case
    penalties = Penalties(0.8, *((0.3, 0.5) if model.source_sites else ()))
    own = {f"{name}_penalty": getattr(penalties, name) for name in ("length", "coverage", "overlap")}
    penalised = beam(model, batch, 4, nbest=3, max_length=MAX_LENGTH, **own)
    plain = all_kinds(model, batch, max_length=MAX_LENGTH)
    for row in range(batch.size):
        found = plain[row] + penalised[row]
        readings = replay(model, sentence_of(batch, row), [words_of(one.tokens) for one in found])
        for number, (one, said) in enumerate(zip(found, readings, strict=True)):
            assert one.log_probability == pytest.approx(log_probability(said, one.tokens), rel=1e-9)
            score = one.log_probability
            if number >= len(plain[row]):
                looks = mean_attention(said, model.source_sites, len(one.tokens)) if model.source_sites else None
                score = penalties.score(one.log_probability, len(one.tokens), looks)
            assert one.score == pytest.approx(score, rel=1e-9)


def test_attention_is_that_of_reading_the_answer_again(case):
    model, batch = case
    for row, found in enumerate(all_kinds(model, batch, max_length=MAX_LENGTH)):
        sentence = sentence_of(batch, row)
        encoder = encoder_sites(model, sentence)
        readings = replay(model, sentence, [words_of(one.tokens) for one in found])
        for one, said in zip(found, readings, strict=True):
            assert one.attention.keys() == said.looks.keys()
            for site in one.attention.keys() - encoder:
                assert one.attention[site].shape[1] == len(one.tokens), "a row for each word"
            for site in one.attention:
                rows = sentence.source.shape[1] if site in encoder else len(one.tokens)
                assert_same_attention({site: one.attention[site][:, :rows]}, {site: said.looks[site][:, :rows]})


def encoder_sites(model, sentence):
    tape = Tape()
    model.encode(sentence, tape=tape)
    return set(tape)


@pytest.mark.parametrize("name", LOOKING)
def test_attention_differs_between_hypotheses_of_a_sentence(name):
    """Without this a search that mixes up its hypotheses could pass the test above."""
    model, batch = lively_case(name, "seq2seq")
    differ = []
    for found in beam(model, batch, 4, nbest=4, max_length=MAX_LENGTH + 1, min_length=MAX_LENGTH):
        for site in model.source_sites:
            first, *others = (one.attention[site][:, :MAX_LENGTH] for one in found)
            differ += [float((other - first).abs().max()) for other in others]
    assert max(differ) > 1e-3


# Batch invariance


def test_a_sentence_alone_is_answered_as_in_a_batch(case):
    model, batch = case
    for width in (1, 3):
        together = beam(model, batch, width, nbest=width, length_penalty=0.5, max_length=MAX_LENGTH)
        for row in range(batch.size):
            sentence = sentence_of(batch, row)
            (alone,) = beam(model, sentence, width, nbest=width, length_penalty=0.5, max_length=MAX_LENGTH)
            compare(together[row], alone)
    together = greedy(model, batch, max_length=MAX_LENGTH)
    for row in range(batch.size):
        sentence = sentence_of(batch, row)
        compare([together[row]], greedy(model, sentence, max_length=MAX_LENGTH))


def compare(some, others):
    assert [one.tokens for one in some] == [one.tokens for one in others]
    for one, other in zip(some, others, strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-9)
        assert one.log_probability == pytest.approx(other.log_probability, rel=1e-9)
        shapes = [{site: weights.shape for site, weights in found.attention.items()} for found in (one, other)]
        assert shapes[0] == shapes[1], "padding changes nothing"
        assert_same_attention(one.attention, other.attention)


@pytest.mark.parametrize("search", ["greedy", "beam", "sample"])
def test_one_memory_serves_all_hypotheses_of_a_sentence(case, search, monkeypatch):
    model, batch = case
    sizes = set()
    step = model.step

    def watched(memory, state, tokens, **more):
        sizes.add((pytree.row_count(memory), pytree.row_count(state), len(tokens)))
        return step(memory, state, tokens, **more)

    monkeypatch.setattr(model, "step", watched)
    width = {"greedy": 1, "beam": 3, "sample": 2}[search]
    if search == "greedy":
        greedy(model, batch, max_length=3)
    elif search == "beam":
        beam(model, batch, width, max_length=3)
    else:
        sample(model, batch, width, max_length=3)
    assert (4, 4 * width, 4 * width) in sizes
    assert all(hypotheses == fed == width * sentences for sentences, hypotheses, fed in sizes)  # some may be done


def test_single_precision_finds_the_same_answers(case):
    model, batch = case
    single = copy.deepcopy(model).float()
    for some, others in zip(all_greedy_and_beam(single, batch), all_greedy_and_beam(model, batch), strict=True):
        assert [one.tokens for one in some] == [one.tokens for one in others]
        assert [one.score for one in some] == pytest.approx([one.score for one in others], rel=1e-3)


def all_greedy_and_beam(model, batch):
    return [greedy(model, batch, max_length=MAX_LENGTH), *beam(model, batch, 3, nbest=2, max_length=MAX_LENGTH)]


@pytest.mark.parametrize("name", presets_for("sequence_to_sequence"))
def test_half_precision_models_search_in_single_precision(name):
    model, batch = make_model(name, scale=0.5).to(torch.bfloat16), make_batch(lengths=(3, 2))
    penalty = 0.2 if model.source_sites else 0.0
    for found in beam(model, batch, 3, nbest=2, coverage_penalty=penalty, overlap_penalty=penalty, max_length=4):
        for one in found:
            assert math.isfinite(one.score)
            assert one.score != float(torch.tensor(one.score).bfloat16()), "more digits than bfloat16 has"

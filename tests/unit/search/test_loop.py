"""The search loop: its effects on the model, and what it records."""

import gc
import weakref

import pytest
import torch

from helpers.search import MAX_LENGTH, beam, greedy, lively_case, make_batch, make_model, sample
from helpers.table_model import Table
from saccade.batch import EOS, Batch
from saccade.errors import NumericsError
from saccade.models import MODELS, build_seq2seq, presets_for
from saccade.search import Banned, Greedy, Limits, Strategy, run
from saccade.search.loop import _is_check_due

SEARCHES = {
    "greedy": lambda model, batch, **limits: [[one] for one in greedy(model, batch, **limits)],
    "beam": lambda model, batch, **limits: beam(model, batch, 3, nbest=2, **limits),
    "sample": lambda model, batch, **limits: sample(
        model, batch, 3, generator=torch.Generator().manual_seed(3), **limits
    ),
}


@pytest.fixture(params=SEARCHES)
def search(request):
    return SEARCHES[request.param]


def modes(model):
    return {name: module.training for name, module in model.named_modules()}


def test_every_part_of_the_model_gets_its_mode_back(search):
    model, batch = make_model("transformer-base"), make_batch()
    for training in (True, False):
        model.train(training)
        model.encoder.train(not training)  # as when part of a model is frozen
        before = modes(model)
        assert set(before.values()) == {True, False}
        search(model, batch, max_length=3)
        assert modes(model) == before


def test_every_part_of_the_model_gets_its_mode_back_after_an_error(search):
    model, batch = make_model("bahdanau").train(), make_batch()
    model.encoder.eval()
    before = modes(model)

    def stumble(log_probabilities, written, steps_left):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        search(model, batch, max_length=3, constraints=[stumble])
    assert modes(model) == before


def test_a_search_sees_the_model_without_dropout(search):
    model = build_seq2seq(
        "luong-general", 9, 9, encoder={"width": 8}, decoder={"width": 8, "dropout": 0.9}, embedding=6
    )
    batch = make_batch()
    model.train()
    first, second = ([one.tokens for found in search(model, batch, max_length=6) for one in found] for _ in range(2))
    assert first == second


def test_a_search_leaves_no_gradients(search):
    model, batch = make_model("luong-dot"), make_batch()
    for found in search(model, batch, max_length=3):
        for one in found:
            assert not any(weights.requires_grad for weights in one.attention.values())
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("name", ["bahdanau", "lstmn", "transformer-base"])
def test_without_attention_nothing_is_recorded_and_the_words_are_the_same(search, name, monkeypatch):
    model, batch = lively_case(name, "seq2seq")
    recorded = search(model, batch, max_length=MAX_LENGTH)
    tapes = set()
    step = model.step

    def watched(*args, tape):
        tapes.add(tape)
        return step(*args, tape=tape)

    monkeypatch.setattr(model, "step", watched)
    silent = search(model, batch, max_length=MAX_LENGTH, attention=False)
    assert tapes == {None}
    for some, others in zip(recorded, silent, strict=True):
        assert [one.tokens for one in some] == [one.tokens for one in others]
        assert [one.score for one in some] == pytest.approx([one.score for one in others], rel=1e-9)
        assert all(one.attention for one in some)
        assert not any(one.attention for one in others)


@pytest.fixture
def rarely_asked(monkeypatch):
    """As on a GPU, where the loop reads flags only now and then: here never."""
    monkeypatch.setattr("saccade.search.loop._is_check_due", lambda t, device: False)


@pytest.mark.parametrize("name", ["luong-general", "lstmn", "transformer-big"])
def test_going_on_after_the_end_changes_nothing(search, name, request):
    model, batch = lively_case(name, "seq2seq")
    wanted = search(model, batch, max_length=2 * MAX_LENGTH)
    request.getfixturevalue("rarely_asked")
    for some, others in zip(search(model, batch, max_length=2 * MAX_LENGTH), wanted, strict=True):
        if search is not SEARCHES["sample"]:  # sampling goes on drawing
            assert [one.tokens for one in some] == [one.tokens for one in others]
            # with fewer rows, once some were removed, sums may round differently
            assert [one.score for one in some] == pytest.approx([one.score for one in others], rel=1e-12)
        assert all(one.tokens.count(EOS) == one.finished for one in some)


def test_a_broken_model_is_noticed_at_the_end_at_the_latest(search, rarely_asked):
    model, batch = make_model("bahdanau"), make_batch()
    with torch.no_grad():
        model.target_embedding.weight[7] = float("nan")
    with pytest.raises(NumericsError, match=r"target_embedding\.weight holds 6 "):
        search(model, batch, max_length=4, prefix=[[], [5, 7], []])


@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_an_answer_ends_with_eos_or_at_max_length(search, max_length):
    finished = set()
    for name in ("cho", "luong-general", "self-attentive-rnn"):
        model, batch = lively_case(name, "seq2seq")
        for found in search(model, batch, max_length=max_length):
            for one in found:
                finished.add(one.finished)
                assert one.tokens.count(EOS) == one.finished
                if one.finished:
                    assert one.tokens[-1] == EOS
                    assert len(one.tokens) <= max_length
                else:
                    assert len(one.tokens) == max_length
    assert finished == {True, False}


def test_the_numbers_of_a_hypothesis_are_plain_python(search):
    model, batch = lively_case("bahdanau", "seq2seq")
    for found in search(model, batch, max_length=4):
        for one in found:
            assert {type(token) for token in one.tokens} == {int}
            assert type(one.score) is type(one.log_probability) is float
            assert type(one.finished) is bool


def test_a_model_that_was_searched_with_can_go():
    gone = {}
    for name in presets_for("sequence_to_sequence"):
        model = build_seq2seq(name, 11, 11, **MODELS[name].tiny)
        greedy(model, Batch.from_lists([[4, 5]]), max_length=4)
        gone[name] = weakref.ref(model)
        del model
    gc.collect()
    assert [name for name, model in gone.items() if model() is not None] == []


class Counting(Table):
    """Counts the rows of each step. Sentence 3 ends at once, the others after two words."""

    def __init__(self):
        def opinion(sentence, words):
            return {EOS: 0.9, 4: 0.1} if sentence == 3 or len(words) == 2 else {4: 0.8, EOS: 0.2}

        super().__init__(9, opinion)
        self.rows = []

    def step(self, memory, state, tokens, **options):
        self.rows.append(len(tokens))
        return super().step(memory, state, tokens, **options)


class Stubborn(Greedy):
    """A strategy that cannot continue with some of its sentences."""

    keep = Strategy.keep


ANSWERS = [[EOS], [4, 4, EOS], [4, 4, EOS], [4, 4, EOS]]


def of_all_alone(logs, written, left):
    return logs


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, [4, 3, 3]),
        ({"constraints": [Banned([[8]])]}, [4, 3, 3]),
        ({"constraints": [of_all_alone]}, [4, 4, 4]),
        ({"strategy": Stubborn}, [4, 4, 4]),
        ({"beams": True}, [4, 4, 4]),
    ],
    ids=["plain", "a rule for each", "a rule for all", "a strategy that keeps all", "all that was kept is asked for"],
)
def test_sentences_that_are_done_are_left_behind_where_nothing_holds_them(options, rows):
    model, strategy = Counting(), options.get("strategy", Greedy)()
    more = {name: value for name, value in options.items() if name != "strategy"}
    found = run(model, Batch.from_lists([[3], [4], [5], [6]]), strategy, Limits(max_length=9, **more))
    assert [one.tokens for (one,) in found] == ANSWERS
    assert model.rows == rows


def test_a_few_that_are_done_are_not_worth_the_copy():
    """One of twenty is done after the first step: removing its row costs more than keeping it."""
    model = Counting()
    found = greedy(model, Batch.from_lists([[3], *[[4 + row % 3] for row in range(19)]]), max_length=9)
    assert [one.tokens for one in found] == [[EOS], *[[4, 4, EOS]] * 19]
    assert model.rows == [20, 20, 20]


def test_a_strategy_that_cannot_replace_sentences_says_what_to_write():
    with pytest.raises(TypeError, match=r"Stubborn does not support replacing sentences: write replace\(\)"):
        Strategy.replace(Stubborn(), torch.tensor([0]), Stubborn(), torch.tensor([0]))


def test_numbers_on_a_gpu_are_asked_for_every_eighth_step():
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert [t for t in range(20) if _is_check_due(t, gpu)] == [7, 15]
    assert all(_is_check_due(t, cpu) for t in range(20))

"""Searches by CUDA graph replay equal plain searches: on a GPU, else with graphs simulated on the CPU."""

import copy
import gc
import random
import weakref
from collections import Counter
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from helpers.cuda_graphs import play_device
from saccade.batch import EOS, PAD, Batch
from saccade.errors import Interruption, NumericsError
from saccade.models import MODELS, build_seq2seq, presets_for
from saccade.models.build import configure
from saccade.models.pointer import OutputConfig, build_pointer
from saccade.runtime import StepEngine, engine_of, exactness, step_engine
from saccade.search import SearchConfig, decode, graphed_search

REAL = torch.cuda.is_available()
DEVICE = "cuda" if REAL else "cpu"
NAMES = (
    list(presets_for("sequence_to_sequence")) if REAL else ["bahdanau", "luong-local-p"]
)  # torch's CPU code reads lengths
needs_gpu = pytest.mark.skipif(not REAL, reason="needs a CUDA device")
WORDS = 11


@pytest.fixture(autouse=True)
def device(monkeypatch):
    if not REAL:
        play_device(monkeypatch)
        monkeypatch.setattr("saccade.search.decoding._continuous", lambda *given: None)


def batches(count):
    """Of a few shapes, each several times."""
    chance = random.Random(1)
    for number in range(count):
        size = (5, 9)[number % 2]
        rows = [
            [chance.randrange(4, WORDS) for _ in range(chance.randrange(1, size))] for _ in range(chance.choice((3, 4)))
        ]
        rows[0] = [4] * size
        yield Batch.from_lists(rows).to(DEVICE)


@torch.no_grad()
def scale(model, factor):
    for parameter in model.parameters():
        parameter.mul_(factor)


def copying(batch):
    """The batch with what each source token writes if it is copied; every third is an unknown word."""
    places = torch.arange(batch.source.shape[1], device=batch.source.device)
    copies = torch.where(places % 3 == 0, WORDS + places, batch.source).masked_fill(~batch.source_mask, PAD)
    return replace(batch, copies=copies)


@pytest.mark.parametrize("lengths", ["one", "own"])
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", [*NAMES, "pointer"])
def test_the_same_answers(monkeypatch, name, beam, lengths):
    torch.manual_seed(0)
    if name == "pointer":
        family = configure("bahdanau", **MODELS["bahdanau"].tiny)
        model = build_pointer(family, WORDS, OutputConfig(kind="pointer")).double().to(DEVICE)
    else:
        model = build_seq2seq(name, WORDS, WORDS, **MODELS[name].tiny).double().to(DEVICE)
    config = SearchConfig(beam=beam, nbest=beam, length_penalty=0.6)
    replays = []
    run = graphed_search._CapturedSearch.run
    monkeypatch.setattr(
        graphed_search._CapturedSearch, "run", lambda self, *given: replays.append(1) or run(self, *given)
    )
    for number, batch in enumerate(map(copying, batches(10)) if name == "pointer" else batches(10)):
        if number == 6:
            before = dict(model.__dict__[graphed_search._NAME]._captured)
            scale(model, 0.9)
        most = [12 if lengths == "one" else 6 + 2 * row for row in range(batch.size)]
        ours = decode(model, batch, config, lengths=most)
        with monkeypatch.context() as patch:
            patch.setattr("saccade.search.decoding.graphed_search", lambda *given, **options: None)
            theirs = decode(model, batch, config, lengths=most)
        for one, other in zip(ours, theirs, strict=True):
            assert [h.tokens for h in one] == [h.tokens for h in other]
            assert [h.finished for h in one] == [h.finished for h in other]
            for mine, usual in zip(one, other, strict=True):
                assert mine.score == pytest.approx(usual.score)
                assert mine.slots == usual.slots
                for site, weights in usual.attention.items():
                    torch.testing.assert_close(mine.attention[site], weights)
    assert not model.__dict__[graphed_search._NAME]._failed
    assert model.__dict__[graphed_search._NAME]._captured == before, "new weights need no new capture"
    assert len(replays) >= 6


@pytest.mark.parametrize("way", ["recorded", "step by step"])
@pytest.mark.parametrize("beam", [1, 3])
def test_answers_longer_than_the_room_made_at_first(monkeypatch, beam, way):
    """A Transformer's keys begin with room for some words and are moved when it is full."""
    torch.manual_seed(0)
    model = build_seq2seq("transformer-base", WORDS, WORDS, **MODELS["transformer-base"].tiny).double()
    config = SearchConfig(beam=beam, nbest=beam, length_penalty=2.0)
    batch = next(batches(1))
    usual = decode(model, batch.to("cpu"), config, lengths=[50] * batch.size)
    if way == "step by step":
        monkeypatch.setattr("saccade.search.decoding.graphed_search", lambda *given, **options: None)
    ours = decode(model.to(DEVICE), batch, config, lengths=[50] * batch.size)
    assert [[h.tokens for h in row] for row in ours] == [[h.tokens for h in row] for row in usual]
    assert len(ours[0][0].tokens) >= 40


@pytest.fixture
def counted(monkeypatch):
    """Count replays of searches and packings of weights."""
    monkeypatch.setattr(exactness, "native_checksum", lambda tensors: None)  # a GPU, simulated here, has no C kernels
    counts = Counter()

    def count(kind, name):
        method = getattr(kind, name)

        def counting(self, *given):
            counts[name] += 1
            return method(self, *given)

        monkeypatch.setattr(kind, name, counting)

    count(graphed_search._CapturedSearch, "run")
    count(graphed_search._PackedEngine, "repack")
    return counts


def recordings_of(model):
    return list(model.__dict__[graphed_search._NAME]._captured.values())


@pytest.mark.parametrize("change", ["in sight", "out of sight", "elsewhere"])
@pytest.mark.parametrize("name", ["bahdanau", "transformer-base", "step by step"])
def test_a_search_is_by_the_weights_of_now(counted, name, change):
    torch.manual_seed(0)
    preset = "bahdanau" if name == "step by step" else name
    model = build_seq2seq(preset, WORDS, WORDS, **MODELS[preset].tiny).double().to(DEVICE)
    if name == "step by step":
        model.step = lambda *given, **more: type(model).step(model, *given, **more)  # a replaced method is not packed
        assert isinstance(engine_of(model), StepEngine)
    batch = next(batches(1))

    def ask():
        return decode(model, batch, SearchConfig(), lengths=[9] * batch.size)[0][0].log_probability

    before, made = [ask() for _ in range(3)], recordings_of(model)
    if change == "in sight":
        scale(model, 1.5)
    for parameter in model.parameters():
        if change == "out of sight":
            parameter.data.mul_(1.5)  # it has its own version counter
        if change == "elsewhere":
            parameter.data = parameter.data * 1.5
    after = [ask() for _ in range(3)]
    assert (recordings_of(model) == made) == (change != "elsewhere")
    assert counted == {"run": 6 if change == "out of sight" else 5, "repack": 2}
    model.__dict__.pop(graphed_search._NAME)
    assert before == pytest.approx([before[0]] * 3)
    assert after == pytest.approx([ask()] * 3)  # the first search is not captured
    assert after[0] != pytest.approx(before[0])


@needs_gpu
def test_a_writer_that_cannot_be_recorded_writes_without(caplog, monkeypatch):
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).to(DEVICE)
    batch, before = next(batches(1)), torch.cuda.current_stream()

    def looking(model, precision="full"):
        assert next(model.parameters()).sum().item() is not None
        return engine_of(model, precision)

    monkeypatch.setattr("saccade.search.graphed_search.engine_of", looking)
    found = [decode(model, batch, SearchConfig(), lengths=[9] * batch.size)[0][0].tokens for _ in range(4)]
    assert found == [found[0]] * 4
    assert torch.cuda.current_stream() == before
    assert [message for message in caplog.messages if "decoding continues without them" in message]


@pytest.mark.parametrize("way", ["packed", "step by step"])
def test_a_model_that_learns_is_recorded_without_dropout_and_learns_on(counted, way, monkeypatch):
    torch.manual_seed(0)
    tiny = {**MODELS["transformer-base"].tiny, "dropout": 0.5}
    model = build_seq2seq("transformer-base", WORDS, WORDS, **tiny).double().to(DEVICE)
    if way == "step by step":
        monkeypatch.setattr("saccade.search.graphed_search.engine_of", step_engine)
        monkeypatch.setattr("saccade.search.loop.engine_of", step_engine)
    batch = next(batches(1))
    model.encoder.eval()  # a part replaced by hand
    modes = [part.training for part in model.modules()]
    found = []
    for _ in range(4):
        found.append(decode(model, batch, SearchConfig(), lengths=[20] * batch.size)[0][0].log_probability)
        assert [part.training for part in model.modules()] == modes
    assert found == pytest.approx([found[0]] * 4)
    assert counted["run"] == 3


def test_who_hooks_into_a_model_is_called(counted):
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).to(DEVICE)
    batch, calls = next(batches(1)), []
    for _ in range(3):
        decode(model, batch, SearchConfig(), lengths=[9] * batch.size)
    assert counted["run"] == 2
    model.output.register_forward_hook(lambda *given: calls.append(1))
    decode(model, batch, SearchConfig(), lengths=[9] * batch.size)
    assert len(calls) == 9


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ({"sample": True}, {}),
        ({"min_length": 2}, {}),
        ({"beam": 2, "coverage_penalty": 0.5}, {}),
        ({"beam": 2, "overlap_penalty": 0.5}, {}),
        ({}, {"banned": [[5]]}),
    ],
    ids=["draws", "a minimum", "coverage", "overlap", "words that are banned"],
)
def test_what_needs_the_processor_in_each_step_is_not_recorded(counted, settings, asked):
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).double().to(DEVICE)
    batch = next(batches(1))
    for _ in range(3):
        decode(model, batch, SearchConfig(**settings), lengths=[5] * batch.size, **asked)
    assert not counted


@needs_gpu
def test_autocast_goes_without(counted):
    torch.manual_seed(0)
    model = build_seq2seq("transformer-base", WORDS, WORDS, **MODELS["transformer-base"].tiny).to(DEVICE)
    batch = next(batches(1))
    with torch.autocast("cuda", torch.bfloat16):
        for _ in range(3):
            decode(model, batch, SearchConfig(), lengths=[9] * batch.size)
    assert not counted


def exchanged(model):
    model.output = torch.nn.Linear(model.output.in_features, WORDS).double().to(DEVICE)


def sharpened(model):
    model.attention.align.temperature = 0.05


def one_weight(model):
    model.output.bias.data[7] += 1e-3


@pytest.mark.parametrize("most", [5, 9], ids=["one piece", "two pieces"])
@pytest.mark.parametrize("change", [exchanged, sharpened, one_weight])
def test_a_search_is_by_the_parts_and_settings_of_now(change, most):
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).double().to(DEVICE)
    batch = next(batches(1))

    def ask():
        return [h.log_probability for (h,) in decode(model, batch, SearchConfig(), lengths=[most] * batch.size)]

    before = [ask() for _ in range(3)]
    change(model)
    after = [ask() for _ in range(3)]
    model.__dict__.pop(graphed_search._NAME)
    wanted = pytest.approx(ask(), abs=1e-9)
    assert [found == wanted for found in (*before, *after)] == [False] * 3 + [True] * 3


def test_stop_is_asked_between_replays_and_leaves_the_recording_good(counted):
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).double().to(DEVICE)
    with torch.no_grad():
        model.output.bias[EOS] -= 9  # answers of maximum length: 20 words in three graphs
    batch, asked = next(batches(1)), []

    def ask(patience=None):
        asked.clear()

        def stop():
            asked.append(1)
            if len(asked) == patience:
                raise Interruption("nobody waits")

        return decode(model, batch, SearchConfig(), lengths=[20] * batch.size, stop=stop)[0][0].tokens

    found = [ask() for _ in range(2)]
    assert len(asked) == 3
    made = recordings_of(model)
    with pytest.raises(Interruption):
        ask(patience=2)
    assert [*found, ask()] == [found[0]] * 3
    assert recordings_of(model) == made
    assert counted["run"] == 3


def test_pieces_end_with_the_last_answer():
    """If all answers end at once, one graph of three is replayed; if one continues, all three."""
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).double().to(DEVICE)
    batch, asked = next(batches(1)), []

    def ask():
        asked.clear()
        decode(model, batch, SearchConfig(), lengths=[20] * batch.size, stop=lambda: asked.append(1))
        return len(asked)

    with torch.no_grad():
        model.output.bias[EOS] += 99
    ask()  # the first search of a shape is not captured and calls `stop` before steps; how often depends on the device
    assert [ask() for _ in range(2)] == [1, 1]
    assert len(recordings_of(model)[0]._graphs) == 1, "unneeded steps are not captured"
    with torch.no_grad():
        model.output.bias[EOS] -= 198
    assert [ask() for _ in range(2)] == [3, 3]


@pytest.mark.parametrize(("length", "pieces"), [(7, 1), (8, 1), (9, 2), (16, 2), (17, 3)])
def test_a_piece_writes_eight_words(length, pieces):
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).double().to(DEVICE)
    with torch.no_grad():
        model.output.bias[EOS] -= 99
    batch, asked = next(batches(1)), []
    for _ in range(3):
        asked.clear()
        found = decode(model, batch, SearchConfig(), lengths=[length] * batch.size, stop=lambda: asked.append(1))
        assert [len(one.tokens) for (one,) in found] == [length] * batch.size
    assert len(asked) == pieces


@pytest.mark.skipif(REAL, reason="reads the operations of the simulated device")
@pytest.mark.parametrize(
    ("lengths", "order"),
    [
        ((20, 20, 20, 20), ["start 0", "start 1", "wait 0", "start 2", "wait 1", "wait 2", "read after 2"]),
        ((4, 20, 20, 20), ["start 0", "start 1", "wait 0", "wait 1", "start 2", "wait 2", "read after 2"]),
        ((4, 5, 6, 7), ["start 0", "wait 0", "read after 0"]),
    ],
    ids=["none done early", "one done early", "one piece"],
)
def test_a_piece_is_started_before_the_one_before_has_told_while_no_sentence_is_done(lengths, order):
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).double()
    with torch.no_grad():
        model.output.bias[EOS] -= 99
    batch, told = Batch.from_lists([[4, 5], [6], [7, 8, 9], [10]]), []
    for _ in range(3):
        decode(model, batch, SearchConfig(), lengths=list(lengths))
    (made,) = recordings_of(model)
    for number, piece in enumerate(made._graphs):
        piece.ready = SimpleNamespace(
            record=partial(told.append, f"start {number}"), synchronize=partial(told.append, f"wait {number}")
        )
    ready = [piece.ready for piece in made._graphs]
    made._copy_stream.wait_event = lambda event: told.append(f"read after {ready.index(event)}")
    decode(model, batch, SearchConfig(), lengths=list(lengths))
    assert told == order


def test_weights_that_are_no_numbers_are_told():
    torch.manual_seed(0)
    model = build_seq2seq("transformer-base", WORDS, WORDS, **MODELS["transformer-base"].tiny).to(DEVICE)
    batch = next(batches(1))
    for _ in range(3):
        decode(model, batch, SearchConfig(), lengths=[9] * batch.size)
    scale(model, torch.nan)
    with pytest.raises(NumericsError, match=r"parameter .* NaN"):
        decode(model, batch, SearchConfig(), lengths=[9] * batch.size)


def test_a_model_takes_its_searches_with_it_and_a_copy_has_none():
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).to(DEVICE)
    batch = next(batches(1))
    for _ in range(3):
        decode(model, batch, SearchConfig(), lengths=[9] * batch.size)
    assert model.__dict__[graphed_search._NAME] is not None
    assert copy.deepcopy(model).__dict__[graphed_search._NAME] is None
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None

"""When searches are captured, replayed or abandoned; the graphs themselves need a GPU, see test_graphed_search.py."""

import logging
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from saccade.batch import Batch
from saccade.errors import Interruption, NumericsError
from saccade.models import MODELS, build_seq2seq
from saccade.runtime import engine as writers
from saccade.runtime import engine_of
from saccade.search import graphed_search
from saccade.search.greedy import Greedy

WORDS = 11
FOUND = [["an answer"]]


class Packing(graphed_search._PackedEngine):
    """Counts captures instead of making them."""

    made = 0

    def __init__(self, model, precision, parameters, now):
        Packing.made += 1
        self.parameters, self.places, self.packed = parameters, now, 1

    def repack(self):
        self.packed += 1


class Recording:
    """Raises a given error, and returns FOUND after that."""

    def __init__(self, model, packing, strategy, form, device):
        self.packing, self.form, self.happens = packing, form, []

    def run(self, batch, lengths, stop=None, same_model=None):
        if same_model is not None and not same_model():
            raise graphed_search._ModelChanged
        if self.happens:
            raise self.happens.pop(0)
        return FOUND


@pytest.fixture
def asked(monkeypatch):
    """A function that searches, with the searches of its model as an attribute."""
    monkeypatch.setattr(graphed_search, "_PackedEngine", Packing)
    monkeypatch.setattr(graphed_search, "_CapturedSearch", Recording)
    monkeypatch.setattr(Packing, "made", 0)
    torch.manual_seed(0)
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).eval()

    def ask(size=5, precision="full"):
        batch = Batch.from_lists([[4] * size])
        return ask.searches.find(model, batch, Greedy, "greedy", [9], None, precision)

    ask.model, ask.searches = model, graphed_search._SearchCache()
    return ask


def the_recording(asked):
    (one,) = asked.searches._captured.values()
    return one


def test_weights_are_packed_as_for_evaluation(monkeypatch):
    """Packing may read whether the model is in training mode; this needs no graph."""
    for name in ("CUDAGraph", "Stream", "graph_pool_handle"):
        monkeypatch.setattr(torch.cuda, name, lambda *given: SimpleNamespace(replay=lambda: None))
    monkeypatch.setattr(graphed_search, "recording", lambda *given: nullcontext())
    model = build_seq2seq("bahdanau", WORDS, WORDS, **MODELS["bahdanau"].tiny).train()
    modes = []
    told = lambda model, precision: modes.append({part.training for part in model.modules()})  # noqa: E731
    monkeypatch.setattr("saccade.search.graphed_search.engine_of", told)
    graphed_search._PackedEngine(model, "full", list(model.parameters()), None)
    assert modes == [{False}]
    assert all(part.training for part in model.modules())


def test_the_first_of_a_shape_goes_without(asked):
    assert asked() is None
    assert Packing.made == 0, "a single search is not captured"
    assert asked() is FOUND
    assert asked(size=30) is None


def test_all_recordings_of_a_precision_share_a_packing(asked):
    for size in (5, 5, 30, 30):
        asked(size)
    assert Packing.made == 1
    for _ in range(2):
        asked(precision="int8")
    assert Packing.made == 2


def test_weights_that_changed_in_sight_are_packed_again_once(asked):
    asked()
    asked()
    before = the_recording(asked)
    with torch.no_grad():
        next(asked.model.parameters()).mul_(2)
    for _ in range(3):
        assert asked() is FOUND
    assert the_recording(asked) is before
    assert before.packing.packed == 2


def test_weights_that_changed_out_of_sight_are_packed_again_when_the_recording_tells(asked):
    asked()
    asked()
    the_recording(asked).happens = [graphed_search._WeightsChanged()]
    assert asked() is FOUND
    assert the_recording(asked).packing.packed == 2


def test_weights_that_never_stay_are_left_to_the_usual_search(asked):
    asked()
    asked()
    the_recording(asked).happens = [graphed_search._WeightsChanged(), graphed_search._WeightsChanged()]
    assert asked() is None
    assert asked() is FOUND


def elsewhere(model):
    for parameter in model.parameters():
        parameter.data = parameter.data.clone()


def exchanged(model):
    model.load_state_dict({name: part.clone() for name, part in model.state_dict().items()}, assign=True)


def one_exchanged(model):
    model.output.bias = nn.Parameter(torch.ones_like(model.output.bias))


@pytest.mark.parametrize("move", [elsewhere, exchanged, one_exchanged])
def test_weights_that_lie_elsewhere_need_another_recording(asked, move):
    asked()
    asked()
    before = the_recording(asked)
    move(asked.model)
    assert asked() is FOUND
    assert the_recording(asked) is not before
    now = {parameter.data_ptr() for parameter in asked.model.parameters()}
    assert {parameter.data_ptr() for parameter in the_recording(asked).packing.parameters} == now


def test_what_cannot_be_packed_is_tried_once_and_told(asked, monkeypatch, caplog):
    tried = []

    class Refused(Packing):
        def __init__(self, *given):
            tried.append(given)
            raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(graphed_search, "_PackedEngine", Refused)
    with caplog.at_level(logging.WARNING):
        assert [asked() for _ in range(4)] == [None] * 4
    assert len(tried) == 1
    assert caplog.messages == [
        "CUDA graphs failed; decoding continues without them: operation not permitted when stream is capturing",
    ]


def test_a_recording_that_fails_frees_everything(asked):
    asked()
    asked()
    the_recording(asked).happens = [RuntimeError("out of memory")]
    assert asked() is None
    assert not asked.searches._captured
    assert not asked.searches._engines


@pytest.mark.parametrize(("error", "half_done"), [(KeyboardInterrupt(), True), (Interruption("client gone"), False)])
def test_only_a_recording_that_may_be_half_done_is_made_anew(asked, error, half_done):
    asked()
    asked()
    before = the_recording(asked)
    before.happens = [error]
    with pytest.raises(type(error)):
        asked()
    assert asked() is FOUND
    assert (the_recording(asked) is not before) == half_done


def output_exchanged(model):
    model.output = nn.Linear(model.output.in_features, model.output.out_features)


def temperature_set(model):
    model.attention.align.temperature = 0.05


@pytest.mark.parametrize("change", [output_exchanged, temperature_set])
def test_a_model_of_other_parts_or_settings_is_recorded_anew(asked, change):
    asked()
    asked()
    before = the_recording(asked)
    change(asked.model)
    assert asked() is FOUND
    assert the_recording(asked) is not before


def test_only_so_many_shapes_are_kept(asked, monkeypatch):
    monkeypatch.setattr(graphed_search, "MOST", 2)
    for size in (4, 8, 12):
        asked(size)
        asked(size)
    assert [recording.form.size for recording in asked.searches._captured.values()] == [8, 12]
    asked(4)
    assert len(asked.searches._captured) == 2


def test_shapes_that_never_come_again_are_forgotten(asked, monkeypatch):
    monkeypatch.setattr(graphed_search, "MOST", 1)
    for size in range(4, 200, 4):
        asked(size)
    assert 0 < len(asked.searches._seen) <= 8


@pytest.mark.parametrize(
    ("length", "room", "wanted"), [(5, None, 8), (8, None, 8), (5, 6, 6), (5, 100, 8), (5, 5, 5), (70, 71, 71)]
)
def test_lengths_are_rounded_up_to_no_more_than_there_is_room_for(length, room, wanted):
    assert graphed_search._rounded(length, room) == wanted


def test_weights_that_become_no_numbers_in_sight_are_told_before_they_are_packed(asked):
    asked()
    asked()
    before = the_recording(asked).packing.packed
    with torch.no_grad():
        asked.model.output.bias[3] = torch.nan
    with pytest.raises(NumericsError, match=r"parameter output\.bias holds 1 "):
        asked()
    assert the_recording(asked).packing.packed == before


def test_weights_that_became_no_numbers_out_of_sight_are_told_before_they_are_packed(asked):
    asked()
    asked()
    asked.model.output.bias.data[3] = torch.nan
    the_recording(asked).happens = [graphed_search._WeightsChanged()]
    with pytest.raises(NumericsError, match=r"parameter output\.bias holds 1 "):
        asked()
    assert the_recording(asked).packing.packed == 1


def test_weights_that_are_no_numbers_are_told_before_they_are_recorded(asked):
    asked.model.output.bias.data[3] = torch.nan
    assert asked() is None
    with pytest.raises(NumericsError, match=r"parameter output\.bias holds 1 "):
        asked()
    assert Packing.made == 0


def test_parameters_that_do_not_tell_are_not_recorded(asked, caplog):
    with torch.inference_mode():
        asked.model.output.bias = nn.Parameter(torch.zeros(WORDS), requires_grad=False)
    with caplog.at_level(logging.INFO):
        assert [asked() for _ in range(3)] == [None] * 3
    assert caplog.messages == [
        "CUDA graphs disabled for decoding: changes of the model's parameters cannot be detected",
    ]


def test_what_is_made_while_a_graph_is_recorded_is_not_kept(asked, monkeypatch):
    monkeypatch.setattr(writers, "is_recorded", lambda tensor: True)
    one, other = engine_of(asked.model), engine_of(asked.model)
    assert one is not other
    monkeypatch.undo()
    assert engine_of(asked.model) is engine_of(asked.model)
    assert engine_of(asked.model) not in (one, other)

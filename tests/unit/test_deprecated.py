"""Deprecated names work for one release and warn with the new name."""

import importlib

import pytest
import torch

from helpers.models import tiny
from helpers.recipes import MODEL, untrained
from saccade.api import Model
from saccade.batch import Batch
from saccade.models.base import Seq2Seq
from saccade.prediction import NOTHING, AttentionMaps, Prediction
from saccade.train.log import TrainingCallback

NAMES = [
    ("saccade", "Attention", "saccade.prediction", "AttentionMaps"),
    ("saccade.attention", "Attended", "saccade.attention", "AttentionOutput"),
    ("saccade.attention", "Past", "saccade.attention", "AttentionState"),
    ("saccade.attention", "View", "saccade.attention", "KeyMask"),
    ("saccade.kernels", "plain", "saccade.kernels", "disable_fused"),
    ("saccade.train.log", "Watcher", "saccade.train.log", "TrainingCallback"),
    ("saccade.look", "View", "saccade.look", "FigureSpec"),
]


@pytest.mark.parametrize(("module", "old", "place", "new"), NAMES)
def test_names_of_modules(module, old, place, new):
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{old} is now .*{new}"):
        found = getattr(importlib.import_module(module), old)
    assert found is getattr(importlib.import_module(place), new)


@pytest.mark.parametrize("module", ["saccade", "saccade.attention", "saccade.kernels", "saccade.look"])
def test_what_never_was_is_no_name(module):
    with pytest.raises(AttributeError, match=rf"module '{module}' has no attribute 'nothing'"):
        importlib.import_module(module).nothing  # noqa: B018


def test_batches_from_lists():
    with pytest.warns(DeprecationWarning, match=r"Batch\.of is now Batch\.from_lists"):
        found = Batch.of([[4, 5]], [[6]])
    assert torch.equal(found.source, Batch.from_lists([[4, 5]]).source)
    assert torch.equal(found.target, Batch.from_lists(targets=[[6]]).target)


def test_predictions():
    other = Prediction("b", -2.0, ["b"], AttentionMaps(NOTHING, NOTHING, {}, ()))
    found = Prediction("a", -1.0, ["a"], other.attention, alternatives=[other])
    with pytest.warns(DeprecationWarning, match=r"Prediction\.others is now Prediction\.alternatives"):
        assert found.others == [other]
    with pytest.warns(DeprecationWarning, match=r"Prediction\.as_json is now Prediction\.to_dict"):
        assert found.as_json() == found.to_dict()


def test_models_that_are_called_or_written_by_the_old_names():
    model, batch = tiny("bahdanau").eval(), Batch.from_lists([[4, 5]], [[6, 7]])
    memory = model.encode(batch)
    with pytest.warns(DeprecationWarning, match=r"Seq2Seq\.start is now Seq2Seq\.init_state"):
        state = model.start(memory, 3)
    wanted = model.step(memory, model.init_state(memory, 3), torch.tensor([4]))[0]
    assert torch.equal(model.step(memory, state, torch.tensor([4]))[0], wanted)
    with pytest.warns(DeprecationWarning, match=r"Seq2Seq\.vectors is now Seq2Seq\.hidden_states"):
        assert torch.equal(model.vectors(batch), model.hidden_states(batch))
    with pytest.warns(DeprecationWarning, match=r"Old\.start is now Old\.init_state"):

        class Old(Seq2Seq):
            vocabulary = 5

            def encode(self, batch, *, tape=None):
                return torch.zeros(batch.size, 1)

            def start(self, memory, max_length):
                return memory + max_length

            def step(self, memory, state, tokens, *, tape=None):
                return torch.zeros(len(tokens), 5), state

    assert Old().init_state(torch.zeros(1, 1), 3) == 3


def test_a_stream_is_told_what_cannot_be_read_by_the_old_option():
    model, told = Model(untrained("translation", MODEL)), []
    with pytest.warns(DeprecationWarning, match=r"stream\(refuse=\) is now stream\(on_error=\)"):
        found = list(model.stream(["ant " * 20_000, "ant"], refuse=told.append, max_length=3))
    assert (len(found), found[0].text) == (2, "")
    assert len(told) == 1


def test_the_old_name_of_a_search_option():
    model = Model(untrained("translation", MODEL))
    with pytest.warns(DeprecationWarning, match=r"batch= is now batch_size="):
        assert model.search(batch=5) == model.search(batch_size=5)


def test_a_callback_with_the_old_methods():
    seen = []
    with pytest.warns(DeprecationWarning, match=r"Old\.(begins|ends) is now Old\.on_train_(begin|end)"):

        class Old(TrainingCallback):
            def begins(self, steps, first, facts):
                seen.append(steps)

            def ends(self):
                seen.append("end")

    Old().on_train_begin(3, 0, {})
    Old().on_train_end()
    assert seen == [3, "end"]

"""Training, evaluating and comparing from Python; the examples of the docstrings run."""

import doctest
import inspect
import signal
from types import SimpleNamespace

import numpy as np
import pytest

import saccade
from helpers.training import MODEL
from saccade import api, experiments
from saccade.errors import CheckpointError, ConfigError, DataError
from saccade.search import SearchConfig
from saccade.search.options import SearchOptions
from saccade.train import notebook
from saccade.train.log import TrainingCallback

PAIRS = [("ant bee", "BEE ANT"), ("cat", "CAT"), ("dog ant", "ANT DOG")] * 40
SETTINGS = {
    "task": "translation",
    "tokenizer": {"kind": "word"},
    "data": {"corpus": "english-french"},
    "model": MODEL,
    "train": {"steps": 20, "tokens_per_batch": 64, "validate_every": 10, "device": "cpu", "precision": "fp32"},
}


@pytest.mark.parametrize("module", [api, experiments])
def test_the_examples_of_the_docstrings(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = doctest.testmod(module, extraglobs={"saccade": saccade})
    assert found.attempted >= 6
    assert found.failed == 0


TOP = (saccade.evaluate, saccade.compare)


@pytest.mark.parametrize("name", ["load", "evaluate", "compare", "Recipe", "Model"])
def test_each_function_of_the_package_has_an_example(name):
    found = doctest.DocTestFinder(recurse=False).find(getattr(saccade, name))
    assert any(each.examples for each in found)


class Told(TrainingCallback):
    def __init__(self):
        self.steps, self.valid, self.ended = [], [], 0

    def step(self, entry):
        self.steps.append(entry["step"])

    def validated(self, entry):
        self.valid.append(entry["step"])

    def on_train_end(self):
        self.ended += 1


def test_training_on_pairs_in_memory_with_callbacks(tmp_path, capsys):
    """A callback needs only the methods it wants."""
    told, bare = Told(), SimpleNamespace(validated=lambda entry: entries.append(entry["valid"]["loss"]))
    entries = []
    model = saccade.train(SETTINGS, tmp_path / "m", pairs=iter(PAIRS), callbacks=[told, bare], train={"log_every": 5})
    assert (told.steps, told.valid, told.ended) == ([*range(1, 21)], [10, 20], 1)
    assert len(entries) == 2
    assert model.recipe["train"]["log_every"] == 5
    assert capsys.readouterr() == ("", "")
    again = saccade.load(tmp_path / "m")
    assert again("cat").text == model("cat").text
    found = saccade.evaluate(tmp_path / "m", PAIRS[:3])
    assert found.metrics == model.evaluate(PAIRS[:3]).metrics
    compared = saccade.compare([tmp_path / "m", model], PAIRS[:3], beam=2)
    assert compared["models"][1]["against_first"]["chrf"]["difference"] == 0
    with pytest.raises(ConfigError, match="already holds a trained model"):
        saccade.train(SETTINGS, tmp_path / "m")
    changed = {"train.steps": 22}
    resumed = saccade.train(tmp_path / "m" / "recipe.yaml", tmp_path / "m", resume=True, progress=True, **changed)
    assert resumed.recipe["train"]["steps"] == 22
    assert "step 22 of 22, loss" in capsys.readouterr().err


class Stopping(TrainingCallback):
    def step(self, entry):
        if entry["step"] == 15:
            signal.raise_signal(signal.SIGINT)


def test_training_on_pairs_is_resumed(tmp_path):
    with pytest.raises(KeyboardInterrupt, match="after step 15; continue it with resume=True"):
        saccade.train(SETTINGS, tmp_path / "m", pairs=PAIRS, callbacks=Stopping())
    with pytest.raises(CheckpointError, match="already holds"):
        saccade.train(SETTINGS, tmp_path / "m", pairs=PAIRS)
    resumed = saccade.train(SETTINGS, tmp_path / "m", pairs=PAIRS, resume=True)
    whole = saccade.train(SETTINGS, tmp_path / "w", pairs=PAIRS)
    for one, other in zip(resumed.task.model.parameters(), whole.task.model.parameters(), strict=True):
        assert one.equal(other)


def test_a_recipe_is_checked_when_it_is_built(tmp_path):
    recipe = saccade.Recipe(SETTINGS, data={"size": 7}, **{"train.lr": 0.5})
    assert (recipe.data.size, recipe.train.lr, recipe.train.steps) == (7, 0.5, 20)
    assert saccade.Recipe(recipe, search={"beam": 3}).search.beam == 3
    with pytest.raises(ConfigError, match=r"train\.lrr: setting 'lrr' does not exist\. Did you mean 'lr'"):
        saccade.Recipe(SETTINGS, train={"lrr": 1.0})
    with pytest.raises(DataError, match="needs files that are not there"):
        saccade.train("multi30k-none", tmp_path / "m", data={"folder": str(tmp_path)})


def test_inputs_may_be_arrays_series_and_generators(model):
    expected = ["ANT", "BEE"]
    for given in (["ant", "bee"], np.array(["ant", "bee"]), (text for text in ("ant", "bee")), Series(["ant", "bee"])):
        assert [each.text for each in model(given)] == expected
    assert model(np.array([], dtype=str)) == []


class Series:
    """Like that of pandas: not a Sequence, but iterable."""

    def __init__(self, values):
        self.values = values

    def __iter__(self):
        return iter(self.values)


def test_pairs_that_are_none_are_refused(model):
    for wrong in ("ant", ("ant",), ("ant", 5), ("ant", "ANT", "0-0", "more"), {"source": "ant"}):
        with pytest.raises(DataError, match=r"an example is .*, but must be \(source, target, links\)"):
            model.evaluate([wrong])


def test_a_model_is_saved_and_aligns(model, tmp_path):
    model.save(tmp_path / "copy")
    copy = saccade.load(tmp_path / "copy")
    assert copy("ant bee").score == pytest.approx(model("ant bee").score)
    with pytest.raises(ConfigError, match="is there already"):
        model.save(tmp_path / "copy")
    found = list(copy.align([("ant bee cat", "ANT BEE CAT"), ("ant", ""), ("dog", "DOG", "0-0")]))
    assert found == [[(0, 0), (1, 1), (2, 2)], [], [(0, 0)]]
    with pytest.raises(ConfigError, match="cannot align: that needs a model from text to text with attention"):
        saccade.load("demo-fixed").align([])


def test_signatures_name_every_option_of_a_search():
    assert SearchOptions.__annotations__.keys() - {"rate"} == SearchConfig.model_fields.keys()
    model = api.Model
    for method in (model.__call__, model.trace, model.stream, model.evaluate, model.transcribe, *TOP):
        assert {"beam", "nbest", "max_length"} < inspect.signature(method).parameters.keys()
    assert {"load", "train", "Recipe", "evaluate", "compare"} < {*dir(saccade)}
    assert {"recipe", "out", "callbacks", "resume"} < inspect.signature(saccade.train).parameters.keys()


def test_a_notebook_shows_a_bar(monkeypatch):
    shown = []
    display = SimpleNamespace(
        HTML=str, display=lambda bar, display_id: shown.append(bar) or SimpleNamespace(update=shown.append)
    )
    monkeypatch.setitem(notebook.sys.modules, "IPython.display", display)
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(notebook.sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, display=display))
    bar = notebook.NotebookProgress()
    bar.on_train_begin(200, 0, {"model": "a<b", "parameters": 3})
    for step in range(1, 201):
        bar.step({"step": step, "loss": 1.0, "seconds_left": 0.0})
    bar.validated({"step": 200, "valid": {"loss": 0.5, "attention/x": 1.0}})
    assert len(shown) == 102
    assert 'max="200" value="0"' in shown[0]
    assert "a&lt;b" in shown[0]
    assert shown[-1].endswith("validation at 200: loss 0.500")

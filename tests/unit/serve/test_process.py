"""Models that another process computes, without that process: see tests/process/test_serve_process.py for both."""

from types import SimpleNamespace

import pytest
import torch

import saccade
from saccade.api import describe
from saccade.serve.models import Served
from saccade.serve.process import Remote, remote_models


class Process:
    """Records its calls."""

    def __init__(self):
        self.asked = []

    def call(self, *asked):
        self.asked.append(asked)
        return "an answer"


def nothing():
    pass


def test_a_description_knows_all_but_the_weights(translator):
    described, model = describe(translator), saccade.load(translator, device="cpu")
    assert {parameter.device.type for parameter in described.task.model.parameters()} == {"meta"}
    remote, served = Remote("t", described, Process(), 0), Served("t", model)
    assert remote.facts() == served.facts()
    assert remote.length("ant bee") == served.length("ant bee")
    search = served.search({"beam": 3})
    assert remote.search({"beam": 3}) == search
    assert remote.looked(7, search) == served.looked(7, search)


@pytest.mark.parametrize("usual", [{}, {"precision": "int8"}])
def test_what_is_asked_is_passed_on_with_what_is_usual(translator, usual):
    process = Process()
    remote = Remote("t", describe(translator), process, 4, **usual)
    search = remote.search({"beam": 2})
    assert search.precision == usual.get("precision", "full")
    assert remote.search({"precision": "full"}).precision == "full"
    assert remote.predict(["ant"], search, True, nothing) == "an answer"
    assert remote.trace("ant", {"detail": True}, nothing) == "an answer"
    assert process.asked == [
        (4, "predict", (["ant"], search, True), nothing),
        (4, "trace", ("ant", {"detail": True, **usual}), nothing),
    ]


def test_a_model_that_cannot_be_described_without_weights_is_loaded(translator, monkeypatch):
    from saccade.runs import folder

    build = folder.build_task

    def asking(*given, **more):
        task = build(*given, **more)
        float(next(task.model.parameters()).sum())  # which has no number on the meta device
        return task

    monkeypatch.setattr(folder, "build_task", asking)
    described = describe(translator)
    assert next(described.task.model.parameters()).device == torch.device("cpu")


def test_descriptions_are_numbered_as_the_process_has_the_models(translator):
    asked = []
    other = SimpleNamespace(ready=lambda: asked.append("ready"), call=lambda *given: asked.append(given[:2]))
    first, second = remote_models([translator, translator], other, trust_code=False, precision="int8")
    assert (first.name, second.name) == (translator.name, f"{translator.name}-2")
    assert second.search({}).precision == "int8"
    first.trace("ant", {}, nothing)
    second.trace("ant", {}, nothing)
    assert asked == ["ready", (0, "trace"), (1, "trace")]

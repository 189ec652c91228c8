"""Property tests of tasks, over every entry of TASKS and tasks from outside. A new task is tested by being listed."""

import json

import numpy as np
import pytest
import yaml

import saccade
from helpers.commands import refused, run
from helpers.tasks import CASES, on_path
from saccade.errors import ConfigError, DataError
from saccade.outside import trusting
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train
from saccade.serve.models import ENTRIES, Served
from saccade.tasks.table import TASKS
from saccade.train.checkpoint import read_weights
from saccade.train.log import TrainingCallback

on_path()


def test_every_task_is_under_the_laws():
    assert {name.partition(",")[0] for name in CASES if ":" not in name} == set(TASKS)


class Dies(TrainingCallback):
    """Ends the run in the middle of an update without saving, as a kill does."""

    def step(self, entry):
        if entry["step"] == 3:
            raise KeyboardInterrupt


def recipe_of(settings):
    with trusting():
        return parse_recipe(RecipeText(settings, "test"))


def begin(settings, folder, **options):
    with trusting():
        return train(recipe_of(settings), folder, **options)


@pytest.fixture(scope="module", params=CASES)
def trained(request, tmp_path_factory):
    """A case, the folder of its data, its settings and its trained model."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp("task")
    settings = case.settings(folder)
    assert begin(settings, folder / "model").progress.step == 4
    return case, folder, settings, folder / "model"


def loaded(model):
    return saccade.load(model, device="cpu", trust_code=True)


def asked(case, folder, one):
    """The inputs of a case, as Python code gives them; the case has them as arguments of a command."""
    return [one.task.reads.of_line(line) for line in case.inputs(folder)]


def test_a_killed_run_ends_with_the_same_weights(trained, tmp_path):
    _, _, settings, model = trained
    settings = {**settings, "train": {**settings["train"], "log_every": 1}}
    with pytest.raises(KeyboardInterrupt):
        begin(settings, tmp_path / "again", watcher=Dies())
    assert begin(settings, tmp_path / "again", resume=True).progress.step == 4
    first, second = (read_weights(path / "model.safetensors") for path in (model, tmp_path / "again"))
    assert first.keys() == second.keys()
    assert all((first[name] == second[name]).all() for name in first)


def test_alone_in_a_batch_and_loaded_again_it_answers_the_same(trained):
    case, folder, _, model = trained
    one, other = loaded(model), loaded(model)
    inputs = asked(case, folder, one)
    together = one(inputs)
    for given, found in zip(inputs, together, strict=True):
        alone = other(given)
        assert alone.text == found.text
        assert alone.score == pytest.approx(found.score, abs=1e-4)
        for site, weights in found.attention.weights.items():
            np.testing.assert_allclose(alone.attention.weights[site], weights, atol=1e-5)


def test_it_is_served_as_it_answers(trained):
    case, folder, _, model = trained
    one = loaded(model)
    if one.task.reads.name not in ENTRIES:
        with pytest.raises(ConfigError, match="the server receives only text"):
            Served("model", one)
        return
    served, inputs = Served("model", one), asked(case, folder, one)
    answers = served.predict(inputs, served.search({}), True, lambda: None)
    for answer, found in zip(answers, one(inputs), strict=True):
        said = json.loads(answer.body)
        assert said["text"] == found.text
        assert said["score"] == pytest.approx(found.score, abs=1e-4)


def test_a_trace_is_what_a_forced_pass_says(trained):
    case, folder, _, model = trained
    one = loaded(model)
    for given in asked(case, folder, one):
        found, trace = one(given), one.trace(given)
        assert trace.text == found.text
        steps = trace.steps if trace.glimpses is None else trace.steps[-1:]  # each glimpse is followed by an answer
        assert sum(step.log_probability for step in steps) == pytest.approx(found.score, abs=1e-3)
        assert set(found.attention.weights) <= {site.name for site in trace.sites}


def test_every_view_draws(trained, tmp_path):
    case, folder, _, model = trained
    one = loaded(model)
    found = one(asked(case, folder, one)[0]).attention
    found.save(tmp_path / "view.svg")
    assert (tmp_path / "view.svg").read_text().rstrip().endswith("</svg>")
    assert found.draw(80).strip()


def test_commands_work(trained, capsys, tmp_path):
    case, folder, _, model = trained
    given, trust, one = case.inputs(folder)[0], "--trust-code", loaded(model)
    answer = one(asked(case, folder, one)[0]).text
    assert run(capsys, "predict", model, given, trust).out == answer + "\n"
    assert run(capsys, "look", model, given, trust, "--device", "cpu").code == 0
    assert run(capsys, "look", model, given, trust, "--out", tmp_path / "page.html").code == 0
    assert run(capsys, "explain", model, given, trust).code == 0
    ran = run(capsys, "evaluate", model, trust, "--json", "--out", tmp_path)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["metrics"]


def test_what_is_no_input_is_refused_in_one_paragraph(trained, capsys):
    case, _, _, model = trained
    with pytest.raises(DataError, match="input 1 is 7, but this model "):
        loaded(model)([7])
    if case.wrong is not None:
        ran = run(capsys, "predict", model, case.wrong, "--trust-code")
        assert (ran.code, ran.out) == (1, "\n"), "the line of a refused input is empty"
        assert case.wrong in ran.err
        assert "Traceback" not in ran.err
        assert "\n\n" not in ran.err.strip()


def test_code_from_outside_is_run_with_leave_alone(trained, capsys, tmp_path):
    _, _, settings, model = trained
    if ":" not in settings["task"]:
        return
    said = "is code from outside saccade, which runs when it is loaded"
    with pytest.raises(Exception, match=said):
        saccade.load(model, device="cpu")
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(settings))
    words = ["train", tmp_path / "recipe.yaml", "--out", tmp_path / "out"]
    assert said in refused(capsys, *words)
    assert run(capsys, *words, "--trust-code").code == 0
    first, second = (read_weights(path / "model.safetensors") for path in (model, tmp_path / "out"))
    assert all((first[name] == second[name]).all() for name in first)

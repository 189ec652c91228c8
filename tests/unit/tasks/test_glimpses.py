"""Glimpses: inputs, places set by hand, evaluation, figures, and recipes that make no sense."""

import json

import numpy as np
import pytest

from helpers.commands import run
from helpers.tasks import digit_files, glimpses
from saccade.api import Model
from saccade.corpora import digits
from saccade.data.tokenizer import Tokenizers
from saccade.errors import ConfigError, DataError, NumericsError
from saccade.look import FigureSpec, GlimpsePath
from saccade.prediction import NOTHING, AttentionMaps, Prediction
from saccade.recipes import RecipeText
from saccade.runs.recipe import parse_recipe
from saccade.runs.training import train
from saccade.search import SearchConfig
from saccade.tasks.glimpse_scores import evaluation_of
from saccade.tasks.glimpses import Glimpses
from saccade.trace import Trace
from saccade.trace.explain import explain
from saccade.train.glimpse_loss import GlimpseLoss

LABELS = [str(digit) for digit in range(10)]


def recipe(tmp_path, **changes):
    return parse_recipe(RecipeText({**glimpses(tmp_path), **changes}, "test"))


@pytest.fixture
def model(tmp_path):
    return Model(Glimpses(recipe(tmp_path), Tokenizers(None, None, LABELS)))


def field(side=24):
    pixels = np.full((side, side, 3), 255, np.uint8)
    pixels[8:16, 10:14] = 0
    return pixels


def test_a_prediction_has_the_path(model):
    found = model(field())
    path = found.path
    assert (path.boxes.shape, path.patches.shape) == ((3, 2, 4), (3, 2, 4, 4))
    np.testing.assert_allclose(path.beliefs.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(path.centers[0], [0.5, 0.5])
    assert path.best[-1] == found.text == found.attention.target.words[-1]
    assert found.score == pytest.approx(np.log(path.beliefs[-1].max()), abs=1e-4)
    np.testing.assert_allclose(found.attention.matrix().sum(1), 1, atol=1e-5)
    rows, columns = found.attention.picture.rows, found.attention.picture.columns
    assert (rows, columns) == (12, 12)


def test_small_and_inverted_images_are_what_they_show(model):
    small, dark = field()[4:20, 4:20], 255 - field()
    scores = [model(given).score for given in (field(), small, dark)]
    assert scores == pytest.approx([scores[0]] * 3, abs=1e-5), "a small image lies in the middle of a field"


def test_a_place_can_be_set_and_a_region_hidden(model):
    free, set_ = model.trace(field()), model.trace(field(), pull=[(1, 0, 1.0)])
    assert set_.glimpses.boxes[1][0][:2] == pytest.approx([0, 0], abs=1e-6)
    assert set_.glimpses.boxes[0] == free.glimpses.boxes[0]
    centers = set_.attention.path.centers
    both = model.trace(field(), pull=[(2, 0, 0.5), (2, 143, 0.5)]).attention.path.centers
    np.testing.assert_allclose(both[2], [0.5, 0.5], atol=1e-5)
    assert not np.allclose(centers[1], free.attention.path.centers[1])
    ink = [place for place in range(144) if field()[place // 12 * 2, place % 12 * 2, 0] == 0]
    hidden = model.trace(field(), block=ink).attention
    assert hidden.picture.pixels.min() == 255
    with pytest.raises(ConfigError, match="nothing to force"):
        model.trace(field(), force=[1])
    with pytest.raises(ConfigError, match="pull names step 7"):
        model.trace(field(), pull=[(7, 0, 1.0)])


def test_traces_are_written_read_and_checked(model, tmp_path):
    trace = model.trace(field())
    trace.save(tmp_path / "trace.json")
    again = Trace.open(tmp_path / "trace.json").attention.path
    path = trace.attention.path
    np.testing.assert_allclose(again.beliefs, path.beliefs, atol=1e-6)
    np.testing.assert_allclose(again.patches, path.patches, atol=1 / 255)
    said = "\n".join(explain(trace))
    assert "Glimpse 2 of 3" in said
    assert "What it believes now" in said
    plain = json.loads(trace.dump())
    plain["steps"][0]["candidates"][0][0] = 99
    with pytest.raises(DataError, match="none of the 10 labels"):
        Trace.parse(json.dumps(plain))
    plain = json.loads(trace.dump())
    plain["glimpses"]["boxes"] = plain["glimpses"]["boxes"][:1]
    with pytest.raises(DataError, match="does not fit the boxes"):
        Trace.parse(json.dumps(plain))


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_figures_show_the_path_and_beliefs(model, tmp_path, suffix):
    maps = model(field()).attention
    maps.save(tmp_path / f"one{suffix}")
    maps.save(tmp_path / f"overlay{suffix}", view=FigureSpec("overlay"))
    drawn = maps.draw(60).splitlines()
    assert any("▓" in line or "█" in line for line in drawn)
    assert [line.split()[0] for line in drawn if line.lstrip()[:2].rstrip() in ("1", "2", "3") and "%" in line] == [
        "1",
        "2",
        "3",
    ]
    if suffix == ".svg":
        assert "the belief after it" in (tmp_path / "one.svg").read_text()


def test_other_models_have_no_glimpses_to_show():
    with pytest.raises(ConfigError, match="has no glimpses"):
        AttentionMaps(NOTHING, NOTHING, {"a": np.ones((1, 1, 1))}, ("a",))._glimpsed()


def path_to(label, centers):
    boxes = np.array([[[x - 0.1, y - 0.1, x + 0.1, y + 0.1]] for x, y in centers])
    beliefs = np.array([[0.6, 0.4]] * (len(centers) - 1) + [[1.0, 0.0] if label == "a" else [0.0, 1.0]])
    maps = AttentionMaps(
        NOTHING, NOTHING, {}, (), path=GlimpsePath(boxes, np.zeros((len(centers), 1, 2, 2)), beliefs, ("a", "b"))
    )
    return Prediction(label, 0.0, [label], maps)


def test_evaluation_counts_by_glimpse():
    found = [path_to("a", [(0.5, 0.5), (0.1, 0.1), (0.2, 0.2), (0.9, 0.9)]), path_to("b", [(0.5, 0.5)] * 4)]
    boxes = np.array([[[0.0, 0.0, 0.3, 0.3], [0.0, 0.0, 0.15, 0.3]], [[0.4, 0.4, 0.6, 0.6]] * 2])
    made = evaluation_of(found, ["a", "a"], ["a", "b"], boxes)
    assert made.metrics == {"accuracy": 0.5, "on_target": 0.75}
    assert made.details["accuracy_after_glimpse"] == [1, 1, 1, 0.5]
    assert made.details["on_target_by_glimpse"] == [0.5, 1, 1, 0.5]
    assert made.details["on_ink_by_glimpse"] == [0.5, 1, 0.5, 0.5]


def test_fields_are_evaluated_as_they_are(model):
    examples = list(digits("test", 6))
    assert set(model.task.evaluate(examples, SearchConfig()).metrics) == {"accuracy", "on_target"}
    model.task.recipe.field.__dict__["size"] = 24
    large = [one.__class__(label=one.label, image=type(one.image)("field", field())) for one in examples]
    assert set(model.task.evaluate(large, SearchConfig()).metrics) == {"accuracy"}


def test_the_baselines_train_and_answer(tmp_path, capsys):
    for name, changed in {
        "random": {"policy": "random"},
        "convolutions": {"preset": "image-convolutions", "filters": 4},
    }.items():
        base = glimpses(tmp_path)["model"] if name == "random" else {}
        made = recipe(tmp_path, model={**base, **changed})
        train(made, tmp_path / name)
        ran = run(capsys, "evaluate", tmp_path / name, "--json")
        assert "accuracy" in json.loads(ran.out)["metrics"]
        assert run(capsys, "predict", tmp_path / name, *digit_files(tmp_path)).out.count("\n") == 3


def test_recipes_that_make_no_sense_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="learns by reward: add glimpse_reward"):
        recipe(tmp_path, objective={})
    with pytest.raises(ConfigError, match="lower data"):
        recipe(tmp_path, field={"size": 12})
    with pytest.raises(ConfigError, match="reads texts, but glimpses reads labeled images"):
        recipe(tmp_path, model={"preset": "bahdanau"}, objective={})
    with pytest.raises(DataError, match="two or more"):
        Glimpses(recipe(tmp_path), Tokenizers(None, None, ["1"]))


def test_a_reward_that_is_no_number_ends_training(tmp_path, monkeypatch):
    monkeypatch.setattr(GlimpseLoss, "_returns", lambda self, logits, labels: logits[:, 1:, 0] * float("nan"))
    with pytest.raises(NumericsError, match=r"training diverged at step 1.*gradient norm nan.*Lower train\.lr"):
        train(recipe(tmp_path), tmp_path / "model")

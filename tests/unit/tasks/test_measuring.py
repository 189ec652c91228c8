"""Evaluation: the examples used, metrics computed manually, and models that stay unchanged."""

import os

import numpy as np
import pytest
import torch

from helpers.recipes import MODEL, recipe_of, untrained, write_lines
from saccade.batch import EOS
from saccade.data.example import Example
from saccade.errors import ConfigError, DataError
from saccade.models import MODELS
from saccade.runs import corpus as corpora
from saccade.runs.corpus import Corpus
from saccade.runs.evaluation import check_comparable, compare, examples_to_test, split_to_test
from saccade.search.search_config import SearchConfig
from saccade.tasks.base import Evaluation, Statistics
from saccade.tasks.captioning import _share
from saccade.tasks.tracing import TraceOptions


def classify(folder, lines, **data):
    file = write_lines(folder / "train.tsv", lines)
    return recipe_of({"task": "classification", "data": {"train": str(file), **data}})


def test_a_share_is_of_all_and_nothing_of_nothing_is_0():
    assert _share(np.array([3.0, 4.0])) == 0.75
    assert _share(np.array([0.0, 0.0])) == 0.0


def total(sums):
    return float(sums[0])


def double(sums):
    return 2 * float(sums[0])


def evaluation(*numbers, **more):
    counts = np.array(numbers, float)[:, None]
    parts = {"first": Statistics(counts, total), "second": Statistics(counts, total, double)}
    return Evaluation({"first": 1.0}, {}, parts, [1] * len(numbers), **more)


def test_quality_by_length_is_of_the_first_metric_or_the_one_that_is_named():
    found = evaluation(1.0, 2.0)
    assert [entry.score for entry in found.by_length()] == [3.0]
    assert [entry.score for entry in found.by_length("second")] == [6.0]  # by the formula for bins


def test_models_are_compared_with_the_first_by_metrics_that_both_have():
    first, second = evaluation(1.0, 2.0), evaluation(2.0, 3.0)
    del second.statistics["second"]
    other = evaluation(1.0, 2.0, 3.0)  # of another number of examples
    report = compare([("a", first), ("b", second), ("c", other)])
    assert [row["model"] for row in report["models"]] == ["a", "b", "c"]
    assert [list(row["against_first"]) for row in report["models"]] == [[], ["first"], []]
    assert report["models"][1]["against_first"]["first"]["difference"] == 2.0
    assert report["sentences"] == 2


def test_only_models_of_one_task_can_be_compared():
    one, other = untrained("translation", MODEL), untrained("language-modeling", MODEL)
    check_comparable([one, one])
    with pytest.raises(
        ConfigError, match="models of different tasks cannot be compared: language-modeling, translation"
    ):
        check_comparable([one, other])


def test_the_split_to_test_is_test_where_there_is_one():
    both = recipe_of({"task": "language-modeling", "data": {"train": "a", "test": "b"}})
    files = recipe_of({"task": "language-modeling", "data": {"train": "a"}})
    built_in = recipe_of({"task": "language-modeling", "data": {"corpus": "reading"}})
    assert [split_to_test(each) for each in (both, files, built_in)] == ["test", "valid", "test"]
    assert split_to_test(both, "train") == "train"
    with pytest.raises(ConfigError, match=r"split 'tset' does not exist\. Did you mean 'test'"):
        split_to_test(both, "tset")


def test_examples_without_a_label_or_without_text_cannot_be_measured(tmp_path, monkeypatch):
    recipe = classify(tmp_path, ["good\ta cat", "bad\ta dog"])
    file = tmp_path / "train.tsv"
    assert [example.label for example in examples_to_test(recipe, [file])] == ["good", "bad"]
    language = recipe_of({"task": "language-modeling", "data": {"train": "unused"}})
    with pytest.raises(DataError, match="there is nothing to evaluate on: no example has any text"):
        examples_to_test(language, [write_lines(tmp_path / "blank.txt", ["", "  "])])
    found = [Example(source="a cat", label="good"), Example(source="a dog")]
    monkeypatch.setattr(Corpus, "read", lambda self, paths: found)
    with pytest.raises(DataError, match="example 2 has no label, so there is nothing to compare with"):
        examples_to_test(recipe, [file])


def test_one_example_of_fifty_is_set_aside_up_to_so_many(tmp_path):
    lines = [f"x\tline {number}" for number in range(160)]
    recipe = classify(tmp_path, lines, held_out=2)
    valid = [example.source for example in Corpus(recipe).examples("valid")]
    train = [example.source for example in Corpus(recipe).examples("train")]
    assert valid == ["line 49", "line 99"]
    assert train == [f"line {number}" for number in range(160) if number not in (49, 99)]
    with pytest.raises(ConfigError, match=r"the recipe names no test data\. Set data\.test"):
        Corpus(recipe).examples("test")


def test_files_named_for_validation_leave_the_training_whole(tmp_path):
    other = write_lines(tmp_path / "valid.tsv", ["y\tanother"])
    recipe = classify(tmp_path, [f"x\tline {number}" for number in range(60)], valid=str(other))
    assert [example.source for example in Corpus(recipe).examples("valid")] == ["another"]
    assert len(list(Corpus(recipe).examples("train"))) == 60


def test_columns_are_for_files_of_whole_examples(tmp_path):
    recipe = classify(tmp_path, ["x\ty"], columns={"source": "words", "label": "kind"})
    file = write_lines(tmp_path / "a.jsonl", ['{"words": "a cat", "kind": "good"}'])
    (example,) = Corpus(recipe).read([file])
    assert (example.source, example.label) == ("a cat", "good")
    with pytest.raises(
        ConfigError, match=r"data\.columns is for \.jsonl, .*\.tsv, the Hub, but .*train\.txt is none of them"
    ):
        Corpus(recipe).read([tmp_path / "train.txt"])


def test_training_data_are_files_or_folders_and_no_pipes(tmp_path):
    file = write_lines(tmp_path / "a.txt", ["one"])
    name, size, _ = corpora._stamp(file)
    assert (name, size) == (str(file), 4)
    assert corpora._stamp(tmp_path)[0] == str(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is a device or a pipe, but training reads its data several times"):
        corpora._stamp(tmp_path / "pipe")


def test_the_hub_calls_validation_by_its_whole_name():
    assert [corpora._hub_split(split) for split in ("train", "valid", "test")] == ["train", "validation", "test"]


@pytest.mark.parametrize("training", [True, False])
def test_a_model_that_is_measured_goes_on_as_it_was(training):
    """Dropout is off during evaluation, and restored afterwards."""
    pair = Example(source="ant bee", target="ANT BEE")
    for kind, measure in (
        ("translation", lambda task: task.attend([pair])),
        ("language-modeling", lambda task: task.evaluate([Example(target="a dog ran .")], SearchConfig())),
        ("classification", lambda task: task.predict(["good cat"], SearchConfig())),
    ):
        task = untrained(kind, {"preset": "bahdanau", **MODELS["bahdanau"].tiny})
        modes = []
        task.model.register_forward_pre_hook(lambda model, given, modes=modes: modes.append(model.training))
        task.model.train(training)
        measure(task)
        assert task.model.training is training
        assert not any(modes)


@pytest.mark.parametrize(
    ("kind", "text", "most"), [("translation", "ant bee", 2 * 3 + 20), ("language-modeling", "a dog", 2 + 100)]
)
def test_an_answer_that_does_not_end_has_so_many_tokens_and_no_more(kind, text, most):
    """The limit is twice the source tokens including EOS, plus 20; for language models, 100 after the prefix."""
    task = untrained(kind, MODEL)
    with torch.no_grad():
        task.model.output.bias[EOS] = -1e4
    (found,) = task.predict([text], SearchConfig())
    assert len(found.tokens) == most
    assert len(task.trace(text, SearchConfig(), TraceOptions()).steps) == most
    (found,) = task.predict([text], SearchConfig(max_length=4))
    assert len(found.tokens) == (4 if kind == "translation" else 2 + 4)


def test_tokens_of_an_input_are_counted_with_its_end():
    texts = ["ant bee cat", "dog"]
    for kind in ("translation", "classification", "language-modeling"):
        task = untrained(kind, MODEL)
        assert (task.lengths(texts), task.length(texts[0])) == ([4, 2], 4)

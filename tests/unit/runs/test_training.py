"""Training runs: what may change on resume, and what the job reports to the loop."""

import numpy as np
import pytest
import torch

from helpers.recipes import MODEL, recipe_of, translation, untrained, validation_loss, write_folder
from saccade.data.loader import collate
from saccade.errors import CheckpointError, ConfigError
from saccade.runs import training
from saccade.runs.corpus import Corpus
from saccade.runs.folder import build_task, read_folder_recipe
from saccade.runs.recipe import load_recipe
from saccade.runs.training import TrainingJob
from saccade.train.objective import losses_of


def differences(was, now):
    return list(training._differences(was, now))


def test_what_differs_is_named_by_its_path_with_both_values():
    was = {"model": {"width": 8, "old": 1, "same": 3}, "train": {"lr": 0.1}}
    now = {"model": {"width": 9, "same": 3, "new": 2}, "train": {"lr": 0.1}}
    assert differences(was, now) == [
        ("model.width", 8, 9),
        ("model.old", 1, None),
        ("model.new", None, 2),
    ]
    assert differences(was, was) == []
    assert differences({"model": {"image_encoder": None}}, {"model": {"image_encoder": {"kind": "small"}}}) == [
        ("model.image_encoder", None, {"kind": "small"})
    ]


@pytest.mark.parametrize(
    ("path", "free"),
    [
        ("train.steps", True),
        ("train.log_every", True),
        ("train.lr", False),
        ("model.steps", False),
        ("search.beam", True),
        ("note", True),
        ("data.cache", True),
        ("data.train", False),
        ("data.search", False),
        ("train.note", False),
    ],
)
def test_how_long_where_and_how_often_to_log_may_change_and_nothing_else(path, free):
    first, *rest = path.split(".")
    was, now = ({first: {rest[0]: value}} if rest else {first: value} for value in (1, 2))
    assert differences(was, now) == ([] if free else [(path, 1, 2)])


def test_tokens_that_are_others_now_are_refused_only_where_a_run_was_begun(tmp_path, monkeypatch):
    mine, other = (untrained("translation", MODEL, kind=kind).tokenizers for kind in ("word", "char"))
    begun = []
    monkeypatch.setattr(training, "latest", lambda folder: begun[0] if begun else None)
    training._check_tokenizers(tmp_path, other)
    write_folder(untrained("translation", MODEL), tmp_path)
    training._check_tokenizers(tmp_path, other)
    begun.append("a checkpoint")
    training._check_tokenizers(tmp_path, mine)
    with pytest.raises(ConfigError, match=r"the training data are not those that .* was started with: the tokenizer"):
        training._check_tokenizers(tmp_path, other)
    (tmp_path / "tokenizer.json").unlink()
    training._check_tokenizers(tmp_path, other)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    recipe = recipe_of(translation(folder, metric="chrf"))
    corpus = Corpus(recipe)
    return TrainingJob(build_task(recipe, corpus.tokenizers()), corpus, folder)


def test_a_validation_tells_the_metrics_and_how_the_attention_is_doing(job):
    found = job.measure()
    (site,) = job.model.source_sites
    assert {"chrf", "bleu", f"{site}/entropy", f"{site}/coverage", "notes"} <= set(found)
    assert sum(load.tokens for load in job.held_out()) > 0
    assert isinstance(found["notes"], list)


def test_a_job_says_what_it_is_trained_on(job):
    facts = job.facts()
    assert facts["examples"] == 400 - 6  # of which one in fifty is set aside, and no more than six
    assert facts["left_out"] == {}
    assert facts["vocabulary"] == {"source": 8 + 4, "target": 8 + 4}  # words and special tokens
    assert (facts["device"], facts["model"]) == ("cpu", "bahdanau")
    assert job.width == MODEL["embedding"]


def test_the_loss_on_held_out_data_is_the_mean_over_all_answers(text):
    recipe = load_recipe(str(text / "recipe.yaml"))
    corpus = Corpus(recipe)
    task = build_task(recipe, corpus.tokenizers())
    store = corpus.store("valid", task)
    objective = task.objective().eval()
    every = collate(store, np.arange(len(store)))
    with torch.no_grad():
        wanted = float(losses_of(objective, every).plain) / int(every.expected_mask.sum())
        assert validation_loss(task, store, objective, 200) == pytest.approx(wanted, rel=1e-5)


def test_a_report_keeps_its_letters(tmp_path):
    training.write_report(tmp_path, {"worst": "été"})
    assert '"worst": "été"' in (tmp_path / "report.json").read_text(encoding="utf-8")


def test_a_folder_whose_recipe_is_no_yaml_is_named(copied):
    (copied / "recipe.yaml").write_text("task: [")
    with pytest.raises(CheckpointError, match=r"copied cannot be loaded: .*recipe\.yaml"):
        read_folder_recipe(copied)

"""Pretrained word vectors in models, frozen or trained."""

import json

import pytest
import torch
from torch import nn

from helpers.commands import run
from helpers.recipes import recipe_of, write_lines, write_recipe
from saccade.errors import ConfigError
from saccade.recipes.schema import EmbeddingsConfig
from saccade.runs.folder import load_task
from saccade.runs.training import train
from saccade.tasks.vectors import load_vectors
from saccade.train.log import TrainingCallback

LINES = ["good the cat sat", "bad a dog ran", "good a cat ran", "bad the dog sat"] * 30


def settings(folder, *, tune, task="classification", **model):
    lines = LINES if task == "classification" else [line.split(" ", 1)[1] for line in LINES]
    return {
        "task": task,
        "data": {"train": str(write_lines(folder / "train.txt", lines)), "cache": str(folder / "cache")},
        "tokenizer": {"kind": "word"},
        "embeddings": {
            "file": str(write_lines(folder / "v.txt", ["cat 1 2 3 4", "dog -4 -3 -2 -1"])),
            "trainable": tune,
        },
        "model": {"embedding": 4, "encoder": {"width": 6}, "decoder": {"width": 6}, **model},
        "train": {"steps": 5, "lr": 0.01, "precision": "fp32", "device": "cpu", "validate_every": 5},
    }


class Facts(TrainingCallback):
    def on_train_begin(self, steps, first, facts):
        self.facts = facts


@pytest.mark.parametrize("task", ["classification", "language-modeling"])
@pytest.mark.parametrize("tune", [True, False])
def test_training_begins_with_the_vectors_and_tunes_them_or_not(tmp_path, task, tune):
    watcher = Facts()
    train(recipe_of(settings(tmp_path, tune=tune, task=task)), tmp_path / "out", watcher=watcher)
    trained = load_task(tmp_path / "out")
    tokenizer = trained.tokenizers.source or trained.tokenizers.target
    row = trained.model.embedding.weight[tokenizer.vocabulary.index("cat")]
    assert (row.tolist() == [1, 2, 3, 4]) is not tune
    assert (row - torch.tensor([1.0, 2, 3, 4])).abs().max() < 0.1
    told = watcher.facts["vectors"]
    assert (told["found"], told["words"], told["coverage"], told["tuned"]) == (2, 6, 2 / 6, tune)


def test_frozen_vectors_go_on_where_they_were(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    given = settings(tmp_path, tune=False)
    given["train"] |= {"steps": 8, "checkpoint_every": 4, "schedule": "constant"}
    train(recipe_of(given), whole)
    train(recipe_of({**given, "train": {**given["train"], "steps": 4}}), parts)
    train(recipe_of(given), parts, resume=True)
    same = [(load_task(folder).model.state_dict()) for folder in (whole, parts)]
    assert all(torch.equal(same[0][name], same[1][name]) for name in same[0])


def test_words_without_a_vector_have_the_spread_of_those_with_one(tmp_path):
    words = [f"w{number}" for number in range(500)]
    vocabulary = ["<pad>", "<bos>", "<eos>", "<unk>", *words, *(word.upper() * 2 for word in words)]
    torch.manual_seed(0)
    lines = [f"{word} {' '.join(f'{x:.4f}' for x in (torch.randn(8) * 0.3).tolist())}" for word in words]
    embedding = nn.Embedding(len(vocabulary), 8)
    laid = load_vectors(embedding, vocabulary, EmbeddingsConfig(file=str(write_lines(tmp_path / "v.txt", lines))))
    assert laid.found == 500
    assert embedding.weight[504:].std().item() == pytest.approx(0.3, rel=0.1)
    assert embedding.weight.requires_grad


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "translation"}, r"embeddings\.file: translation does not start from word vectors"),
        ({"tokenizer": {"kind": "char"}}, r"embeddings\.file: word vectors are of whole words: set tokenizer\.kind"),
    ],
)
def test_vectors_that_fit_nothing_are_refused(tmp_path, change, message):
    with pytest.raises(ConfigError, match=message):
        recipe_of({**settings(tmp_path, tune=True), **change})


def test_the_command_says_how_many_words_are_known(tmp_path, capsys):
    recipe = write_recipe(tmp_path, settings(tmp_path, tune=False))
    ran = run(capsys, "train", recipe, "--out", tmp_path / "out", "--json")
    assert json.loads(ran.out)["steps"] == 5
    assert "2 of 6 words start from the vectors in" in ran.err
    assert "which stay fixed" in ran.err

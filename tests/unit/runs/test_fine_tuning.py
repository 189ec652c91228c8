"""Fine-tuning: weights and vocabulary come from another model, and what does not is listed."""

import pytest
import torch

import saccade
from helpers.commands import run
from helpers.recipes import write_lines
from saccade.errors import ConfigError
from saccade.train.checkpoint import read_weights

QUICK = {"steps": 60, "tokens_per_batch": 64, "lr": 0.01, "validate_every": 60, "device": "cpu", "precision": "fp32"}
NEW = [("ant yak", "ANT YAK"), ("yak", "YAK"), ("yak bee", "YAK BEE"), ("zho", "ZHO")] * 30


class Notes:
    def __init__(self):
        self.all = []

    def note(self, text):
        self.all.append(text)


def tune(translator, out, pairs=NEW, **changes):
    notes = Notes()
    start = {"init_from": {"model": str(translator), **changes.pop("init_from", {})}}
    made = saccade.train(
        start, out, pairs=pairs, callbacks=[notes], train=QUICK, data={"train": "in memory"}, **changes
    )
    return made, " | ".join(notes.all)


def test_the_vocabulary_is_kept_and_every_tensor_taken_over(translator, model, tmp_path):
    tuned, notes = tune(translator, tmp_path / "kept")
    assert notes == f"started from {translator}: 20 of 20 tensors taken over"
    assert tuned.task.tokenizers.dump() == model.task.tokenizers.dump()
    assert tuned.recipe["model"] == model.recipe["model"], "what the recipe leaves out comes from the first model"
    assert tuned.recipe["init_from"]["model"] == str(translator)
    assert tuned("yak").notes == ["not in this model's vocabulary: yak"]


def test_new_words_are_learned(translator, model, tmp_path):
    tuned, notes = tune(translator, tmp_path / "more", init_from={"vocabulary": "extend"})
    assert notes.endswith("20 of 20 tensors taken over | 2 new words start untrained")
    assert tuned.task.source.vocabulary[-2:] == ["yak", "zho"]
    assert tuned.task.source.vocabulary[:-2] == model.task.source.vocabulary
    assert tuned("yak bee").text == "YAK BEE"
    assert saccade.evaluate(tuned, NEW[:4]).metrics["chrf"] > model.evaluate(NEW[:4]).metrics["chrf"]


def test_it_starts_exactly_from_the_first_weights(translator, tmp_path):
    saccade.train({"init_from": str(translator)}, tmp_path / "m", pairs=NEW, train=QUICK | {"steps": 1, "lr": 1e-9})
    first, tuned = (read_weights(folder / "model.safetensors") for folder in (translator, tmp_path / "m"))
    assert all(torch.allclose(first[name], tuned[name], atol=1e-6) for name in first)


def test_what_does_not_fit_is_listed(translator, tmp_path):
    _, notes = tune(translator, tmp_path / "wide", model={"decoder": {"output_width": 20}})
    assert "not taken over, so they start untrained: " in notes
    assert "output.weight (" in notes
    assert "embedding" not in notes


def test_a_run_is_resumed_without_the_first_model(translator, tmp_path):
    first = tmp_path / "first"
    saccade.load(translator).save(first)
    tuned, _ = tune(first, tmp_path / "m", init_from={"vocabulary": "extend"})
    first.rename(tmp_path / "gone")
    longer = saccade.train(tuned.recipe, tmp_path / "m", resume=True, train={"steps": 61})
    assert longer.task.source.vocabulary[-1] == "zho"


def test_a_recipe_names_the_model_beside_itself(capsys, translator, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    saccade.load(translator).save(tmp_path / "here" / "first")
    write_lines(tmp_path / "here" / "new.tsv", ["\t".join(pair) for pair in NEW])
    quick = ", ".join(f"{name}: {value}" for name, value in QUICK.items())
    write_lines(tmp_path / "here" / "my.yaml", ["init_from: first", "data: {train: new.tsv}", f"train: {{{quick}}}"])
    ran = run(capsys, "train", tmp_path / "here" / "my.yaml", "--out", tmp_path / "out")
    assert ran.code == 0, ran
    assert "20 of 20 tensors taken over" in ran.err
    assert f"saccade compare {tmp_path / 'here' / 'first'} {tmp_path / 'out'}" in ran.err


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"model": "not-there"}, "init_from names not-there, which is no model folder"),
        ({"model": "demo", "vocabulary": "new"}, "init_from.vocabulary: Input should be 'keep' or 'extend'"),
    ],
)
def test_a_start_that_cannot_be(tmp_path, start, message):
    with pytest.raises(ConfigError, match=message):
        saccade.Recipe({"data": {"corpus": "english-french"}}, init_from=start)


def test_subwords_have_nothing_to_extend(tmp_path):
    settings = {"tokenizer": {"kind": "bpe", "size": 270}, "train": QUICK | {"steps": 1, "validate_every": 1}}
    saccade.train("own-data", tmp_path / "bpe", pairs=NEW, **settings)
    with pytest.raises(ConfigError, match="a bpe vocabulary covers every text"):
        tune(tmp_path / "bpe", tmp_path / "m", init_from={"vocabulary": "extend"})

"""What new users stumbled over: each case says what to do next."""

import json
import shutil

import pytest

from helpers.commands import refused, run
from helpers.recipes import write_lines
from helpers.training import write_recipe


def test_recipes_say_which_files_they_need_and_how_long_they_take(capsys):
    rows = run(capsys, "recipes").out.splitlines()[2:]
    assert rows[0].startswith("own-data"), "the one for a laptop and one's own data comes first"
    found = {row.split()[0]: row for row in rows}
    assert "built in" in found["english-french"]
    assert "2 min on 2 cores" in found["english-french"]
    assert "files: saccade data multi30k" in found["multi30k-transformer-additive"]
    assert "files: saccade data cnn-dailymail" in found["cnn-dailymail"]


def test_a_recipe_without_its_files_names_the_command_that_gets_them(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = refused(capsys, "train", "multi30k-none")
    assert "`saccade data multi30k` says how to get them; then add --set data.folder=DIR" in said
    assert "--set data.train=FILE" in refused(capsys, "train", "own-data")
    assert not (tmp_path / "runs").exists()


def test_a_run_is_resumed_by_its_folder(capsys, tmp_path, monkeypatch):
    """Also from another working directory: the data are found again."""
    recipe = write_recipe(tmp_path, steps=5)
    out = tmp_path / "long"
    assert run(capsys, "train", recipe, "--out", out).code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "is a model folder. Add --resume to continue" in refused(capsys, "train", out)
    ran = run(capsys, "train", out, "--resume", "--set", "train.steps=10", "--device", "cpu", "--json")
    assert (json.loads(ran.out)["steps"], json.loads(ran.out)["folder"]) == (10, str(out))


def test_a_model_killed_before_its_first_validation_names_the_way_on(capsys, translator, tmp_path):
    early = tmp_path / "early"
    early.mkdir()
    for name in ("recipe.yaml", "tokenizer.json"):
        shutil.copy(translator / name, early)
    assert f"run it again with --resume: saccade train {early} --resume" in refused(capsys, "predict", early, "ant")


@pytest.mark.parametrize("option", [("--temperature", 0.5), ("--top-k", 3), ("--seed", 1)])
def test_an_option_of_sampling_without_sampling_is_named(capsys, translator, option):
    said = refused(capsys, "predict", translator, "ant", *option)
    assert f"{option[0]} changes nothing without --sample" in said
    assert run(capsys, "predict", translator, "ant", *option, "--sample").code == 0


def test_predict_prints_json(capsys, translator):
    assert json.loads(run(capsys, "predict", translator, "ant bee", "--json").out)["text"] == "ANT BEE"


def test_the_cache_says_its_size_and_is_cleared(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "saccade").mkdir()
    write_lines(tmp_path / "saccade" / "part", ["x" * 1_500_000])
    assert run(capsys, "cache").out == f"{tmp_path / 'saccade'}: 1.5 MB\n"
    assert json.loads(run(capsys, "cache", "--clear", "--json").out)["freed"] == 1_500_001
    assert run(capsys, "cache").out.endswith(": 0.0 MB\n")

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


def test_align_writes_pharaoh_links_or_json(capsys, translator, tmp_path):
    pairs = write_lines(tmp_path / "pairs.tsv", ["ant bee\tANT BEE", "cat\t", "dog\tDOG"])
    assert run(capsys, "align", translator, pairs).out == "0-0 1-1\n\n0-0\n"
    rows = [json.loads(line) for line in run(capsys, "align", translator, pairs, "--json").out.splitlines()]
    assert rows[0] == {"source": "ant bee", "target": "ANT BEE", "links": [[0, 0], [1, 1]]}
    assert "cannot align" in refused(capsys, "align", "demo-fixed", pairs)


def test_predict_adds_links(capsys, translator):
    assert run(capsys, "predict", translator, "ant bee", "--links").out == "ANT BEE\t0-0 1-1\n"
    assert json.loads(run(capsys, "predict", translator, "ant", "--links", "--json").out)["links"] == [[0, 0]]


def test_evaluate_says_which_data_it_used_and_keeps_the_outputs(capsys, translator, tmp_path):
    pairs = write_lines(tmp_path / "mine.tsv", ["ant bee\tANT BEE", "dog\tCAT"])
    ran = run(capsys, "evaluate", translator, pairs, "--out", tmp_path)
    assert f"2 examples, {pairs}" in ran.out
    assert {"report-mine.json", "outputs-mine.jsonl", "lengths-mine.png"} < {file.name for file in tmp_path.iterdir()}
    rows = [json.loads(line) for line in (tmp_path / "outputs-mine.jsonl").read_text().splitlines()]
    assert [(row["target"], row["output"]) for row in rows] == [("ANT BEE", "ANT BEE"), ("CAT", "DOG")]
    assert "20 examples, the test split, " in run(capsys, "evaluate", translator, "--out", tmp_path).out
    assert (
        "examples, the valid split, " in run(capsys, "evaluate", translator, "--split", "valid", "--out", tmp_path).out
    )
    assert {"report.json", "report-valid.json"} < {file.name for file in tmp_path.iterdir()}


def test_evaluate_shows_a_word_for_word_baseline(capsys, translator, tmp_path):
    ran = run(capsys, "evaluate", translator, "--out", tmp_path)
    simple = json.loads((tmp_path / "report.json").read_text())["baselines"]["word-for-word"]
    assert simple["bleu"] > 50, "this text is its source in capitals"
    assert "bleu word-for-word" in ran.out


def test_evaluate_hints_at_swapped_columns(capsys, translator, tmp_path):
    swapped = write_lines(tmp_path / "swapped.tsv", ["ANT BEE\tant bee", "DOG\tcat"])
    hint = "source and target look swapped"
    assert hint in run(capsys, "evaluate", translator, swapped, "--out", tmp_path).err
    straight = write_lines(tmp_path / "straight.tsv", ["ant bee\tANT BEE", "dog\tCAT"])
    assert hint not in run(capsys, "evaluate", translator, straight, "--out", tmp_path).err


def test_a_shipped_model_is_evaluated_without_writing_into_the_package(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = write_lines(tmp_path / "mine.tsv", ["the law\tla loi"])
    assert run(capsys, "evaluate", "demo", pairs).code == 0
    assert (tmp_path / "runs" / "demo" / "report-mine.json").is_file()


def test_seeds_are_trained_and_compared_by_their_range(capsys, tmp_path, translator):
    recipe = write_recipe(tmp_path, steps=5)
    ran = run(capsys, "train", recipe, "--seeds", 2, "--out", tmp_path / "mine")
    assert (ran.code, f"Next: saccade compare {tmp_path / 'mine'}" in ran.err) == (0, True)
    assert run(capsys, "train", recipe, "--seeds", 3, "--resume", "--out", tmp_path / "mine").code == 0
    recipes = [(tmp_path / "mine" / f"seed-{seed}" / "recipe.yaml").read_text() for seed in (1, 2, 3)]
    assert all(f"\n  seed: {seed}\n" in text for seed, text in enumerate(recipes, 1))
    pairs = write_lines(tmp_path / "pairs.tsv", ["ant bee\tANT BEE", "dog\tDOG"])
    ran = run(capsys, "compare", tmp_path / "mine", translator, "--file", pairs, "--json")
    mine, other = json.loads(ran.out)["models"]
    assert (mine["metrics"]["chrf"]["runs"], other["metrics"]["chrf"]["runs"]) == (3, 1)
    assert mine["metrics"]["chrf"]["lowest"] <= mine["metrics"]["chrf"]["mean"] <= mine["metrics"]["chrf"]["highest"]
    assert other["against_first"]["chrf"] == {
        "difference": pytest.approx(100 - mine["metrics"]["chrf"]["mean"]),
        "apart": True,
    }
    assert "ranges overlap" in run(capsys, "compare", tmp_path / "mine", tmp_path / "mine", "--file", pairs).out

"""User errors: one paragraph with the cause and the remedy, and no data lost."""

import errno
import io
import os
import shutil
import sys
import warnings

import pytest
import yaml

import saccade
from helpers.commands import refused, run
from helpers.recipes import MODEL, translation, untrained, write_folder, write_lines, write_recipe
from saccade.checksums import LIST
from saccade.cli import main
from saccade.recipes.versions import VERSION


@pytest.fixture
def recipe(text, tmp_path):
    """A recipe of this test on shared data."""
    settings = yaml.safe_load((text / "recipe.yaml").read_text())
    return write_recipe(tmp_path, settings)


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fail(number):
    def raises(*_, **__):
        raise OSError(number, os.strerror(number))

    return raises


def test_three_typos_at_once(capsys, tmp_path):
    wrong = "task: translation\ndata:\n  corpus: english-frnch\ntrain:\n  stepps: 5\nmodel:\n  preset: bahdanu\n"
    (tmp_path / "wrong.yaml").write_text(wrong)
    said = refused(capsys, "train", tmp_path / "wrong.yaml", "--out", tmp_path / "out")
    assert f"{tmp_path}/wrong.yaml cannot be used" in said
    assert "line 2, data: corpus 'english-frnch' does not exist. Did you mean 'english-french'?" in said
    assert "line 5, train.stepps: setting 'stepps' does not exist. Did you mean 'steps'?" in said
    assert "line 7, model.preset: preset 'bahdanu' does not exist. Did you mean 'bahdanau'?" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("[missing.a, b.txt]", "missing.a does not exist. Check the path; relative paths start from"),
        ("[a.txt, b.txt]", "b.txt ends at line 60, but a.txt goes on: its line 61, 'extra', has no partner."),
        ("[latin.txt, b.txt]", "latin.txt, line 2 is not UTF-8: byte 0xe9 at byte 4 of the line. Convert the file"),
        ("[empty.txt, empty.txt]", "empty.txt is empty. A corpus needs at least one line."),
        ("[few.txt, few.txt]", "there is nothing to validate on: one of every 50 training examples is set aside"),
        ("[a.txt]", "1 plain file cannot be read: a.txt. For sentence pairs, give two plain files"),
        ("[folder, b.txt]", "folder is a folder, but a file is needed."),
    ],
)
def test_data_that_cannot_be_used(capsys, recipe, tmp_path, monkeypatch, files, message):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "a.txt", [*["word"] * 60, "extra"])
    write_lines(tmp_path / "b.txt", ["WORD"] * 60)
    write_lines(tmp_path / "few.txt", ["word"] * 3)
    (tmp_path / "latin.txt").write_bytes(b"ant\ncaf\xe9\n" * 30)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "folder").mkdir()
    changes = ("--set", f"data.train={files}", "--set", "train.guided_alignment=0")
    said = refused(capsys, "train", recipe, *changes, "--out", tmp_path / "out")
    assert message in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("tokenizer={kind: bpe, size: 9000}", "tokenizer.size is 9000, but the source side has text for only"),
        ("train.device=cuda", "cuda was asked for, but torch"),
        ("train.lr", "--set 'train.lr' is no setting. Write it as section.name=value"),
        ("train.lr=[1", "--set train.lr=[1, line 1 is not YAML"),
        ("train.lr=fast", "train.lr: Input should be a valid number"),
        ("task=translate", "task: task 'translate' does not exist. Did you mean 'translation'"),
        ("model.preset=transfomer-base", "preset 'transfomer-base' does not exist. Did you mean 'transformer-base'?"),
        ("data.corpus=reading", "say where the data come from"),
        (f"train.seed={10**30}", "train.seed: Input should be less than 9223372036854775808"),
        (f"tokenizer={{kind: bpe, size: {2**70}}}", "tokenizer.size: Input should be less than or equal to 4194304"),
        (f"train.devices={2**40}", "train.devices: Input should be less than or equal to 1024"),
        ("train.devices=1000", "train.devices is 1000, but this machine takes"),
        (f"model.embedding={2**70}", "model.embedding: Input should be less than or equal to 1048576"),
        ("model.encoder.layers=100000", "model.encoder.layers: Input should be less than or equal to 256"),
        ('data.folder="a\\0b"', "holds a NUL or half a character"),
        ("data.columns={source: a}", "data.columns is for .jsonl, .json, .tsv, the Hub, but"),
    ],
)
def test_settings_that_cannot_be(capsys, recipe, tmp_path, change, message):
    if change.endswith("=cuda"):
        import torch

        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
    assert message in refused(capsys, "train", recipe, "--set", change, "--out", tmp_path / "out")


def test_recipes_that_do_not_exist(capsys, tmp_path):
    said = refused(capsys, "train", "english-frensh")
    assert "recipe 'english-frensh' does not exist. Did you mean 'english-french'?" in said
    assert "Did you mean 'english-french'?" in refused(capsys, "recipes", "englishfrench")
    assert "none.yaml does not exist. Check the path" in refused(capsys, "train", tmp_path / "none.yaml")
    assert "none.yaml does not exist. Check the path" in refused(capsys, "recipes", tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_text("a: 1\na: 2\n")
    assert "bad.yaml, line 2: a is set twice. Keep one." in refused(capsys, "train", tmp_path / "bad.yaml")


def test_a_corpus_that_does_not_exist(capsys):
    assert "corpus 'redding' does not exist. Did you mean 'reading'?" in refused(capsys, "data", "redding")
    assert "min_length is 9, but max_length only 3" in refused(capsys, "data", "reading", "--lengths", 9, 3)


def test_extras_that_are_not_installed(capsys, recipe, copied, tmp_path, monkeypatch):
    for name in ("datasets", "zstandard", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    changes = ("--set", "data.train=null", "--set", "data.test=null", "--set", "data.hub=some/set")
    said = refused(capsys, "train", recipe, *changes, "--out", tmp_path / "out")
    assert "the data set 'some/set' of the Hub needs the extra 'hub'. In the clone" in said
    (tmp_path / "lines.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    said = refused(capsys, "predict", copied, "--file", tmp_path / "lines.zst")
    assert "needs the extra 'zstd'. In the clone" in said
    said = refused(capsys, "look", copied, "ant", "-o", tmp_path / "x.png")
    assert "figures need matplotlib, which is not installed. In the clone" in said
    said = refused(capsys, "demo", "--out", tmp_path / "demo")
    assert "pip install -e '.[images]'" in said
    assert not (tmp_path / "demo").exists(), "raised before minutes of training"
    ran = run(capsys, "evaluate", copied)
    assert ran.code == 0, "metrics need no figures"
    assert "note: figures need matplotlib" in ran.err
    assert "bleu" in ran.out


def test_folders_that_are_no_models(capsys, copied, tmp_path):
    said = refused(capsys, "predict", tmp_path / "none", "ant")
    assert f"{tmp_path}/none is not there, or not a folder. A model is the folder that saccade train made." in said
    (tmp_path / "other").mkdir()
    assert "other is not a model: it has no recipe.yaml." in refused(capsys, "look", tmp_path / "other", "ant")
    assert "is not there, or not a folder" in refused(capsys, "evaluate", copied / "recipe.yaml")
    (copied / "tokenizer.json").rename(copied / "away")
    assert "copied is not a model: it has no tokenizer.json." in refused(capsys, "predict", copied, "ant")
    (copied / "tokenizer.json").write_text("{")
    assert "tokenizer.json is not a tokenizer of saccade, or is cut" in refused(capsys, "predict", copied, "ant")
    (copied / "tokenizer.json").write_bytes(b"\xff\xff")
    assert "tokenizer.json is not text, so it is damaged." in refused(capsys, "predict", copied, "ant")


def test_a_model_that_is_cut_short(capsys, copied):
    path = copied / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    before = files_in(copied)
    said = refused(capsys, "predict", copied, "ant")
    assert f"{path} is cut short or not a safetensors file" in said
    assert "Copy the model folder again." in said
    assert files_in(copied) == before


def test_a_model_of_a_newer_version(capsys, copied):
    path = copied / "recipe.yaml"
    path.write_text(path.read_text().replace(f"version: {VERSION}", f"version: {VERSION + 1}") + "future: {a: 1}\n")
    said = refused(capsys, "predict", copied, "ant")
    known = f"its recipe has version {VERSION + 1}, this one knows {VERSION}"
    assert f"was written by a newer saccade ({known}). Upgrade saccade: git pull" in said


def test_a_model_whose_recipe_is_spoiled(capsys, copied):
    path = copied / "recipe.yaml"
    path.write_text(path.read_text() + "future: {a: 1}\n")
    assert "copied cannot be loaded: " in refused(capsys, "predict", copied, "ant")


def test_the_tokenizer_of_another_model(capsys, copied, tmp_path):
    write_folder(untrained("translation", MODEL, kind="char"), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "tokenizer.json", copied / "tokenizer.json")
    said = refused(capsys, "predict", copied, "ant")
    assert "the vocabulary does not match: " in said
    assert "Put the tokenizer.json that the model was trained with beside it." in said


@pytest.mark.parametrize(
    ("task", "missing"), [("language-modeling", "source"), ("classification", "target"), ("translation", "labels")]
)
def test_the_tokenizer_of_another_task(capsys, copied, tmp_path, task, missing):
    folder = copied if missing != "labels" else write_folder(untrained("classification", MODEL), tmp_path / "labels")
    write_folder(untrained(task, MODEL), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "tokenizer.json", folder / "tokenizer.json")
    (folder / LIST).unlink(missing_ok=True)  # else the checksum test would fail first
    said = refused(capsys, "predict", folder, "ant")
    assert f"tokenizer.json has no {missing}, which " in said
    assert "so it belongs to another model. Copy the model folder again." in said


def test_the_tokenizer_of_another_model_with_as_many_tokens(capsys, copied):
    path = copied / "tokenizer.json"
    path.write_text(path.read_text().replace("ant", "tan"))
    said = refused(capsys, "predict", copied, "ant")
    assert "the vocabulary does not match: " in said
    assert "is not the tokenizer that model.safetensors was trained with, though it has as many tokens" in said


def test_a_trained_model_is_not_overwritten(capsys, recipe, copied):
    before = files_in(copied)
    said = refused(capsys, "train", recipe, "--out", copied)
    assert "already holds a trained model. Continue it with --resume, or choose another --out." in said
    changes = ("--set", "train.lr=0.5", "--set", "model.embedding=8")
    said = refused(capsys, "train", recipe, "--out", copied, "--resume", *changes)
    assert "the recipe is not the one" in said
    assert "- model.embedding: was 16, is 8 - train.lr: was 0.01, is 0.5" in said
    assert "Restore these to continue" in said
    assert files_in(copied) == before


def test_a_model_without_checkpoints_is_not_overwritten_by_another(capsys, recipe, copied):
    shutil.rmtree(copied / "checkpoints")
    before = files_in(copied)
    said = refused(capsys, "train", recipe, "--out", copied, "--resume", "--set", "model.embedding=8")
    assert "model.embedding: was 16, is 8" in said
    assert files_in(copied) == before


def test_a_file_where_the_model_should_go(capsys, recipe, tmp_path):
    (tmp_path / "file").write_text("mine")
    said = refused(capsys, "train", recipe, "--out", tmp_path / "file")
    assert "file is a file, but a model is a folder. Choose another --out." in said
    assert "lies inside something that is not a folder" in refused(
        capsys, "train", recipe, "--out", tmp_path / "file" / "x", "--set", "train.steps=1"
    )
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "there is no room left on the disk for"),
        (errno.EACCES, "no permission to write"),
        (errno.EROFS, "no permission to write"),
    ],
)
def test_a_disk_that_does_not_take_more(capsys, copied, tmp_path, monkeypatch, number, message):
    before = files_in(copied)
    monkeypatch.setattr("saccade.files.sync", fail(number))
    ran = run(capsys, "evaluate", copied)
    assert ran.code == 1
    assert f"{message} {copied / 'report.json'}" in ran.err
    assert "bleu" in ran.out, "the metrics are not lost"
    assert files_in(copied) == before
    said = refused(capsys, "look", copied, "ant", "-o", tmp_path / "x.svg")
    assert f"{message} {tmp_path / 'x.svg'}" in said
    said = refused(capsys, "data", "reading", "--size", 3, "--held-out", 3, "--out", tmp_path / "data")
    assert message in said
    assert not list(tmp_path.rglob("*.part"))


def test_no_room_while_training(capsys, tmp_path, monkeypatch):
    recipe = write_recipe(tmp_path, translation(tmp_path, steps=2))
    assert run(capsys, "train", recipe, "--out", tmp_path / "first").code == 0  # fills the cache
    monkeypatch.setattr("saccade.files.sync", fail(errno.ENOSPC))
    said = refused(capsys, "train", recipe, "--out", tmp_path / "out")
    assert "there is no room left on the disk for" in said
    assert "run the same command again" in said


def test_a_file_that_may_not_be_read(capsys, translator, tmp_path, monkeypatch):
    path = write_lines(tmp_path / "secret.txt", ["ant"])
    monkeypatch.setattr("saccade.data.text._opened", fail(errno.EACCES))
    assert f"no permission to read {path}." in refused(capsys, "predict", translator, "--file", path)


def test_a_gpu_that_is_not_there(capsys, translator):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    said = refused(capsys, "predict", translator, "ant", "--device", "cuda")
    assert "cuda was asked for, but torch" in said
    assert "finds no such device here." in said
    assert "device 'gpu' does not exist. Did you mean 'cpu'?" in refused(
        capsys, "predict", translator, "ant", "--device", "gpu"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("predict", "MODEL", "ant", "--top-p", 2), "top_p: Input should be less than or equal to 1 (it is 2.0)"),
        (("predict", "MODEL", "ant", "--beam", 2, "--nbest", 3), "nbest is 3, but a beam of 2 finds at most 2"),
        (
            ("predict", "MODEL", "ant", "--sample", "--temperature", 0),
            "temperature: Input should be greater than or equal to 0.001",
        ),
        (("predict", "MODEL", "ant", "--prefix", "A B C", "--max-length", 2), "the prefix of sentence 0 has 3 words"),
        (("predict", "MODEL", "ant", "--file", "x"), "both texts and --file are given. Give one of them."),
        (("predict", "MODEL", "--file", "none.txt"), "none.txt does not exist. Check the path"),
        (("evaluate", "MODEL", "--split", "tset"), "split 'tset' does not exist. Did you mean 'test'?"),
        (("evaluate", "MODEL", "none.a", "none.b"), "none.a does not exist."),
        (("evaluate", "MODEL", "--set", "data.tset=x"), "setting 'tset' does not exist. Did you mean 'test'?"),
        (("evaluate", "MODEL", "--set", "train.steps=9"), "--set changes train, but the model is trained already"),
        (("compare", "MODEL"), "a comparison needs two or more models. For one, use saccade evaluate."),
        (("look", "MODEL", " "), "the input is empty, so there is nothing to draw."),
        (("look", "MODEL", "ant", "-o", "x.gif"), "x.gif ends in .gif. Choose a name that ends in .png"),
        (("look", "MODEL", "ant", "--site", "atention"), "site 'atention' does not exist. Did you mean 'attention'?"),
        (("look", "MODEL", "ant", "--head", 4), "there is no head 4 (in Python: head=3): attention has 1 head."),
    ],
)
def test_commands_that_cannot_be_done(capsys, translator, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, *(translator if word == "MODEL" else word for word in words))


def test_models_of_different_tasks_are_not_compared(capsys, translator, tmp_path):
    other = write_folder(untrained("classification", MODEL), tmp_path / "other")
    said = refused(capsys, "compare", translator, other)
    assert "models of different tasks cannot be compared: classification, translation." in said


def test_a_model_without_attention_has_nothing_to_show(capsys, tmp_path):
    plain = {**MODEL, "decoder": {**MODEL["decoder"], "read_state": "current"}, "attention": None}
    folder = write_folder(untrained("translation", plain), tmp_path / "plain")
    assert "this model has no attention, so there is nothing to show." in refused(capsys, "look", folder, "ant bee")


def test_what_nobody_foresaw_is_told_without_a_traceback_unless_it_is_asked_for(capsys, translator, monkeypatch):
    monkeypatch.setattr("saccade.api.load", lambda *_, **__: 1 / 0)
    ran = run(capsys, "predict", translator, "ant")
    assert (ran.code, ran.out) == (1, "")
    assert "ZeroDivisionError" in ran.err
    assert "--debug" in ran.err
    assert "Traceback" not in ran.err
    with pytest.raises(ZeroDivisionError):
        run(capsys, "--debug", "predict", translator, "ant")
    with pytest.raises(ZeroDivisionError):
        run(capsys, "predict", translator, "ant", "--debug")


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 5 TiB",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate",
    ],
)
def test_memory_that_is_not_enough(capsys, translator, monkeypatch, words):
    def raises(*_, **__):
        raise RuntimeError(words)

    monkeypatch.setattr("saccade.api.load", raises)
    assert "there is not enough memory. Lower train.tokens_per_batch" in refused(capsys, "predict", translator, "a")


def test_memory_that_python_itself_does_not_have(capsys, translator, monkeypatch):
    def raises(*_, **__):
        raise MemoryError

    monkeypatch.setattr("saccade.api.load", raises)
    assert "there is not enough memory. Lower train.tokens_per_batch" in refused(capsys, "predict", translator, "a")


def test_a_file_that_the_system_refuses_is_named(capsys, translator, monkeypatch):
    def raises(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", "/some/where")

    monkeypatch.setattr("saccade.api.load", raises)
    ran = run(capsys, "predict", translator, "a")
    assert ran.code == 1
    assert ran.err.startswith("saccade: no permission to use /some/where. Choose another place")


def test_output_may_go_elsewhere_than_to_a_file(monkeypatch):
    """A notebook's stream, which has no encoding to set."""
    kept = io.StringIO()
    monkeypatch.setattr(sys, "stdout", kept)
    with pytest.raises(SystemExit) as ending:
        main(["--version"])
    assert not ending.value.code
    assert kept.getvalue() == f"saccade {saccade.__version__}\n"


def test_names_in_colons_are_no_emoji(capsys):
    assert "':cat:'" in refused(capsys, "recipes", ":cat:")


def test_warnings_for_users_are_one_line(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert warnings.formatwarning("a is now b", FutureWarning, "x.py", 3) == "saccade: a is now b\n"
    assert warnings.formatwarning("other", UserWarning, "x.py", 3, "y = 1") == "x.py:3: UserWarning: other\n  y = 1\n"

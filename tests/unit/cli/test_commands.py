"""The other commands: evaluate, compare, look, data, recipes, and their help texts."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import saccade
from helpers.commands import run
from helpers.recipes import MODEL, untrained, write_folder, write_lines, write_recipe
from saccade.cli.commands.evaluate import _trained_to
from saccade.corpora import spoken, stories
from saccade.data.forms import CAPTIONS, PAIRS, QUESTIONS, SPEECH, TEXT
from saccade.models import MODELS
from saccade.runs.recipe import load_recipe
from saccade.trace import Trace

COMMANDS = ["demo", "train", "predict", "chat", "evaluate", "compare", "look", "explain", "serve", "recipes", "data"]
COMMANDS += ["align", "cache", "models"]


def out_of(ran):
    assert ran.code == 0, ran
    return ran.out


def test_evaluate_writes_a_report_and_a_picture(capsys, copied):
    ran = run(capsys, "evaluate", copied)
    assert re.search(r"bleu +\d", out_of(ran))
    assert re.search(r"aer +0\.\d{3}", ran.out), "the test data have gold alignments"
    assert "20 examples" in ran.out
    report = json.loads((copied / "report.json").read_text())
    assert report["data"] == "test"
    assert report["metrics"].keys() == report["bands"].keys() == {"bleu", "chrf", "ter", "aer"}
    assert (copied / "lengths.png").read_bytes().startswith(b"\x89PNG")
    named = " and ".join(str(copied / name) for name in ("report.json", "outputs.jsonl", "lengths.png"))
    assert f"Wrote {named}\n" in ran.err


def test_evaluate_for_machines_in_another_place(capsys, translator, tmp_path):
    before = sorted(translator.iterdir())
    ran = run(capsys, "evaluate", translator, "--json", "--beam", 2, "--split", "valid", "--out", tmp_path / "here")
    report = json.loads(out_of(ran))
    assert report == json.loads((tmp_path / "here" / "report-valid.json").read_text())
    assert (report["data"], report["sentences"], report["search"]["beam"]) == ("valid", 6, 2)
    assert sorted(translator.iterdir()) == before


def test_evaluate_on_files_given(capsys, translator, tmp_path):
    write_lines(tmp_path / "x.a", ["ant bee", "cat"])
    write_lines(tmp_path / "x.b", ["ANT BEE", "CAT"])
    words = ("evaluate", translator, tmp_path / "x.a", tmp_path / "x.b", "--json", "--out", tmp_path)
    report = json.loads(out_of(run(capsys, *words)))
    assert report["metrics"]["ter"] == 0
    assert "aer" not in report["metrics"]
    assert report["data"] == [str(tmp_path / "x.a"), str(tmp_path / "x.b")]
    changed = ("--set", f"data.test=[{tmp_path}/x.a, {tmp_path}/x.b]")
    assert (
        json.loads(out_of(run(capsys, "evaluate", translator, "--json", *changed, "--out", tmp_path)))["sentences"] == 2
    )


def test_evaluate_searches_with_the_settings_given(capsys, translator, tmp_path):
    words = (
        "evaluate",
        translator,
        "--set",
        "data.test=null",
        "--set",
        "search.max_length=1",
        "--json",
        "--out",
        tmp_path,
    )
    report = json.loads(out_of(run(capsys, *words)))
    assert report["search"]["max_length"] == 1
    usual = json.loads(out_of(run(capsys, *words[:4], "--json", "--out", tmp_path)))
    assert usual["search"]["max_length"] is None
    assert report["metrics"]["chrf"] < usual["metrics"]["chrf"], "one word is too short"


def test_evaluate_says_what_it_was_on_where_there_are_no_test_data(capsys, translator, tmp_path):
    words = ("evaluate", translator, "--set", "data.test=null", "--json", "--out", tmp_path)
    assert json.loads(out_of(run(capsys, *words)))["data"] == "valid"


def test_notes_of_an_evaluation_are_passed_on(capsys, copied, monkeypatch):
    from saccade.api import Model

    real = Model.evaluate

    def noted(*words, **more):
        found = real(*words, **more)
        found.notes[:] = ["first [note]", "second"]
        return found

    monkeypatch.setattr(Model, "evaluate", noted)
    assert "note: first [note]\nnote: second\n" in run(capsys, "evaluate", copied).err


def test_the_longest_sentence_of_training_is_known_of_built_in_corpora_alone(translator):
    assert _trained_to(load_recipe("english-french", ["data.lengths=[4, 17]"])) == 17
    assert _trained_to(load_recipe(str(translator / "recipe.yaml"), [])) is None


def test_evaluate_every_task(capsys, tmp_path):
    labels = write_folder(untrained("classification", MODEL), tmp_path / "labels")
    (tmp_path / "test.tsv").write_text("good\tcat\nbad\tdog\n")
    report = json.loads(out_of(run(capsys, "evaluate", labels, tmp_path / "test.tsv", "--json")))
    assert report["metrics"].keys() == {"accuracy", "macro_f1"}
    reader = write_folder(
        untrained("language-modeling", {"preset": "lstmn", **MODELS["lstmn"].tiny}), tmp_path / "reader"
    )
    (tmp_path / "test.txt").write_text("the cat .\n\na dog .\n")
    report = json.loads(out_of(run(capsys, "evaluate", reader, tmp_path / "test.txt", "--json")))
    assert report["metrics"]["perplexity"] > 1
    assert report["sentences"] == 2


def test_the_same_model_twice_does_not_differ(capsys, translator, tmp_path):
    report = json.loads(out_of(run(capsys, "compare", translator, translator, "--json")))
    first, second = report["models"]
    assert first["metrics"] == second["metrics"]
    assert {part["p_value"] for part in second["against_first"].values()} == {1.0}


def test_a_trained_model_beats_an_untrained_one(capsys, translator, text, tmp_path):
    shutil.copytree(translator, tmp_path / "other")
    from saccade.runs.folder import build_task, load_task

    task = load_task(translator)
    write_folder(build_task(task.recipe, task.tokenizers), tmp_path / "other")
    words = ("compare", translator, tmp_path / "other", "--out", tmp_path / "lengths.svg")
    ran = run(capsys, *words)
    assert re.search(r"chrf +\d+\.\d+ +-\d+\.\d{3} +\(p = 0\.00\d\)", out_of(ran))
    assert "<svg" in (tmp_path / "lengths.svg").read_text()
    assert ran.err == f"Wrote {tmp_path / 'lengths.svg'}\n"
    files = ("--file", text / "train.a", "--file", text / "train.b")
    report = json.loads(out_of(run(capsys, "compare", translator, tmp_path / "other", *files, "--json")))
    assert report["sentences"] == 400


def test_models_are_compared_on_the_data_of_the_first(capsys, translator, tmp_path):
    """One model has twenty test sentences, the other no test data, so its six validation sentences are used."""
    from saccade.runs.folder import load_task

    task = load_task(translator)
    data = task.recipe.data.model_copy(update={"test": None})
    task.recipe = task.recipe.model_copy(update={"data": data})
    other = write_folder(task, tmp_path / "other")
    for models, sentences in (((translator, other), 20), ((other, translator), 6)):
        ran = run(capsys, "compare", *models)
        assert out_of(ran).startswith(f"{sentences} examples")
        assert ran.err == "", "nothing was drawn"
    change = ("--set", f"data.test={json.dumps(task.recipe.data.model_dump(mode='json')['valid'])}")
    assert out_of(run(capsys, "compare", translator, other, *change)).startswith("6 examples")


def test_data_are_listed(capsys):
    listed = json.loads(out_of(run(capsys, "data", "--json")))
    assert {"english-french", "reading", "scenes", "multi30k", "ptb"} <= set(listed)
    assert listed["multi30k"]["address"].startswith("https://")
    shown = out_of(run(capsys, "data"))
    assert re.search(r"^ptb +language-modeling +The Penn Treebank", shown, re.M)
    assert re.search(r"^english-french +translation +English sentences .* grammar\. *$", shown, re.M), "one line a row"


def test_the_two_kinds_of_data_are_listed_apart(capsys):
    ran = run(capsys, "data")
    lines = [line.rstrip() for line in out_of(ran).splitlines()]
    assert lines[0] == "Built-in corpora"
    assert lines[lines.index("Public data sets") - 1] == ""
    assert ran.err == "For download instructions and the license: saccade data NAME\n"


def test_what_is_written_is_told(capsys, tmp_path):
    ran = run(capsys, "data", "reading", "--size", 2, "--held-out", 1, "--out", tmp_path / "corpus")
    assert (out_of(ran), ran.err) == ("", f"Wrote train.en, valid.en, test.en to {tmp_path / 'corpus'}\n")
    for split in ("train", "dev"):
        (tmp_path / f"{split}.txt").write_text("(3 (2 It) (4 works))\n")
    ran = run(capsys, "data", "sst", "--from", tmp_path, "--out", tmp_path / "sst")
    assert out_of(ran) == ""
    assert ran.err.startswith("Wrote stsa.")
    assert ran.err.endswith(f" to {tmp_path / 'sst'}\n")


def test_a_public_data_set_is_told_how_to_get_and_made_ready(capsys, tmp_path):
    said = out_of(run(capsys, "data", "sst"))
    assert "License:" in said
    assert "saccade data sst --from DIR --out sst" in said
    for split in ("train", "dev"):
        (tmp_path / f"{split}.txt").write_text("(3 (2 It) (4 works))\n")
    words = ("data", "sst", "--from", tmp_path, "--out", tmp_path / "sst", "--json")
    assert len(json.loads(out_of(run(capsys, *words)))) == 4
    assert (tmp_path / "sst" / "stsa.fine.train").read_text() == "3 It works\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sst", "--out", "x"), "name both folders: saccade data sst --from DIR --out sst"),
        (("ptb", "--from", "x", "--out", "y"), "ptb needs no conversion: its recipes read it as it is."),
        (("reading", "--from", "x"), "--from is for public data sets (multi30k, "),
    ],
)
def test_what_cannot_be_made_ready_is_told(capsys, words, message):
    ran = run(capsys, "data", *words)
    assert ran.code == 2
    assert message in ran.err


def test_data_are_printed(capsys):
    rows = [line.split("\t") for line in out_of(run(capsys, "data", "english-french", "--size", 5)).splitlines()]
    assert [len(row) for row in rows] == [3] * 5
    assert len(out_of(run(capsys, "data", "reading", "--size", 3, "--seed", 4)).splitlines()) == 3


def test_questions_are_printed_and_written_with_their_evidence(capsys, tmp_path):
    rows = [line.split("\t") for line in out_of(run(capsys, "data", "stories", "--size", 3)).splitlines()]
    assert [row[1][-1] for row in rows] == ["?"] * 3
    assert all(row[2] in row[0] for row in rows)
    run(capsys, "data", "stories", "--size", 4, "--held-out", 2, "--lengths", 30, 60, "--out", tmp_path)
    for split, count in (("train", 4), ("test", 2)):
        found = list(QUESTIONS.read([tmp_path / f"{split}.jsonl"]))
        assert found == list(stories(split, count, min_length=30, max_length=60))
        assert all(example.evidence for example in found)


def test_a_corpus_is_printed_with_other_settings(capsys):
    words = ("data", "spoken", "--size", 3, "--lengths", 3, 6)
    assert [line.count("\t") for line in out_of(run(capsys, *words)).splitlines()] == [0, 0, 0]
    changed = out_of(run(capsys, *words, "--set", "data.spoken.kind=translation")).splitlines()
    assert [line.count("\t") for line in changed] == [2, 2, 2], "English, French and links"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("data.spoken.kind=songs", "spoken.kind: Input should be 'digits'"),
        ("train.lr=1", "can change the section data alone here, and not its corpus, which is spoken"),
        ("data.corpus=talk", "and not its corpus"),
        ("data.spokn={}", "Did you mean 'spoken'"),
    ],
)
def test_settings_that_a_corpus_does_not_have_are_refused(capsys, change, message):
    ran = run(capsys, "data", "spoken", "--set", change)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_recordings_that_are_written_read_back(capsys, tmp_path):
    out_of(run(capsys, "data", "spoken", "--size", 3, "--held-out", 2, "--out", tmp_path))
    found = list(SPEECH.read([tmp_path / "train.jsonl"]))
    assert [example.text for example in found] == [example.text for example in spoken("train", 3)]
    assert [example.times for example in found] == [example.times for example in spoken("train", 3)]
    assert found[0].sound.load().rate == 8000


def test_data_that_are_written_read_back(capsys, tmp_path):
    words = ("--size", 8, "--held-out", 3, "--lengths", 4, 9, "--out", tmp_path / "corpus", "--json")
    written = json.loads(out_of(run(capsys, "data", "english-french", *words)))
    names = [f"{split}.{end}" for split in ("train", "valid", "test") for end in ("en", "fr", "align")]
    assert [path.rsplit("/", 1)[1] for path in written] == names
    found = list(PAIRS.read([tmp_path / "corpus" / name for name in names[:3]]))
    assert len(found) == 8
    assert all(example.links for example in found)
    assert all(4 <= len(example.source.split()) <= 9 for example in found)
    assert len(json.loads(out_of(run(capsys, "data", "reading", *words)))) == 3
    assert len(list(TEXT.read([tmp_path / "corpus" / "valid.en"]))) == 3


def test_pictures_that_are_written_read_back(capsys, tmp_path):
    words = ("--size", 3, "--held-out", 2, "--out", tmp_path / "corpus", "--json")
    written = [Path(path) for path in json.loads(out_of(run(capsys, "data", "scenes", *words)))]
    assert [path.name for path in written[:2]] == ["train.jsonl", "train.images"]
    found = list(CAPTIONS.read([written[2]]))
    assert len({example.image for example in found}) == 2
    assert all(example.boxes and example.image.load().shape == (64, 64, 3) for example in found)


def test_the_cache_is_cleared(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ran = run(capsys, "data", "--clear-cache")
    assert ran.code == 0
    assert re.search(r"Freed 0\.0 MB", ran.err)


def test_recipes_are_listed_and_printed(capsys):
    listed = json.loads(out_of(run(capsys, "recipes", "--json")))
    shown = out_of(run(capsys, "recipes"))
    for name, settings in listed.items():
        assert re.search(rf"^{name} +{settings['task']} +\S", shown, re.M)
    printed = out_of(run(capsys, "recipes", "english-french"))
    assert yaml.safe_load(printed)["task"] == "translation"
    assert printed.startswith("#"), "with its comments"
    assert json.loads(out_of(run(capsys, "recipes", "english-french", "--json"))) == listed["english-french"]


@pytest.fixture
def trained(monkeypatch):
    """Replace training by a function that ends as given; return its calls."""
    calls = []

    def ends(why):
        def train(recipe, folder, **more):
            calls.append((recipe, folder, more))
            return SimpleNamespace(
                why=why, progress=SimpleNamespace(step=1234, seconds=187.4, best=1.5, best_step=1000)
            )

        monkeypatch.setattr("saccade.runs.training.train", train)
        return calls

    return ends


@pytest.mark.parametrize(
    ("why", "told"),
    [("finished", "done"), ("early", "no more progress"), ("time", "time limit reached")],
)
def test_train_says_why_it_ended(capsys, trained, why, told):
    calls = trained(why)
    ran = run(capsys, "train", "english-french")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == (
        f"Trained for 1,234 steps in 3:07 ({told}). The model is runs/english-french\n"
        "Next: saccade evaluate runs/english-french\n"
    )
    (recipe, folder, more) = calls[0]
    assert (folder, more["resume"], recipe.train.devices) == (Path("runs/english-french"), False, 1)


def test_a_time_limit_that_cut_most_steps_is_named(capsys, trained):
    trained("time")
    ran = run(capsys, "train", "english-french", "--set", "train.steps=5000", "--set", "train.minutes=3")
    assert "Only 1,234 of 5,000 steps fit into train.minutes=3. Raise it for a better model.\n" in ran.err


def test_training_that_was_stopped_is_a_failure_that_can_go_on(capsys, trained, tmp_path):
    calls = trained("interrupted")
    ran = run(capsys, "train", "english-french", "--resume", "--devices", 3, "--set", "train.seed=5", "--out", tmp_path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "Stopped after step 1,234; a checkpoint is written. Run the same command with --resume to continue.\n"
    )
    (recipe, folder, more) = calls[0]
    assert (folder, more["resume"], recipe.train.devices, recipe.train.seed) == (tmp_path, True, 3, 5)
    for why, code in (("interrupted", 1), ("early", 0)):
        trained(why)
        ran = run(capsys, "train", "english-french", "--json", "--out", "x")
        assert (ran.code, ran.err) == (code, "")
        assert json.loads(ran.out) == {
            "folder": "x",
            "ended": why,
            "steps": 1234,
            "seconds": 187.4,
            "best": 1.5,
            "best_step": 1000,
        }


def test_explain_tells_every_step_or_one_or_all_there_is(capsys, translator):
    told = out_of(run(capsys, "explain", translator, "ant bee"))
    assert re.findall(r"^Step (\d) of 3, (.*)$", told, re.M) == [
        ("1", "the beginning"),
        ("2", "after 'ANT'"),
        ("3", "after 'ANT BEE'"),
    ]
    assert "The state of the decoder" in told
    one = out_of(run(capsys, "explain", translator, "ant bee", "--step", 2, "--beam", 2))
    assert re.findall(r"^Step (\d)", one, re.M) == ["2"]
    trace = Trace.parse(out_of(run(capsys, "explain", translator, "ant bee", "--json")))
    assert (trace.text, "state" in trace.vectors) == ("ANT BEE", True)


def test_train_says_how_it_went_and_what_comes_next(capsys, text, tmp_path):
    recipe = write_recipe(tmp_path, yaml.safe_load((text / "recipe.yaml").read_text()))
    ran = run(capsys, "train", recipe, "--set", "train.steps=2", "--out", tmp_path / "out")
    assert (ran.code, ran.out) == (0, "")
    assert "394 examples" in ran.err
    assert f"Next: saccade evaluate {tmp_path / 'out'}" in ran.err
    words = ("train", recipe, "--set", "train.steps=3", "--out", tmp_path / "out", "--resume", "--json")
    outcome = json.loads(out_of(run(capsys, *words)))
    assert (outcome["ended"], outcome["steps"]) == ("finished", 3)


@pytest.mark.parametrize(
    ("task", "data", "model"),
    [
        ("language-modeling", "the cat sat .\n", {"preset": "lstmn", **MODELS["lstmn"].tiny}),
        ("classification", "good a fine day\nbad a poor day\n", {"preset": "bahdanau", **MODELS["bahdanau"].tiny}),
    ],
)
def test_other_tasks_from_data_to_answer(capsys, tmp_path, task, data, model):
    (tmp_path / "train.txt").write_text(data * 60)
    settings = {
        "task": task,
        "data": {"train": str(tmp_path / "train.txt"), "cache": str(tmp_path / "cache")},
        "model": model,
        "train": {"steps": 3, "tokens_per_batch": 64, "precision": "fp32", "device": "cpu"},
    }
    settings["tokenizer"] = {"kind": "char"}
    out = tmp_path / "out"
    assert run(capsys, "train", write_recipe(tmp_path, settings), "--out", out).code == 0
    assert out_of(run(capsys, "predict", out, "a day", "--max-length", 3)).strip()
    assert json.loads(out_of(run(capsys, "evaluate", out, "--json")))["data"] == "valid"
    assert "a" in out_of(run(capsys, "look", out, "a day"))


def test_version(capsys):
    assert out_of(run(capsys, "--version")) == f"saccade {saccade.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(capsys, command):
    shown = out_of(run(capsys, command, "--help"))
    assert re.search(rf"Example: saccade {command}\b", shown)


def test_help_names_every_command(capsys):
    shown = out_of(run(capsys, "--help"))
    for command in COMMANDS:
        assert re.search(rf"^\W*{command} ", shown, re.M)
    ran = run(capsys)
    assert ran.code == 2
    assert "Usage" in ran.out + ran.err
    assert "Begin with: saccade models, or saccade demo" in ran.out + ran.err, "all of the help, not what is missing"
    assert "completion" not in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("trian",), "No such command 'trian'"),
        (("predict",), "Missing argument"),
        (("predict", "m", "x", "--bem", "2"), "No such option"),
        (("predict", "m", "x", "--beam", "0"), "--beam"),
        (("predict", "m", "x", "--format", "xml"), "--format"),
        (("train", "r", "--devices", "0"), "--devices"),
        (("data", "reading", "--lengths", "3"), "--lengths"),
    ],
)
def test_words_that_are_not_understood(capsys, words, message):
    ran = run(capsys, *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err

"""What the documents show can be run, and names in them exist."""

import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from helpers.search import greedy
from saccade.attention import ALIGNS, SCORES, WINDOWS
from saccade.batch import Batch
from saccade.cli import main
from saccade.models import presets_for

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(ROOT.glob("*.md"))
SNIPPETS = [
    pytest.param(code, id=f"{path.name}-{number}")
    for path in [*DOCUMENTS, *sorted((ROOT / "docs").rglob("*.md"))]
    # test_guides.py runs some of them
    if path.name
    not in ("captioning.md", "serve.md", "extend.md", "few-shot.md", "glimpses.md", "chat.md", "speech.md")
    + ("image-generation.md", "drawing.md")
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


COMMANDS = re.findall(r"^\$ saccade (.*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
INLINE = re.findall(r"`saccade ([^`<>]+)`", (ROOT / "README.md").read_text())
QUICK = ["train.steps=3", "data.size=200", "data.held_out=20", "data.lengths=[3,8]", "data.cache=cache"]
"""Settings that shorten the documents' training runs to seconds."""


def serve_and_stop(words):
    """Commands that run until they are stopped."""
    command = [sys.executable, "-m", "saccade", *words, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        (address,) = re.findall(r"http://\S+", next(line for line in server.stderr if "http://" in line))
        with urllib.request.urlopen(f"{address}healthz") as answer:
            assert answer.status == 200
        server.terminate()
        assert server.wait() == 0


def run_command(words):
    if words[0] == "serve":
        serve_and_stop(words)
        return
    settings = [part for setting in QUICK for part in ("--set", setting)] if words[0] in ("train", "demo") else []
    with pytest.raises(SystemExit) as exit:
        main([*words, *settings])
    assert exit.value.code == 0, words


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    """A folder in which every command of the README was run, in its order."""
    folder, before = tmp_path_factory.mktemp("workshop"), Path.cwd()
    os.chdir(folder)
    try:
        run_command(["demo"])
        for command in COMMANDS:
            run_command(shlex.split(command))
        yield folder
    finally:
        os.chdir(before)


def test_every_command_of_the_readme_runs(workshop):
    assert len(COMMANDS) >= 8
    for file in (
        "runs/first/model.safetensors",
        "runs/first/report.json",
        "area.png",
        "lengths.png",
        "corpus/train.fr",
    ):
        assert (workshop / file).exists(), file


GUIDES = [
    "tutorial/first-model.md",
    *("how-to/own-data.md", "how-to/figures.md", "how-to/pointer-networks.md", "how-to/chat.md", "how-to/questions.md"),
    "how-to/summaries.md",
    "how-to/speech.md",
]


@pytest.mark.parametrize("name", GUIDES)
def test_every_command_of_a_guide_runs(name, workshop, monkeypatch):
    monkeypatch.chdir(workshop)
    monkeypatch.setattr("sys.stdin", io.StringIO("hello there\n"))
    text = (ROOT / "docs" / name).read_text()
    for settings in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL):
        Path("my.yaml").write_text(settings)
    for command in re.findall(r"^\$ saccade (.*)$", text, re.MULTILINE):
        words = shlex.split(command)
        if words[0] == "demo":  # was run before
            continue
        shorter = [setting for setting in QUICK if not setting.startswith("data.lengths")]
        quick = [part for setting in shorter for part in ("--set", setting)] if words[0] == "train" else []
        with pytest.raises(SystemExit) as exit:
            main([*words, *quick])
        assert exit.value.code == 0, command
    if name in ("how-to/chat.md", "how-to/speech.md"):
        for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            exec(compile(code, "snippet", "exec"), {})


def test_commands_inside_sentences_exist(capsys):
    for command in INLINE:
        name = shlex.split(command)[0]
        with pytest.raises(SystemExit) as exit:
            main([name, "--help"])
        assert exit.value.code == 0
    assert "Example" in capsys.readouterr().out


@pytest.mark.parametrize("code", SNIPPETS)
def test_python_snippets_run(code, workshop, monkeypatch):
    monkeypatch.chdir(workshop)
    exec(compile(code, "snippet", "exec"), {})


def test_the_readme_names_every_entry_of_the_tables():
    readme = (ROOT / "README.md").read_text()
    for name in [
        *SCORES,
        *ALIGNS,
        *WINDOWS,
        *(n for n in presets_for("sequence_to_sequence") if not n.startswith("luong-")),
    ]:
        assert name in readme, f"README.md does not mention {name!r}"
    for name in presets_for("sequence_to_sequence"):
        assert name in readme or name.removeprefix("luong") in readme


@pytest.mark.parametrize("document", [*DOCUMENTS, *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda path: path.name)
def test_links_and_paths_lead_somewhere(document):
    text = document.read_text()
    linked = [link for link in re.findall(r"\]\(([^)#\s]+)\)", text) if "://" not in link]
    quoted = re.findall(r"`((?:src|tests|benchmarks|examples|docs)/[\w/.-]+)`", text)
    missing = [path for path in quoted if not (ROOT / path).exists()]
    missing += [path for path in linked if not (document.parent / path).exists()]
    assert not missing, f"{document.name} names {missing}, which do not exist"


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        named = re.findall(r"(?:`|\$ )make ([a-z-]+)", document.read_text())
        assert set(named) <= targets


def test_the_first_example_shows_a_row_for_each_word_written(capsys):
    example = runpy.run_path(str(ROOT / "examples" / "first_look.py"))
    model = example["train"](steps=2)
    source = ["an", "eye", "leaps"]
    tokens = [example["VOCABULARY"].index(word) for word in source]
    (hypothesis,) = greedy(model, Batch.from_lists([tokens]), max_length=4)
    capsys.readouterr()
    example["show"](source, hypothesis)
    shown = capsys.readouterr().out.splitlines()
    letters = max(map(len, source))  # the source words are written vertically above the rows
    rows = [line.split()[0] for line in shown[letters:]]
    assert rows == [example["VOCABULARY"][token] for token in hypothesis.tokens]

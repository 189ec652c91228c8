"""Every block of the guides runs, in the order of its page, in a folder that has the models and files they name."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from helpers.processes import quick_workers
from helpers.server import Running
from helpers.tasks import CASES, EXTEND, digit_files, generating, write_drawings
from saccade.cli import main
from saccade.recipes import RecipeText, read_yaml
from saccade.runs.recipe import load_recipe, parse_recipe
from saccade.runs.training import train

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [DOCS / f"{name}.md" for name in ("captioning", "self-attention", "serve")]
PAGES += [
    DOCS / "how-to" / f"{name}.md"
    for name in (
        "extend",
        "few-shot",
        "drawing",
        "glimpses",
        "image-generation",
        "resume-and-scale",
        "scale",
        "serve",
        "speech-data",
    )
]
RUN_ELSEWHERE = {"README.md", "first-model.md", "own-data.md", "figures.md", "pointer-networks.md", "chat.md"} | {
    "questions.md",
    "summaries.md",
    "speech.md",
}
"""Pages whose commands test_docs.py runs."""
NOT_RUN = {
    "saccade train flickr8k": "Flickr8k is not distributed with saccade",
    "python benchmarks/photographs.py": "the same",
    "saccade train english-french --out runs/sharded": "FSDP needs GPUs",
    "saccade train english-french --out runs/bf16": "some processors have no bf16",
    "git clone": "the Free Spoken Digit Dataset is not distributed with saccade",
    "saccade data fsdd": "the same",
    "saccade train fsdd": "the same",
    "MASTER_ADDR": "several nodes are several machines",
    "torchrun": "the same; tests/process/test_torchrun.py has two nodes on one machine",
    "saccade predict runs/demo --file sentences.txt --out answers-by-ray.jsonl": "tests/ray runs it",
    "saccade serve --models-file": "tests/process reloads a server",
    "echo runs/second": "the same",
    "kill -HUP": "the same",
    "SACCADE_MODELS=": "uvicorn would serve until it is stopped",
}
"""Beginnings of commands that cannot run here, and why."""
QUICK = {"steps": 3, "precision": "fp32", "device": "cpu"}
FENCES = re.compile(r"^```([\w{}]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(path):
    """The language and the content of every block of a page."""
    return FENCES.findall(path.read_text(encoding="utf-8"))


def commands(content):
    return [line.removeprefix("$ ") for line in content.splitlines() if line.startswith("$ ")]


@pytest.fixture(scope="module")
def shop(tmp_path_factory, translator):
    """A folder with the models and files that the guides name."""
    from PIL import Image

    folder = tmp_path_factory.mktemp("shop")
    for name in ("demo", "first"):
        shutil.copytree(translator, folder / "runs" / name)
    (folder / "scenes.yaml").write_text(yaml.safe_dump(CASES["captioning"].settings(folder)))
    train(load_recipe(str(folder / "scenes.yaml")), folder / "runs" / "scenes")
    train(parse_recipe(RecipeText(generating(folder), "test")), folder / "served" / "twins")
    for name in ("picture.png", "scene.png", "dog.jpg", "cat.png"):
        Image.new("RGB", (32, 32), "red").save(folder / name)
    write_drawings(folder, 3, 2).rename(folder / "letters")
    Image.open(digit_files(folder)[0]).save(folder / "digit.png")
    (folder / "token.txt").write_text("secret")
    (folder / "sentences.txt").write_text("ant bee\ndog\n")
    (folder / "examples").symlink_to(EXTEND.parent)
    return folder


@pytest.fixture(scope="module")
def server(shop):
    """A server of the guides' models."""
    running = Running(shop / "printed", shop / "runs" / "demo", shop / "runs" / "scenes", shop / "served" / "twins")
    yield running
    running.end()


def quick(words):
    """Return the command with settings that shorten its training run."""
    if words[0] != "train":
        return words
    more = {"data.cache": "cache", "data.size": 200, "data.held_out": 20, "data.lengths": "[3,8]"}
    if words[1].endswith(".yaml") and "base" not in read_yaml(Path(words[1])).settings:
        more = {"data.cache": "cache"}
    if "transformer" in words[1]:
        more["tokenizer.size"] = "null"  # so few lines have few subwords
    more |= {f"train.{name}": value for name, value in QUICK.items()}
    more["train.steps"] += "--resume" in words
    return [*words, *(part for name, value in more.items() for part in ("--set", f"{name}={value}"))]


def run_command(command, request):
    """Run one command of a page as a reader would."""
    words = shlex.split(command, comments=True)
    if words[0] == "export":
        name, _, value = words[1].partition("=")
        request.getfixturevalue("monkeypatch").setenv(name, os.pathsep.join((value, os.environ.get(name, ""))))
        request.getfixturevalue("monkeypatch").syspath_prepend(value)
    elif words[0] == "curl":
        command = command.replace("localhost:8000", f"localhost:{request.getfixturevalue('server').port}")
        subprocess.run([*shlex.split(command), "--fail"], check=True, stdout=subprocess.DEVNULL)
    elif words[:2] == ["saccade", "serve"]:
        ends_well([*words[1:], "--help"])
    elif "--devices" in words:  # its worker processes run the same program
        subprocess.run([sys.executable, "-m", "saccade", *quick(words[1:])], check=True)
    else:
        assert words[0] == "saccade", f"{command} is neither run nor in NOT_RUN"
        ends_well(quick(words[1:]))


def ends_well(words):
    with pytest.raises(SystemExit) as exit:
        main(words)
    assert exit.value.code == 0, words


def run_python(code, path, request):
    """Run a block; those of extend.md are parts of a file that the recipes there train."""
    if path.name == "extend.md":
        lines = [line for line in code.splitlines() if line]
        files = [iter(file.read_text().splitlines()) for file in EXTEND.glob("*.py")]
        assert any(all(line in rest for line in lines) for rest in files), f"no file of examples/extend has\n{code}"
        return
    if "localhost:8000" in code:
        code = code.replace("localhost:8000", f"localhost:{request.getfixturevalue('server').port}")
    exec(compile(code, path.name, "exec"), {})


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_every_block_runs(path, shop, monkeypatch, request):
    monkeypatch.chdir(shop)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    quick_workers(monkeypatch)
    text, found = path.read_text(encoding="utf-8"), blocks(path)
    names = iter(re.findall(r"Save this as `([\w.]+)`", text))
    for language, content in found:
        if language == "console":
            for command in commands(content):
                if not command.startswith(tuple(NOT_RUN)):
                    run_command(command, request)
        elif language == "python":
            run_python(content, path, request)
        elif language == "yaml":
            Path(next(names, "part.yaml")).write_text(content)
            if "task:" in content and ":" not in yaml.safe_load(content)["task"]:
                parse_recipe(read_yaml(Path("part.yaml")))
        elif language == "json":
            assert all(isinstance(json.loads(line), dict) for line in content.splitlines())
        else:
            assert language == "ini", f"blocks of {language or 'no language'} are not checked"
            unit = configparser.ConfigParser()
            unit.optionxform = str
            unit.read_string(content)
            ends_well([*shlex.split(unit["Service"]["ExecStart"])[1:], "--help"])


def test_the_recipe_of_the_readme_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (content,) = [content for language, content in blocks(ROOT / "README.md") if language == "yaml"]
    Path("my.yaml").write_text(content)
    for name in re.findall(r"(?:train|valid)\.(?:en|de)", content):
        Path(name).write_text("an eye\n" * 4)
    recipe = parse_recipe(read_yaml(Path("my.yaml")))
    assert (recipe.task, recipe.model["preset"], recipe.search.beam) == ("translation", "bahdanau", 5)


def test_every_page_with_commands_is_run():
    here = {path.name for path in PAGES} | RUN_ELSEWHERE
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        languages = {language for language, _ in blocks(path)}
        assert languages <= {
            "python",
            "{toctree}",
            *(("", "console", "yaml", "ini", "json") if path.name in here else ("",)),
        }, path
        bare = [content for language, content in blocks(path) if not language]
        assert not any(line.startswith("$ ") for content in bare for line in content.splitlines()), path


def test_every_exception_is_in_a_page():
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [beginning for beginning in NOT_RUN if f"$ {beginning}" not in text] == []

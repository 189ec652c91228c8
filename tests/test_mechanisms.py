"""The page on how attention works is true: its code, its references, its figures and its commands.

`test_docs.py` runs the blocks of code and follows the links, as in every document.
"""

import ast
import re
import runpy
import shlex
from pathlib import Path

import matplotlib
import pytest

from saccade.models import MODELS, build_head
from saccade.models.pointer_network import PointsConfig
from saccade.runs.recipe import load_recipe

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "explanation" / "how-attention-works.md").read_text(encoding="utf-8")
SCRIPT = ROOT / "docs" / "images" / "mechanisms.py"
STORED = SCRIPT.with_suffix("")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
REFERENCES = [
    (name, path)
    for names, path in re.findall(r"((?:`\w+`(?: and )?)+) in\s`(src/[\w/]+\.py)`", TEXT)
    for name in re.findall(r"\w+", names.replace(" and ", " "))
]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.count("`saccade train")
]
HEADS = {
    "translation": ("sequence_to_sequence", 20, 20),
    "language-modeling": ("language_model", 20),
    "captioning": ("captioner", 20),
    "ordering": ("pointer_network", PointsConfig()),
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """The figures, drawn again."""
    folder = tmp_path_factory.mktemp("figures")
    runpy.run_path(str(SCRIPT))["draw"](folder)
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_page_is_short_and_every_block_compares():
    assert len(TEXT.splitlines()) < 400
    assert len(BLOCKS) >= TEXT.count("\n## ") - 1  # all sections but the last, which is the table
    for block in BLOCKS:
        assert len(block.splitlines()) <= 20, block
        assert "assert torch.allclose(" in block
        assert "from saccade" in block


@pytest.mark.parametrize(("name", "path"), REFERENCES)
def test_what_the_page_names_is_defined_there(name, path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def test_every_section_names_its_code():
    sections = TEXT.split("\n## ")[1:-2]
    assert len(REFERENCES) >= 2 * len(sections) - 1
    for section in sections:
        assert re.search(r"^Code: `\w+`", section, re.MULTILINE), section[:40]


def test_the_figures_are_what_the_script_draws(drawn):
    shown = set(re.findall(r"\(\.\./images/mechanisms/([\w-]+\.svg)\)", TEXT))
    assert shown == set(drawn) == {path.name for path in STORED.iterdir()}
    pinned = re.search(r"matplotlib==(\S+)", (ROOT / "constraints.txt").read_text())
    for name, svg in drawn.items():
        stored = (STORED / name).read_text(encoding="utf-8")
        assert len(stored) < 40_000, name
        assert "<text" in stored
        if pinned and matplotlib.__version__ == pinned[1]:
            assert svg == stored, f"{name} has changed: run python docs/images/mechanisms.py"
        assert labels(svg) == labels(stored), f"{name} has changed: run python docs/images/mechanisms.py"


def labels(svg):
    return re.findall(r">([^<>\n]+)</(?:text|tspan)>", svg)


def test_the_numbers_of_the_worked_example_are_in_its_figure(drawn):
    for number in ("−0.56", "2.28", "1.93", "0.033", "0.569", "0.398", "0.97", "−0.37"):
        assert number in labels(drawn["additive.svg"])


def test_the_table_has_a_row_for_each_mechanism():
    assert len(ROWS) == 10
    for _, presets, _ in ROWS:
        first = None
        for name in re.findall(r"`([\w-]+)`", presets):
            first = first or name
            assert (first.rsplit("-", 1)[0] + name if name.startswith("-") else name) in MODELS


@pytest.mark.parametrize("command", [command for row in ROWS for command in re.findall(r"`saccade ([^`]+)`", row[2])])
def test_every_command_builds_a_model(command):
    verb, recipe, *options = shlex.split(command)
    assert verb == "train"
    assert options[::2] == ["--set"] * (len(options) // 2)
    read = load_recipe(recipe, options[1::2])
    head, *sizes = HEADS[read.task]
    model = build_head(head, read.model_settings(), *sizes)
    assert sum(parameter.numel() for parameter in model.parameters()) > 1000

"""The references are what the code says today."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
PAGES = runpy.run_path(str(FOLDER / "make.py"))["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_code_says(name):
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run python docs/reference/make.py"


def test_every_setting_and_command_is_there():
    keys, commands = ((FOLDER / name).read_text(encoding="utf-8") for name in ("recipe-keys.md", "cli.md"))
    for key in ("data.train", "train.lr", "search.beam", "model.encoder.width", "objective.coverage.weight"):
        assert f"| `{key}` |" in keys
    for command in ("train", "predict", "look", "serve", "evaluate", "compare"):
        assert f"## `saccade {command}`" in commands

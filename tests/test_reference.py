"""The generated reference pages are up to date."""

import re
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


def test_every_field_of_the_http_interface_is_explained():
    page = (FOLDER / "http-api.md").read_text(encoding="utf-8")
    for route in ("GET /healthz", "GET /metrics", "GET /v1/models", "POST /v1/predict", "POST /v1/trace"):
        assert f"## `{route}`" in page
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 40
    assert [row[0] for row in rows if not row[-1].strip(" |")] == []


def test_every_metric_and_public_name_is_there():
    metrics, names = ((FOLDER / name).read_text(encoding="utf-8") for name in ("metrics.md", "python-api.md"))
    assert "| `bleu` | BLEU | higher |" in metrics
    for name in ("`load(folder: str | Path", "`Attention(score: Score", "`Statistics(counts:", "`.trace(given: Input"):
        assert f"- {name}" in names


def test_the_glossary_is_sorted_and_has_every_part_of_a_recipe_that_is_a_term():
    terms = re.findall(r"^\| ([a-z][\w -]+) \|", (FOLDER / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)[1:]
    assert terms == sorted(terms)
    assert {"score", "align", "window", "site", "recipe", "preset", "trace", "bank", "tape"} <= {*terms}

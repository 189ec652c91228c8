"""The page's modules agree with their types, as far as TypeScript can tell from JavaScript and its comments."""

import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "src" / "saccade" / "look" / "page"


def test_types():
    """Skipped without `tsc`: the suite needs only git, make and Python. .ci/run installs it where there is npm."""
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("tsc is not installed: .ci/run does it where there is npm")
    found = subprocess.run([compiler, "-p", str(PAGE / "jsconfig.json")], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout


def test_modules_fit_a_screen_or_two():
    long = {path.name: count for path in PAGE.rglob("*.*") if (count := path.read_text().count("\n")) > 250}
    assert long == {}


def test_no_template_literal_spans_lines():
    """Served modules lose their indentation, which must not change a string."""
    for path in PAGE.rglob("*.js"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            assert line.count("`") % 2 == 0, f"{path.name}, line {number}"

"""Hints name commands that install saccade, and the other package of this name is noticed."""

import re
import runpy
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

from saccade._distribution import _SUMMARY, warn_of_namesake
from saccade.errors import install_extra

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TEXTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]


def installed(folder, summary, name="saccade-2.1.0.dist-info"):
    (folder / name).mkdir()
    (folder / name / "METADATA").write_text(f"Metadata-Version: 2.4\nName: saccade\nSummary: {summary}\n")
    return folder


def test_the_namesake_is_named_with_a_remedy(tmp_path):
    with pytest.warns(UserWarning, match=r"another package called saccade .*2\.1\.0.*pip uninstall saccade"):
        warn_of_namesake(["nowhere", str(installed(tmp_path, "Observability for agents"))])


def test_ours_is_not(tmp_path):
    assert PROJECT["name"] == "saccade-attention"
    assert _SUMMARY in PROJECT["description"]
    ours = installed(tmp_path, PROJECT["description"])
    installed(tmp_path, "something else", "saccade_attention-0.1.0.dist-info")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_namesake([str(ours)])


def test_importing_notices(tmp_path):
    code = f"import sys; sys.path.append({str(installed(tmp_path, 'Observability'))!r}); import saccade"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "another package called saccade is installed" in done.stderr


def test_no_hint_asks_a_package_index_for_saccade():
    found = [path.name for path in TEXTS if re.search(r"pip install [^\n`]*saccade-attention", path.read_text("utf-8"))]
    assert found == [], "nothing is published; errors.install_extra has the words that work"


def test_every_extra_that_is_named_exists():
    extras = PROJECT["optional-dependencies"]
    hints = {path.name: re.findall(r"-e '\.\[([a-z,]+)\]'", path.read_text("utf-8")) for path in TEXTS}
    hints["code"] = [
        extra
        for path in TEXTS
        for extra in re.findall(r"(?:import|install)_extra\((?:\S+, )?['\"](\w+)", path.read_text())
    ]
    assert len(hints["code"]) > 5
    assert "'.[serve]'" in install_extra("serve")
    for name, found in hints.items():
        assert {*",".join(found).split(",")} - {""} <= {*extras}, name


def test_the_lowest_versions_are_below_the_pinned_ones():
    lowest = runpy.run_path(str(ROOT / "tools" / "lowest.py"))["lowest"]
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    stand_ins = ("datasets", "tensorboard", "wandb")  # tests do not install these
    pairs = [line.split("==") for line in lowest(without=stand_ins)]
    assert len(pairs) >= len(PROJECT["dependencies"])
    for name, version in pairs:
        assert tuple(map(int, version.split("."))) <= tuple(map(int, pinned[name].split("."))), name

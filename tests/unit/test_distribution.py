"""The other package of this name is noticed, and an older installation of ours is not taken for it."""

import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

from saccade._distribution import _SUMMARY, warn_of_namesake

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


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

"""The repository stays small: source text, and measurements in compressed form."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOTAL, FIGURES, LARGEST = 9_000_000, 1_050_000, 300_000
"""Bytes of all tracked files; of those that are no text, or drawn by a program; and of one."""
WEIGHTS, LARGEST_WEIGHTS = 12_000_000, 1_700_000
"""Bytes of all files of shipped models, and of the largest."""
PRETRAINED = ROOT / "src" / "saccade" / "pretrained"
DRAWN = {".png", ".webp", ".svg", ".xz"}


@pytest.fixture(scope="module")
def sizes():
    """The bytes of every tracked file, by its path."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return {path: path.lstat().st_size for path in paths if path.exists()}


def weights(sizes):
    """The files of shipped models: weights, which alone may be large, and vocabularies."""
    return {path: size for path, size in sizes.items() if path.is_relative_to(PRETRAINED) and path.suffix != ".py"}


def test_tracked_files_are_small(sizes):
    folders = {}
    for path, size in sizes.items():
        first = path.relative_to(ROOT).parts[0]
        folders[first] = folders.get(first, 0) + size
    most = sorted(folders.items(), key=lambda pair: -pair[1])[:4]
    assert sum(size for path, size in sizes.items() if path not in weights(sizes)) < TOTAL, f"the largest are {most}"


def test_the_shipped_models_are_small(sizes):
    """They are trained numbers, which no other file can replace; `tools/pretrain.py` makes them again."""
    found = weights(sizes)
    assert found
    assert sum(found.values()) < WEIGHTS
    assert max(found.values()) < LARGEST_WEIGHTS


def test_figures_and_measurements_are_small(sizes):
    """Only source text may grow with the package."""
    found = {path: size for path, size in sizes.items() if path.suffix in DRAWN}
    assert sum(found.values()) < FIGURES, sorted(found, key=found.__getitem__)[-8:]


def test_no_tracked_file_is_large(sizes):
    assert len(sizes) > 100
    large = [str(path) for path, size in sizes.items() if size > LARGEST and path not in weights(sizes)]
    assert large == []

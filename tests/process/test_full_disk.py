"""A disk that is really full: a small file system of its own, seen by one process alone."""

import ctypes
import subprocess
import sys

import pytest

from helpers.processes import Run
from helpers.training import end_of, leftovers, log_of, write_recipe
from saccade.train import checkpoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs mount namespaces")

_NEW_NAMESPACE = 0x00020000
_NOT_PERMITTED = 77


def mount(*arguments):
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, check=False).returncode == 0


def on_a_small_disk(place, keep):
    """Train until the disk is full, see what is left, make room and go on; the result is copied to `keep`."""
    private = ctypes.CDLL(None).unshare(_NEW_NAMESPACE) == 0 and mount("--make-rprivate", "/")
    if not private or not mount("-t", "tmpfs", "-o", "size=160k", "none", place):
        sys.exit(_NOT_PERMITTED)
    from saccade.cli import main

    out = place / "out"
    arguments = ["train", str(place.parent / "recipe.yaml"), "--out", str(out), "--resume"]
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 1
    last = checkpoint.latest(out / "checkpoints")
    assert checkpoint.load(last).progress.step == int(last.name[-2:])
    assert leftovers(out) == []
    assert not (last.parent / "step-00000020").exists()
    assert mount("-o", "remount,size=10m", place)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0
    subprocess.run(["cp", "-r", str(out), str(keep)], check=True)


def test_a_full_disk_keeps_the_last_checkpoint_and_the_run_goes_on_when_there_is_room(tmp_path):
    recipe = write_recipe(tmp_path, keep_checkpoints=9, checkpoint_every=2)
    (tmp_path / "disk").mkdir()
    run = Run(tmp_path / "printed", ["--version"], on_a_small_disk, (tmp_path / "disk", tmp_path / "kept"))
    code = run.end()
    if code == _NOT_PERMITTED:
        pytest.skip("no permission to mount")
    assert code == 0, run.text
    told = [line for line in run.text.splitlines() if line.startswith("saccade: ")]
    assert "there is no room left on the disk for" in told[0]
    assert "run the same command again; a training run continues with --resume." in told[0]
    whole = Run(tmp_path / "printed", ["train", recipe, "--out", tmp_path / "whole"])
    assert whole.end() == 0
    assert end_of(tmp_path / "kept") == end_of(tmp_path / "whole")
    assert log_of(tmp_path / "kept") == log_of(tmp_path / "whole")

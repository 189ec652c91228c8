"""Two processes share every batch: the same numbers as one, written once, and none of them outlives the other."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.processes import PATIENCE, Run, children_of, wait_for
from helpers.training import DROPOUT, end_of, leftovers, log_of, steps_logged, write_recipe
from saccade.train import checkpoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def command(recipe: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "saccade", "train", str(recipe), "--out", str(out), *more]


def environment() -> dict[str, str]:
    """The environment for one thread per process, since many processes share two cores."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "10000"}


def start(arguments: list[str]) -> subprocess.Popen:
    return subprocess.Popen(
        arguments, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def finish(process: subprocess.Popen) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


def run(arguments: list[str]) -> tuple[int, str, str]:
    return finish(start(arguments))


def console_script(arguments):
    """The same command by the program that installing saccade makes."""
    program = shutil.which("saccade", path=str(Path(sys.executable).parent))
    return arguments if program is None else [program, *arguments[3:]]


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_two_processes_do_what_one_does(tmp_path):
    options = {"steps": 50, "tokens_per_batch": 12, "validate_every": 25, "checkpoint_every": 20, "accumulate": 2}
    recipe = write_recipe(tmp_path, **options)
    two = start(command(recipe, tmp_path / "two", "--devices", "2"))
    one = Run(tmp_path / "printed", ["train", recipe, "--out", tmp_path / "one"])
    assert one.end() == 0, one.text
    code, out, err = finish(two)
    assert (code, out) == (0, ""), err
    for mine, theirs in zip(log_of(tmp_path / "one"), log_of(tmp_path / "two"), strict=True):
        if "loss" in mine:
            assert theirs == pytest.approx(mine, abs=1e-4)
        else:
            assert theirs["valid"] == pytest.approx(mine["valid"], abs=1e-3)
    names = [path.name for path in checkpoint.checkpoints(tmp_path / "two" / "checkpoints")]
    assert names == ["step-00000040", "step-00000050"]
    said = err.splitlines()
    assert len([line for line in said if line.startswith("Trained for 50 steps")]) == 1
    ours = ("training: ", "  step ", "  note: ", "Trained for", "Next: ")
    assert [line for line in said if not line.startswith(ours)] == []


def test_two_processes_are_killed_interrupted_and_resumed_to_the_same_end(tmp_path):
    options = {"steps": 60, "tokens_per_batch": 32, "ema": 0.9, "scheduled_sampling": 0.3, "checkpoint_every": 3}
    recipe, out = write_recipe(tmp_path, DROPOUT, **options), tmp_path / "out"
    resumed = command(recipe, out, "--devices", "2", "--resume")

    process = start(console_script(resumed))
    wait_for(lambda: steps_logged(out) >= 4, process)
    (helper,) = children_of(process.pid)
    process.send_signal(signal.SIGINT)  # only one of them gets the signal
    code, _, err = finish(process)
    assert code == 1, err
    assert err.count("a checkpoint is written. Run the same command with --resume to continue.") == 1, err
    wait_for(lambda: not alive(helper))

    process = start(resumed)
    reached = steps_logged(out)
    wait_for(lambda: steps_logged(out) > reached + 4, process)
    (helper,) = children_of(process.pid)
    os.kill(helper, signal.SIGKILL)
    code, _, err = finish(process)
    assert code in (1, -signal.SIGKILL), err  # Fabric may be faster than our own message
    if code == 1:
        assert "another process of this training run ended" in err, err
        assert "should not have" not in err, err

    process = start(resumed)
    reached = steps_logged(out)
    wait_for(lambda: steps_logged(out) > reached + 4, process)
    (helper,) = children_of(process.pid)
    process.kill()
    finish(process)
    wait_for(lambda: not alive(helper))

    code, _, err = run(resumed)
    assert code == 0, err
    assert "resuming from step" in err
    code, _, err = run(command(recipe, tmp_path / "whole", "--devices", "2"))
    assert code == 0, err
    assert log_of(out) == log_of(tmp_path / "whole")
    assert end_of(out) == end_of(tmp_path / "whole")
    assert leftovers(out) == []

"""Two training runs in one folder: the second is refused, and a killed one does not block later runs."""

import signal
import sys

import pytest

from helpers.processes import Run, wait_for
from helpers.training import leftovers, steps_logged, write_recipe

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs fork and flock")


def test_a_second_run_in_the_same_folder_is_refused_until_the_first_is_gone(tmp_path):
    recipe, out = write_recipe(tmp_path, steps=10**6), tmp_path / "out"
    first = Run(tmp_path / "first", ["train", recipe, "--out", out])
    try:
        wait_for(lambda: steps_logged(out) >= 1 or first.poll() is not None)
        before = (out / "recipe.yaml").read_bytes()
        for more in ([], ["--resume"]):
            second = Run(tmp_path / "second", ["train", recipe, "--out", out, "--set", "train.steps=1", *more])
            assert second.end() == 2, second.text
            assert f"another training run (process {first.pid} on " in second.text
            assert f"is writing to {out}. Wait until it has ended or stop it, or choose another --out." in second.text
        assert (out / "recipe.yaml").read_bytes() == before
        assert first.poll() is None
    finally:
        first.send(signal.SIGKILL)
        first.end()
    third = Run(tmp_path / "third", ["train", recipe, "--out", out, "--resume", "--set", "train.steps=1"])
    assert third.end() == 0, third.text
    assert leftovers(out) == []
    assert not (out / ".saccade.lock").exists()

"""Killed at any moment, a resumed run ends with the same bytes as an uninterrupted one."""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from helpers.processes import Run, die, wait_for
from helpers.training import DROPOUT, end_of, leftovers, log_of, steps_logged, write_recipe
from saccade import files
from saccade.runs.folder import load_task
from saccade.train import checkpoint

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and fork")

RANDOM = {
    "steps": 30,
    "ema": 0.9,
    "accumulate": 2,
    "scheduled_sampling": 0.5,
    "word_dropout": 0.1,
    "checkpoint_every": 4,
    "validate_every": 7,
    "tokens_per_batch": 160,
    "log_every": 1,
}


@pytest.fixture(scope="module")
def untouched(tmp_path_factory):
    """A recipe whose result depends on every random number, and the folder of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("untouched")
    recipe = write_recipe(folder, DROPOUT, **RANDOM)
    run = Run(folder / "printed", ["train", recipe, "--out", folder / "out"])
    assert run.end() == 0, run.text
    assert log_of(folder / "out")[-1]["step"] == 30
    assert log_of(folder / "out")[-2]["epoch"] >= 1  # so that epochs end in between
    return recipe, folder / "out"


def resume_until_done(recipe, out, printed):
    run = Run(printed, ["train", recipe, "--out", out, "--resume"])
    assert run.end() == 0, run.text


def check_same(out, untouched):
    assert end_of(out) == end_of(untouched)
    assert log_of(out) == log_of(untouched)
    assert leftovers(out) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_moments(untouched, tmp_path, seed):
    recipe, whole = untouched
    chance = random.Random(seed)
    out = tmp_path / "out"
    for lines in sorted(chance.sample(range(1, 30), 3)):
        run = Run(tmp_path / "printed", ["train", recipe, "--out", out, "--resume"])
        wait_for(lambda: steps_logged(out) >= lines or run.poll() is not None)  # noqa: B023
        time.sleep(chance.uniform(0, 0.02))
        run.send(signal.SIGKILL) if run.poll() is None else None
        assert run.end() in (-signal.SIGKILL, 0), run.text
    resume_until_done(recipe, out, tmp_path / "printed")
    check_same(out, whole)


def die_after_some_tensors(count):
    real, calls = checkpoint._save_tensors, iter(range(1000))

    def save(path, tensors, notes=None):
        real(path, tensors, notes)
        if next(calls) + 1 == count:
            die()

    checkpoint._save_tensors = save


def die_before_the_name_is_given(count):
    calls = iter(range(1000))
    real = files._take_place

    def take_place(draft, path, *options):
        if path.name.startswith("step-") and next(calls) + 1 == count:
            die()
        real(draft, path, *options)

    files._take_place = take_place


def die_while_old_ones_are_removed():
    real = shutil.rmtree

    def rmtree(path, **options):
        if path.name.startswith(".step-"):
            next(path.iterdir()).unlink()
            die()
        real(path, **options)

    shutil.rmtree = rmtree


def die_before_the_model_is_named():
    real = Path.replace

    def replace(draft, path):
        if path.name == "model.safetensors":
            die()
        return real(draft, path)

    Path.replace = replace


def die_between_the_model_and_its_checksum():
    real, files_named = Path.replace, []

    def replace(draft, path):
        if path.name == "SHA256SUMS" and files_named[-1:] == ["model.safetensors"] and files_named.count(path.name) > 3:
            die()
        files_named.append(path.name)
        return real(draft, path)

    Path.replace = replace


def die_in_the_middle_of_a_log_line():
    real = Path.open

    def opened(path, mode="r", **options):
        if path.name == "log.jsonl" and mode == "a" and steps_logged(path.parent) == 10:
            with real(path, "ab") as file:
                file.write('{"step": 11, "loss": 2.7, "notes": ["ä'.encode()[:-1])
            die()
        return real(path, mode, **options)

    Path.open = opened


@pytest.mark.parametrize(
    ("before", "given"),
    [
        (die_after_some_tensors, (1,)),  # within the first checkpoint, so there is none
        (die_after_some_tensors, (7,)),
        (die_before_the_name_is_given, (2,)),
        (die_while_old_ones_are_removed, ()),
        (die_before_the_model_is_named, ()),
        (die_between_the_model_and_its_checksum, ()),
        (die_in_the_middle_of_a_log_line, ()),
    ],
)
def test_killed_while_it_writes(untouched, tmp_path, before, given):
    recipe, whole = untouched
    out = tmp_path / "out"
    run = Run(tmp_path / "printed", ["train", recipe, "--out", out], before, given)
    assert run.end() == -signal.SIGKILL, run.text
    for path in checkpoint.checkpoints(out / "checkpoints"):
        checkpoint.load(path)  # files under their final names are complete
    if (out / "model.safetensors").exists():
        load_task(out)
    resume_until_done(recipe, out, tmp_path / "printed")
    check_same(out, whole)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_from_its_last_step(untouched, tmp_path, number):
    recipe, whole = untouched
    out = tmp_path / "out"
    run = Run(tmp_path / "printed", ["train", recipe, "--out", out], interrupt_after, (13, number))
    assert run.end() == 1, run.text
    assert "Finishing this step and writing a checkpoint" in run.text
    assert "Stopped after step 13; a checkpoint is written. Run the same command with --resume to continue." in run.text
    assert checkpoint.latest(out / "checkpoints").name == "step-00000013"
    resume_until_done(recipe, out, tmp_path / "printed")
    assert log_of(out) == log_of(whole)
    assert end_of(out) == end_of(whole)


def interrupt_after(step, number):
    """Send a signal in the middle of the update after so many steps."""
    from saccade.train.ema import Ema

    real = Ema.update

    def update(ema):
        real(ema)
        if ema.steps == step:
            os.kill(os.getpid(), number)

    Ema.update = update

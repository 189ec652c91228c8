"""Kill a training run with SIGKILL at random moments, resume it, and compare its end with an undisturbed run.

Each process is `saccade train`, started as from a shell. A kill comes at a random moment of training, while a
checkpoint is written, while an old one is removed, or at a random moment after the process started. These count as
losses: a checkpoint or model under its final name that cannot be loaded, a resumed run that fails or starts before the
last complete checkpoint, an end that differs from the undisturbed one in any bit, a temporary file that is never
removed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from faults_report import Record, Section

from saccade.errors import SaccadeError
from saccade.runs.folder import load_task
from saccade.train import checkpoint

AIMS = {"training": 0.4, "writing": 0.25, "removing": 0.2, "start": 0.15}
"""Share of kills aimed at each phase."""
SPREAD = {"training": 1.0, "writing": 0.03, "removing": 0.0, "start": 4.0}
"""Maximum random delay of a kill in seconds, from the start of the phase."""
KILLS_A_RUN = 6
PATIENCE = 300.0
WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay", "kite", "lark"]
TIMES = ("seconds", "tokens_per_second")
SETTINGS: dict[str, Any] = {
    "task": "translation",
    "tokenizer": {"kind": "word"},
    "model": {
        "preset": "bahdanau",
        "embedding": 16,
        "encoder": {"width": 16, "dropout": 0.2},
        "decoder": {"width": 16, "output_width": 16, "dropout": 0.2},
    },
    "train": {
        "steps": 300,
        "tokens_per_batch": 100,
        "accumulate": 2,
        "ema": 0.9,
        "scheduled_sampling": 0.5,
        "word_dropout": 0.1,
        "precision": "fp32",
        "device": "cpu",
        "checkpoint_every": 7,
        "validate_every": 60,
        "log_every": 1,
        "keep_checkpoints": 3,
    },
}
"""Training uses random numbers throughout, and writes several checkpoints each second."""


class Kill(NamedTuple):
    """A killed process: its activity, and the losses."""

    aim: str
    seconds: float
    step: int
    during: str
    losses: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kills", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace, record: Record) -> Section:
    """Kill, resume and compare until there are enough kills."""
    chance, kills, ends = random.Random(options.seed), [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        recipe = write_recipe(folder)
        finish(recipe, folder / "whole")
        whole = end_of(folder / "whole")
        while len(kills) < options.kills:
            out = folder / f"run-{len(ends)}"
            for _ in range(min(KILLS_A_RUN, options.kills - len(kills))):
                killed = kill(recipe, out, chance)
                if killed is None:  # the run finished first
                    break
                kills.append(killed)
                record({"seed": options.seed, **killed._asdict()})
            ends.append(check_end(recipe, out, whole))
            record({"seed": options.seed, "end": len(ends), "losses": ends[-1]})
    return Section("Kills", f"kills {options.kills} --seed {options.seed}", describe(kills, ends), count(kills, ends))


def write_recipe(folder: Path) -> Path:
    """Write a corpus of sentences and their reversals, and a recipe for it."""
    chance = random.Random(1)
    sentences = [[chance.choice(WORDS) for _ in range(chance.randint(1, 7))] for _ in range(2000)]
    sides = {"a": sentences, "b": [sentence[::-1] for sentence in sentences]}
    for side, lines in sides.items():
        (folder / f"train.{side}").write_text("".join(" ".join(words) + "\n" for words in lines))
    data = {"train": [str(folder / f"train.{side}") for side in sides], "cache": str(folder / "cache"), "held_out": 20}
    (folder / "recipe.yaml").write_text(yaml.safe_dump({**SETTINGS, "data": data}))
    return folder / "recipe.yaml"


def start(recipe: Path, out: Path) -> subprocess.Popen[str]:
    """Start `saccade train --resume` on one thread."""
    command = [sys.executable, "-m", "saccade", "train", str(recipe), "--out", str(out), "--resume"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "10000"}
    with (out.parent / "said").open("w") as said:
        return subprocess.Popen(command, env=environment, stdout=said, stderr=said, text=True)


def kill(recipe: Path, out: Path, chance: random.Random) -> Kill | None:
    """Start or resume a run, kill it, and check its files; return None if it finished before."""
    aim = chance.choices(list(AIMS), list(AIMS.values()))[0]
    before = newest(out)
    process = start(recipe, out)
    try:
        began = aim_at(aim, process, out, chance)
        time.sleep(chance.uniform(0, SPREAD[aim]))
    finally:
        process.kill()
        code = process.wait()
    seconds = time.monotonic() - began
    if code == 0:
        return None
    losses = [] if code == -signal.SIGKILL else [f"ended with {code}: {said(out)[-300:]}"]
    resumed = re.search(r"resuming from step ([\d,]+)", said(out))
    after = int(resumed[1].replace(",", "")) if resumed else None
    if before and after != before and (resumed or aim != "start"):
        losses.append(f"resumed from step {after}, not {before}")
    if newest(out) < before:
        losses.append(f"the last checkpoint was {before} and is {newest(out)}")
    return Kill(aim, round(seconds, 3), newest(out), interrupted_work(out), losses + damage(out))


def aim_at(aim: str, process: subprocess.Popen[str], out: Path, chance: random.Random) -> float:
    """Wait for the phase to aim at; return the time when training, or the process, began."""
    began, path = time.monotonic(), out / ".saccade.lock"
    if aim == "start":
        return began
    wait_for(process, lambda: path.exists() and path.read_text().startswith(f"{process.pid} "))
    steps = log_size(out)
    wait_for(process, lambda: log_size(out) > steps)
    began = time.monotonic()
    if aim != "training":
        time.sleep(chance.uniform(0, SPREAD["training"]))
        wait_for(
            process,
            lambda: any((step > newest(out)) == (aim == "writing") for step in steps_of(temporary_files(out))),
            0.0,
        )
    return began


def wait_for(process: subprocess.Popen[str], condition: Callable[[], bool], pause: float = 0.002) -> None:
    """Wait until a condition holds or the process has ended."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and not condition():
        if time.monotonic() > end:
            raise TimeoutError("nothing happened")
        time.sleep(pause)


def damage(out: Path) -> list[str]:
    """Return errors of checkpoints and models that cannot be loaded."""
    losses = []
    readers = [(path, checkpoint.load) for path in checkpoint.checkpoints(out / "checkpoints")]
    readers += [(out, load_task)] if (out / "model.safetensors").exists() else []
    for path, read in readers:
        try:
            read(path)
        except SaccadeError as error:
            losses.append(str(error))
    return losses


def newest(out: Path) -> int:
    """Return the step of the last complete checkpoint."""
    path = checkpoint.latest(out / "checkpoints")
    return 0 if path is None else int(path.name.removeprefix("step-"))


def temporary_files(out: Path) -> list[str]:
    places = [place for place in (out, out / "checkpoints") if place.is_dir()]
    return [name for place in places for name in os.listdir(place) if name.endswith(".saccade.part")]


def steps_of(names: list[str]) -> list[int]:
    """Return the steps of the checkpoints among temporary files."""
    return [int(found[1]) for name in names if (found := re.match(r"\.step-(\d+)\.", name))]


def log_size(out: Path) -> int:
    path = out / "log.jsonl"
    return path.stat().st_size if path.exists() else 0


def interrupted_work(out: Path) -> str:
    """Return what the killed process was writing or removing, judged by its temporary files."""
    left = temporary_files(out)
    if steps := steps_of(left):
        return "writing a checkpoint" if max(steps) > newest(out) else "removing a checkpoint"
    return f"writing {left[0].removeprefix('.').partition('.')[0]}" if left else "else"


def said(out: Path) -> str:
    return (out.parent / "said").read_text()


def finish(recipe: Path, out: Path) -> None:
    """Resume a run and let it end."""
    code = start(recipe, out).wait(PATIENCE)
    if code != 0:
        raise RuntimeError(f"ended with {code}: {said(out)[-600:]}")


def check_end(recipe: Path, out: Path, whole: dict[str, Any]) -> list[str]:
    """Resume a run until it is finished; return differences of its end from the undisturbed one."""
    try:
        finish(recipe, out)
    except RuntimeError as error:
        return [str(error)]
    mine = end_of(out)
    differing = [f"{name} differs" for name in sorted(whole.keys() | mine.keys()) if mine.get(name) != whole.get(name)]
    return [*differing, *(f"{name} stays" for name in temporary_files(out))]


def end_of(out: Path) -> dict[str, Any]:
    """Return all files and log entries that equal runs share at their end, without times."""
    last = checkpoint.latest(out / "checkpoints")
    assert last is not None
    files = [*sorted(last.glob("*.safetensors")), out / "model.safetensors"]
    entries = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    log = [{name: value for name, value in entry.items() if name not in TIMES} for entry in entries]
    names = sorted(path.name for path in out.iterdir() if path.name != "tensorboard")
    kept = [path.name for path in checkpoint.checkpoints(out / "checkpoints")]
    return {**{path.name: path.read_bytes() for path in files}, "log": log, "files": names, "checkpoints": kept}


def count(kills: list[Kill], ends: list[list[str]]) -> int:
    return sum(map(len, ends)) + sum(len(kill.losses) for kill in kills)


def describe(kills: list[Kill], ends: list[list[str]]) -> str:
    rows = Counter(kill.during for kill in kills)
    table = "\n".join(f"| {during} | {number} |" for during, number in rows.most_common())
    equal = sum(not end for end in ends)
    return (
        f"`kill -9` of `saccade train` at {len(kills)} random moments, at most {KILLS_A_RUN} in one run, each followed "
        f"by --resume. Losses: {count(kills, ends)}. Runs that end like the undisturbed one in every bit of weights, "
        f"optimizer state, random states and log: {equal} of {len(ends)}.\n\n"
        f"| killed while | kills |\n|---|---:|\n{table}\n\n"
        "The unfinished files of the killed process show what it was doing; `else` is every other moment, "
        "including startup."
    )

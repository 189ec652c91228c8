"""Train and measure what the results are made of.

    python results/run.py multi30k-en-de --data DIR                 tune: validation data only
    python results/run.py multi30k-en-de --data DIR --final --seeds 3 --jobs 4 --minutes 9
    python results/run.py ptb --rows lstmn lstm --data DIR --set model.dropout=0.4 --tag dropout
    python results/run.py cells --final --seeds 3                   a built-in corpus: no --data
    python results/run.py --list

DIR holds the folders multi30k, ptb, sst, tatoeba and alignment, as `saccade data NAME` says; tatoeba and alignment are
made from what was published where that lies there instead. Only --final looks at test data, and only its outcome goes
into the tables; where there is no test file, it is the validation data, and the outcome says so.

Several trainings run side by side (--jobs), each a process; on one GPU start NVIDIA's multi-process service before
(nvidia-cuda-mps-control -d), with which six recurrent models learnt 1.6 times as fast together. When --minutes are
over, those that still train are stopped and keep a checkpoint to go on from; the same command goes on with what is
missing. Models stay in --runs, the small files go to --out: metrics.json, log.jsonl, recipe.yaml, card.md and
pictures, in GROUP/ROW/seed-N.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from plan import GROUPS, Group, Row

HERE = Path(__file__).parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Job:
    """A row of a group, with a seed."""

    group: str
    row: Row
    seed: int
    tag: str = ""

    @property
    def place(self) -> Path:
        """Where it goes, below --runs and --out."""
        name = f"{self.row.name}-{self.tag}" if self.tag else self.row.name
        return Path(self.group) / name / f"seed-{self.seed}"


def jobs_of(arguments: argparse.Namespace) -> list[Job]:
    """All that is asked for, seed by seed, so that the first of each row is there before the second of any."""
    known = {row.name for name in arguments.groups for row in GROUPS[name].rows}
    if unknown := [name for name in arguments.rows if name not in known]:
        raise SystemExit(f"there is no row {unknown[0]}. Known: {', '.join(sorted(known))}")
    return [
        Job(name, row, seed, arguments.tag)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        for name in arguments.groups
        for row in GROUPS[name].rows
        if not arguments.rows or row.name in arguments.rows
    ]


def is_done(job: Job, arguments: argparse.Namespace) -> bool:
    """Whether its outcome is there, and is the kind that is asked for."""
    path = arguments.out / job.place / "metrics.json"
    return path.exists() and json.loads(path.read_text(encoding="utf-8"))["final"] == arguments.final


def run_all(jobs: list[Job], arguments: argparse.Namespace) -> int:
    """Run jobs, several at a time, until all are done or the time is up; how many failed or were stopped."""
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
    waiting = [job for job in jobs if arguments.again or not is_done(job, arguments)]
    running: dict[Job, subprocess.Popen[bytes]] = {}
    bad = 0
    while waiting or running:
        while waiting and len(running) < arguments.jobs and (end is None or time.monotonic() < end):
            job = waiting.pop(0)
            say(f"begins   {job.place}")
            running[job] = start(job, arguments)
        time.sleep(0.2)
        for job, process in list(running.items()):
            if process.poll() is not None:
                del running[job]
                bad += process.returncode != 0
                say(f"{'done' if process.returncode == 0 else f'FAILED {process.returncode}':<8} {job.place}")
        if end is not None and time.monotonic() > end and (waiting or running):
            bad += len(waiting) + stop(running)
            say(f"the time is up: {bad} not done")
            break
    return bad


def start(job: Job, arguments: argparse.Namespace) -> subprocess.Popen[bytes]:
    """A process for one job; what it prints goes to a file beside the model."""
    words = [job.group, "--one", job.row.name, "--first-seed", str(job.seed)]
    words += ["--data", str(arguments.data)] if arguments.data else []
    words += ["--runs", str(arguments.runs), "--out", str(arguments.out), "--device", arguments.device]
    words += ["--tag", job.tag] if job.tag else []
    words += [part for change in arguments.set for part in ("--set", change)]
    words += ["--final"] if arguments.final else []
    folder = arguments.runs / job.place
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".txt").open("wb") as told:
        environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2")}
        command = [sys.executable, str(HERE / "run.py"), *words]
        return subprocess.Popen(command, stdout=told, stderr=subprocess.STDOUT, env=environment)


def stop(running: dict[Job, subprocess.Popen[bytes]]) -> int:
    """End what runs; training ends with its step when it is asked to."""
    for process in running.values():
        process.send_signal(signal.SIGTERM)
    for job, process in running.items():
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        say(f"stopped  {job.place}")
    return len(running)


def command_of(arguments: argparse.Namespace, job: Job) -> str:
    """What to type to get the same."""
    data = "" if GROUPS[job.group].data is None else " --data DIR"
    words = [f"python results/run.py {job.group} --rows {job.row.name}{data} --first-seed {job.seed}"]
    words += [f"--tag {job.tag}"] if job.tag else []
    words += [f"--set '{change}'" for change in arguments.set]
    return " ".join([*words, *(["--final"] if arguments.final else [])])


def run_one(arguments: argparse.Namespace) -> int:
    """Train and measure one job, in this process."""
    from measure import measure

    group: Group = GROUPS[arguments.groups[0]]
    job = Job(arguments.groups[0], group.row(arguments.one), arguments.first_seed, arguments.tag)
    settings = [
        *job.row.set,
        *folder_of(group, arguments),
        f"data.cache={arguments.runs / 'cache'}",
        f"train.seed={job.seed}",
        *([] if arguments.device == "auto" else [f"train.accelerator={arguments.device}"]),
        *arguments.set,
    ]
    done = measure(
        job.row,
        group,
        settings,
        arguments.runs / job.place,
        arguments.out / job.place,
        final=arguments.final,
        device=arguments.device,
        about={"group": job.group, "row": job.place.parent.name, "seed": job.seed, "tag": job.tag},
        command=command_of(arguments, job),
    )
    return 0 if done else 1


def folder_of(group: Group, arguments: argparse.Namespace) -> list[str]:
    """The setting that says where a group's data are; none where its corpus is built in."""
    from measure import prepared

    return [] if group.data is None else [f"data.folder={prepared(group.data, arguments.data, arguments.runs)}"]


def warm_up(arguments: argparse.Namespace, jobs: list[Job]) -> None:
    """Make tokenised data once, before several processes would each begin to."""
    from saccade.runs.corpus import Corpus
    from saccade.runs.folder import build_task
    from saccade.runs.recipe import load_recipe

    seen = set()
    for job in jobs:
        changes = [
            *folder_of(GROUPS[job.group], arguments),
            f"data.cache={arguments.runs / 'cache'}",
            *job.row.set,
            *arguments.set,
        ]
        recipe = load_recipe(job.row.recipe, changes)
        key = json.dumps([recipe.data.model_dump(), recipe.tokenizer.model_dump()])
        if key not in seen:
            seen.add(key)
            corpus = Corpus(recipe)
            tokenizers = corpus.tokenizers()
            task = build_task(recipe, tokenizers)
            for split in ("train", "valid"):
                corpus.store(split, task)
            say(f"data     {job.row.recipe}: {recipe.data.corpus or recipe.data.folder}")


def say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", help=", ".join(GROUPS))
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--rows", nargs="+", default=[], help="some rows of the groups; all if left out")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="trainings that run at the same time")
    parser.add_argument("--minutes", type=float, help="stop what still runs after this long")
    parser.add_argument("--final", action="store_true", help="measure on the test data")
    parser.add_argument("--again", action="store_true", help="also what is done already")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help="change a setting of all recipes")
    parser.add_argument("--tag", default="", help="put the outcome beside the row's, under a name of its own")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "results")
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list or not arguments.groups:
        for name, group in GROUPS.items():
            print(f"{name:<16} {group.title}: {', '.join(row.name for row in group.rows)}")
        return 0
    if unknown := [name for name in arguments.groups if name not in GROUPS]:
        parser.error(f"there is no group {unknown[0]}. Known: {', '.join(GROUPS)}")
    if arguments.data is None and any(GROUPS[name].data for name in arguments.groups):
        parser.error("--data DIR is needed")
    if arguments.one:
        return run_one(arguments)
    jobs = jobs_of(arguments)
    warm_up(arguments, jobs)
    bad = run_all(jobs, arguments)
    from figures import draw_group

    for name in arguments.groups:
        draw_group(name, GROUPS[name], arguments.out)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())

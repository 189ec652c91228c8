"""Train and measure the models of the results.

    python results/run.py multi30k-en-de --data DIR                 tune: validation data only
    python results/run.py multi30k-en-de --data DIR --final --seeds 3 --jobs 4 --minutes 9
    python results/run.py ptb --rows lstmn lstm --data DIR --set model.dropout=0.4 --tag dropout
    python results/run.py cells --final --seeds 3                   a built-in corpus: no --data
    python results/run.py --list

DIR holds the folders multi30k, ptb, sst, tatoeba and alignment; `saccade data NAME` describes each. For tatoeba and
alignment it may hold the published files instead, and the script converts them. Only --final reads test data, and only
its reports go into the tables. If there is no test file, --final uses the validation data, and the report says so.

With --jobs several training runs share the machine, each in its own process. On one GPU, start NVIDIA's multi-process
service first (nvidia-cuda-mps-control -d): it made six recurrent models together 1.6 times as fast. After --minutes,
running jobs are stopped and keep a checkpoint; the same command resumes them and starts the rest. Models stay in
--runs. Reports go to --out, in GROUP/ROW/seed-N: metrics.json, log.jsonl and recipe.yaml; the attention of the first
seed is drawn to GROUP. Then results/archive.py adds final reports to the archive, and results/table.py shows them.
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

import archive
from plan import GROUPS, Group, Row

HERE = Path(__file__).parent
ROOT = HERE.parent


@dataclass(frozen=True)
class Job:
    """One training run: a row of a group, with a seed."""

    group: str
    row: Row
    seed: int
    tag: str = ""

    @property
    def place(self) -> Path:
        """Folder of the job, below --runs and --out."""
        name = f"{self.row.name}-{self.tag}" if self.tag else self.row.name
        return Path(self.group) / name / f"seed-{self.seed}"


def jobs_of(arguments: argparse.Namespace) -> list[Job]:
    """List the requested jobs, seed by seed: the first seed of every row runs before the second of any."""
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
    """Return whether a report of the requested kind (final or not) exists."""
    report = archive.read(arguments.out).get(f"{job.place.as_posix()}/metrics.json")
    return report is not None and json.loads(report)["final"] == arguments.final


def run_all(jobs: list[Job], arguments: argparse.Namespace) -> int:
    """Run jobs in parallel until all are done or the time is up. Return how many failed or did not finish."""
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
    """Start a process for one job; its output goes to a file beside the model."""
    words = [job.group, "--one", job.row.name, "--first-seed", str(job.seed)]
    words += ["--data", str(arguments.data)] if arguments.data else []
    words += ["--runs", str(arguments.runs), "--out", str(arguments.out), "--device", arguments.device]
    words += ["--tag", job.tag] if job.tag else []
    words += [part for change in arguments.set for part in ("--set", change)]
    words += ["--final"] if arguments.final else []
    folder = arguments.runs / job.place
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".txt").open("wb") as output:
        environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2")}
        command = [sys.executable, str(HERE / "run.py"), *words]
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)


def stop(running: dict[Job, subprocess.Popen[bytes]]) -> int:
    """Stop the running jobs; on SIGTERM, training stops after its current step."""
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
    """Return the command that reproduces a job."""
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
        *([] if arguments.device == "auto" else [f"train.device={arguments.device}"]),
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
    """Return the setting for the folder of a group's data; none for a built-in corpus."""
    from measure import prepared

    return [] if group.data is None else [f"data.folder={prepared(group.data, arguments.data, arguments.runs)}"]


def warm_up(arguments: argparse.Namespace, jobs: list[Job]) -> None:
    """Tokenize the data once, before several processes would each do it."""
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
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--rows", nargs="+", default=[], help="rows of the groups; default: all")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel training runs")
    parser.add_argument("--minutes", type=float, help="time limit, after which running jobs are stopped")
    parser.add_argument("--final", action="store_true", help="evaluate on the test data")
    parser.add_argument("--again", action="store_true", help="repeat jobs that are done")
    parser.add_argument("--set", action="append", default=[], metavar="A.B=C", help="change a setting of all recipes")
    parser.add_argument("--tag", default="", help="suffix of the row's folder, to keep the report separate")
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

"""Run benchmark cases only if their correctness tests pass; write a JSON line for each result."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch

__all__ = ["Case", "record"]

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A script with its arguments, and the tests that must pass before it is measured."""

    command: list[str]
    tests: list[str]


def record(cases: dict[str, Case], names: Iterable[str], device: str, name: str) -> int:
    """Measure cases, append their lines to results/<name>_<yyyymm>.jsonl.xz, and return the number of failures."""
    facts = {"commit": _commit(), "torch": torch.__version__, "device": device, "day": time.strftime("%Y-%m-%d")}
    failed = 0
    path = HERE / "results" / f"{name}_{time.strftime('%Y%m')}.jsonl.xz"
    with lzma.open(path, "at", encoding="utf-8") as lines:  # appends a stream; readers of .xz read all streams
        for label in names:
            if not _tests_pass(cases[label]):
                print(f"{label}: its tests fail, so it is not measured", file=sys.stderr)
                failed += 1
                continue
            figures, fine = _measured(cases[label])
            failed += not fine
            for line in figures:
                print(json.dumps({"benchmark": label, **line}), flush=True)
                lines.write(json.dumps({"benchmark": label, **line, **facts}) + "\n")
    return failed


def _tests_pass(case: Case) -> bool:
    if not case.tests:  # third-party code
        return True
    workers = str(min(8, os.cpu_count() or 1))  # compiling kernels takes most of the time
    plugins = ["-p", "no:cacheprovider", "-p", "no:benchmark"]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", workers, *plugins, *case.tests]
    return subprocess.run(command, cwd=HERE.parent, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _measured(case: Case) -> tuple[list[dict[str, object]], bool]:
    """Return the result lines, without the header line, and whether the script succeeded."""
    script, *arguments = case.command
    done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [line for line in found if set(line) != {"device", "torch"}], done.returncode == 0


def _commit() -> str:
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "unknown"

"""CPU seconds of bulk prediction: `--workers 2` to a pipe, and to files by the local engine and by Ray.

    python benchmarks/bulk.py runs/demo                        # 100,000 lines; about ten minutes on two cores
    python benchmarks/bulk.py demo --lines 5000 --out /tmp/bulk    # a quick check

Each way runs in its turn, with two workers of one thread each. The seconds are user and system time of all processes
that a run starts, also those of Ray, read from /proc every 50 ms. All ways must write the same translations.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from saccade.corpora import CORPORA

TICKS = os.sysconf("SC_CLK_TCK")
WAYS = {
    "--workers 2": [],
    "--workers 2 --out jsonl": ["--out", "out.jsonl"],
    "--engine ray --out jsonl": ["--engine", "ray", "--out", "out.jsonl"],
    "--workers 2 --out parquet": ["--out", "out.parquet"],
    "--engine ray --out parquet": ["--engine", "ray", "--out", "out.parquet"],
}


class Spent:
    """CPU seconds of a process and of all that it starts, directly or not."""

    def __init__(self, root: int) -> None:
        self.seconds: dict[tuple[int, int], float] = {}
        self.names: dict[tuple[int, int], str] = {}
        self._mark, self._root = f"SACCADE_BENCHMARK={os.getpid()}".encode(), root

    def look(self) -> None:
        for place in Path("/proc").iterdir():
            if not place.name.isdecimal():
                continue
            try:
                name, _, rest = (place / "stat").read_text().partition("(")[2].rpartition(")")
                fields = rest.split()
                key = int(place.name), int(fields[19])
                if key not in self.seconds and self._mark not in (place / "environ").read_bytes().split(b"\0"):
                    continue
            except OSError:  # it has ended, or is another user's
                continue
            self.seconds[key] = (int(fields[11]) + int(fields[12])) / TICKS
            self.names[key] = name


def measure(command: list[str], folder: Path) -> tuple[float, dict[str, float]]:
    """Run a command; return its CPU seconds, and those of each kind of process."""
    mark = {"SACCADE_BENCHMARK": str(os.getpid()), "OMP_NUM_THREADS": "1"}
    with (folder / "printed").open("w") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, env={**os.environ, **mark})
    spent = Spent(process.pid)
    while process.poll() is None:
        spent.look()
        time.sleep(0.05)
    spent.look()  # the servers of Ray may live a moment longer
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    kinds: dict[str, float] = {}
    for key, seconds in spent.seconds.items():
        kinds[spent.names[key]] = kinds.get(spent.names[key], 0.0) + seconds
    return sum(kinds.values()), kinds


def written(folder: Path) -> Iterator[str]:
    """Yield the translations that a run wrote, and remove them."""
    for name in ("out.jsonl", "out.parquet", "printed"):
        path = folder / name
        if not path.exists() or (name == "printed" and not path.stat().st_size):
            continue
        if name == "out.parquet":
            import pyarrow.parquet

            yield from pyarrow.parquet.read_table(path).column("output").to_pylist()
        else:
            for line in path.read_text(encoding="utf-8").splitlines():
                yield json.loads(line)["output"] if name == "out.jsonl" else line
        path.unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model folder or a shipped model")
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--ways", nargs="+", default=[*WAYS], choices=[*WAYS])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "bulk")
    options = parser.parse_args()
    model = str(Path(options.model).absolute()) if Path(options.model).exists() else options.model
    lines, first = [], None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_source(folder / "source.txt", options.lines)
        for turn in range(options.turns):
            for way in options.ways:
                command = [sys.executable, "-m", "saccade", "predict", model, "--file", "source.txt", "--workers", "2"]
                seconds, kinds = measure([*command, *WAYS[way]], folder)
                texts = list(written(folder))
                first = first or texts
                assert len(texts) == options.lines, (way, len(texts))
                assert texts == first, f"{way} differs"
                entry = {"way": way, "turn": turn, "lines": options.lines, "cpu_seconds": round(seconds, 2)}
                lines.append({**entry, "by_process": {name: round(s, 2) for name, s in kinds.items() if s >= 0.1}})
                print(json.dumps(lines[-1]), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    options.out.with_suffix(".md").write_text(report(lines, options.model, options.lines), encoding="utf-8")


def write_source(path: Path, count: int) -> None:
    corpus = CORPORA["english-french"].generate("test", count, 1, max_length=24)
    path.write_text("".join(f"{example.source}\n" for example in corpus), encoding="utf-8")


def report(lines: list[dict[str, Any]], model: str, count: int) -> str:
    def median(way: str) -> float:
        return statistics.median(line["cpu_seconds"] for line in lines if line["way"] == way)

    ways = [way for way in WAYS if any(line["way"] == way for line in lines)]
    rows = [f"| `{way}` | {median(way):.1f} | {median(way) / median(ways[0]):.2f} |" for way in ways]
    table = "\n".join(rows)
    turns = 1 + max(line["turn"] for line in lines)
    return f"""# CPU time of bulk prediction

{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}, Ray {version("ray")}.
Made by `python benchmarks/bulk.py {model} --lines {count} --turns {turns}`: sentences of the built-in corpus, greedy
search, two workers. User and system seconds of all processes; medians of {turns} turns, with other programs on the same
cores. All ways wrote the same translations.

| `saccade predict --file source.txt` | CPU s | ratio |
|---|---:|---:|
{table}
"""


if __name__ == "__main__":
    main()

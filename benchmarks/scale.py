"""What a billion sentences a day costs, and where the bottleneck is with more workers; writes docs/how-to/scale.md.

    python benchmarks/scale.py            # a few seconds: recompute the page's tables from benchmarks/results
    python benchmarks/scale.py --measure  # a minute first: CPU time of the process that reads and writes; needs ray

The costs are measured rates, divided. The bottleneck is a simulation: the library's own scheduling of batches
(`in_order`) runs with workers that are only a clock.
"""

from __future__ import annotations

import argparse
import heapq
import json
import lzma
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from saccade.runs.crew import in_order

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "how-to" / "scale.md"
READER = HERE / "results" / "scale_reader.jsonl"
BEGIN, END = "<!-- made by benchmarks/scale.py -->\n", "<!-- end -->\n"
A_DAY, BILLION = 86_400, 1_000_000_000
CPU, GPU = "cpu_2cores_202611.jsonl.xz", "gpu_h200_202611.jsonl.xz"
KILLS, JITTER = 1000, 0.2
"""Assumptions of the simulation: one batch of so many ends its worker; batches take up to 20 % less or more time."""


class Rate(NamedTuple):
    """A measured speed: sentences a second of one core or one GPU."""

    model: str
    search: str
    device: str
    each: float


@cache
def lines_of(name: str) -> list[dict[str, Any]]:
    path = HERE / "results" / name
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


def median(name: str, key: str, **wanted: Any) -> float:
    found = [line[key] for line in lines_of(name) if all(line.get(key) == value for key, value in wanted.items())]
    assert found, wanted
    return statistics.median(found)


def rates() -> list[Rate]:
    """The measured rates of the page; CPU runs used two cores."""
    small, words, base = "small Transformer", "bi-GRU, additive attention", "base Transformer"
    lstm, found = "bi-LSTM, additive attention", []
    bulk = median("bulk.jsonl", "cpu_seconds", way="--workers 2 --out jsonl")
    lines = median("bulk.jsonl", "lines", way="--workers 2 --out jsonl")
    found.append(Rate("`demo`, 1.2 M parameters", "greedy", "core", lines / bulk))
    for precision in ("float32", "int8"):
        for beam, search in ((1, "greedy"), (5, "beam 5")):
            wanted = {"benchmark": "decoding", "precision": precision, "beam": beam, "commit": "b9cef4d"}
            each = median(CPU, "saccade_text_to_text", **wanted) / 2
            found.append(Rate(small, f"{search}, {precision}", "core", each))
    for beam, search in ((1, "greedy"), (5, "beam 5")):
        each = median(CPU, "sentences_per_s", benchmark="recurrent_cpu", way="saccade, int8", beam=beam) / 2
        found.append(Rate(words, f"{search}, int8", "core", each))
    for model, case in ((base, "transformer"), (lstm, "bahdanau")):
        for beam, search in ((1, "greedy"), (5, "beam 5")):
            wanted = {"benchmark": "decoding", "case": f"{case}, beam {beam}", "run": 10}
            found.append(Rate(model, f"{search}, bf16", "H200", median(GPU, "sentences_per_s", **wanted)))
    return found


def costs() -> str:
    """The table of what a billion sentences cost."""
    table = "| model | search | sentences/s | hours | at work all day |\n|---|---|---:|---:|---:|\n"
    for rate in rates():
        hours = BILLION / rate.each / 3600
        number = math.ceil(BILLION / A_DAY / rate.each)
        unit = rate.device + ("s" if number > 1 and rate.device == "core" else "")
        cost = f"{hours:,.0f} {rate.device} hours | {number} {unit}"
        table += f"| {rate.model} | {rate.search} | {rate.each:,.0f} | {cost} |\n"
    return table


class Clock:
    """Workers that are only a clock, for `in_order`. The process that reads and writes takes `reader` s a batch."""

    def __init__(self, workers: int, seconds: float, reader: float, load: float) -> None:
        self.room, self.now, self.waited = 2 * workers, 0.0, 0.0
        self._seconds, self._reader, self._load = seconds, reader, load
        self._free = [load] * workers
        self._ends: list[tuple[float, int]] = []
        self._chance = random.Random(1)

    def give(self, number: int, job: tuple[Any, ...]) -> None:
        took = self._seconds * self._chance.uniform(1 - JITTER, 1 + JITTER)
        if self._chance.randrange(KILLS) == 0:
            took += self._load + took / 2  # killed in the middle, on average
        end = max(self.now, heapq.heappop(self._free)) + took
        heapq.heappush(self._free, end)
        heapq.heappush(self._ends, (end, number))

    def collect(self) -> list[tuple[int, Any]]:
        end, number = heapq.heappop(self._ends)
        self.waited += max(0.0, end - self.now)
        self.now = max(self.now, end) + self._reader
        return [(number, None)]


class Simulated(NamedTuple):
    """How a simulated run went."""

    rows_per_s: float
    workers_busy: float
    reader_busy: float


def simulate(workers: int, rate: float, batch: int, reader: float, load: float, runs: int = 1) -> Simulated:
    """Predict for about ten minutes with workers of `rate` rows/s; reader: seconds a row; runs: files at once."""
    mine = workers // runs
    clock, batches = Clock(mine, batch / rate, reader * batch, load), round(600 * rate / batch) * mine
    for _ in in_order(clock, iter([()] * batches)):
        pass
    speed = batches * batch / clock.now
    return Simulated(runs * speed, speed / (mine * rate), 1 - clock.waited / clock.now)


def load_seconds() -> float:
    return statistics.median(line["load_s"] for line in lines_of(READER.name))


def bottlenecks() -> str:
    """The table of simulated runs."""
    reader, load = median(READER.name, "reader_us", engine="ray") / 1e6, load_seconds()
    found = {(rate.model, rate.search): rate.each for rate in rates()}
    slow, fast = found["small Transformer", "beam 5, int8"], found["base Transformer", "greedy, bf16"]
    table = (
        "| workers | sentences/s | workers at work | reader at work | a billion takes |\n|---|---:|---:|---:|---:|\n"
    )
    for kind, rate, batch, cases in (
        ("cores", slow, 1024, ((10, 1), (100, 1), (1000, 1), (1000, 10))),
        ("GPUs", fast, 8192, ((10, 1), (100, 1), (100, 10))),
    ):
        for workers, runs in cases:
            made = simulate(workers, rate, batch, reader, load, runs)
            name = f"{workers:,} {kind}" + (f", {runs} files at once" if runs > 1 else "")
            shares = f"{made.workers_busy:.0%} | {made.reader_busy:.0%}".replace("%", " %")
            table += f"| {name} | {made.rows_per_s:,.0f} | {shares} | {BILLION / made.rows_per_s / 3600:,.1f} h |\n"
    return table


def text() -> str:
    """All that this script writes into the page."""
    measured = {line["engine"]: line["reader_us"] for line in lines_of(READER.name)}
    local, ray = measured["local"], measured["ray"]
    return f"""
## What a billion sentences a day costs

A billion a day is {BILLION / A_DAY:,.0f} sentences a second. The rates were measured, each for one core or one GPU:
the first while [files were predicted]({link("bulk.md")}), with all start-up; the others in
[decoding on two cores]({link("decoding_cpu.md")}), text to text, and
[on a GPU]({link("gpu_h200_202611.md")}), tokens to tokens. They hold for sentences as short as those
measured, of 10 to 40 tokens. The hours and machines are a division. Multiply the hours by your price.

{costs()}
## Where the bottleneck is

Workers are independent of each other. They share only the process that reads the input, hands out batches and writes
the output. Per row it takes {local:.1f} µs of CPU time with local workers and {ray:.1f} µs with Ray
([measured]({link(READER.name)}), on a busy machine). So it can serve at most
{1e6 / max(local, ray):,.0f} rows a second.

The following is **a simulation**, not a measurement. It uses the time with Ray and two rates of the table above: small
Transformer, beam 5, int8 for cores, and base Transformer, greedy for GPUs. Loading a model takes
{load_seconds():.1f} s, batches take up to {JITTER:.0%} more or less time, and one batch of {KILLS:,} ends its worker.
Networks and disks are not simulated.

{bottlenecks()}
While the reader has time left, the workers are the bottleneck, and more of them help. When the reader is at work all
the time, more workers do not help. Then cut the input into several files and predict these at once, each with its own
`--out`.
""".replace("20%", "20 %")


def link(name: str) -> str:
    return f"../../benchmarks/results/{name}"


def echo() -> Callable[..., Any]:
    from saccade.bulk.predictor import Row

    return lambda rows: [Row(row, -1.5, "") for row in rows]


def measure(rows: int = 400_000) -> Iterator[dict[str, Any]]:
    """The CPU time of the process that reads and writes, with workers that return their rows, and of loading."""
    from saccade.bulk.job import _batches
    from saccade.bulk.journal import Journal
    from saccade.bulk.ray_crew import RayCrew
    from saccade.corpora import CORPORA
    from saccade.data.text import lines
    from saccade.runs.crew import LocalCrew

    code = "import time; from saccade.bulk import Predictor; Predictor('demo'); print(time.process_time())"
    load = float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    sources = [example.source for example in CORPORA["english-french"].generate("test", 10_000, 1, max_length=24)]
    for engine, kind in (("local", LocalCrew), ("ray", RayCrew)):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "source.txt"
            path.write_text("".join(f"{sources[number % 10_000]}\n" for number in range(rows)))
            with kind(2, echo) as crew, Journal(Path(folder) / "rows.jsonl", 1024) as journal:
                list(in_order(crew, [([],)] * 4))  # all workers have started
                began = time.process_time()
                for found in in_order(crew, _batches(lines(path), 1024)):
                    journal.add(found)
                took = time.process_time() - began
                assert journal.rows == rows
        yield {"engine": engine, "rows": rows, "reader_us": round(1e6 * took / rows, 2), "load_s": round(load, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    if parser.parse_args().measure:
        READER.write_text("".join(json.dumps(line) + "\n" for line in measure()))
        lines_of.cache_clear()
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(before + BEGIN + text() + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()

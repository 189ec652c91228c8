"""Latency of one sentence on the CPU, and CPU seconds for a file, by number of threads.

    python benchmarks/one_sentence.py FOLDER... [--lines 1500] [--out benchmarks/results/one_sentence_cpu.jsonl]
    python benchmarks/one_sentence.py --sweep [--out benchmarks/results/threads_cpu.jsonl]

For each model folder it measures `model(text)`, which returns attention, and `model.stream`, which does not: median and
minimum milliseconds of many calls, with saccade's choice of threads and with given numbers. Then it measures CPU
seconds of `saccade predict --file`, with and without `--threads`, on an idle machine and with all cores busy. Compare
lines of one run by their ratios; the milliseconds depend on the machine.

`--sweep` decodes with untrained models of several sizes, for 1, 8 and 32 sentences, with one thread and with all cores.
`saccade.threads.SMALL` is set from its ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TEXT = "the European Economic Area was signed in August 1992"


def milliseconds(call: Callable[[], object], seconds: float = 3.0) -> dict[str, float]:
    """Return the median and minimum time of a call, repeated for some seconds after a warm-up."""
    for _ in range(20):
        call()
    times: list[float] = []
    while sum(times) < seconds:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return {"median_ms": round(1e3 * statistics.median(times), 3), "min_ms": round(1e3 * min(times), 3)}


def one_sentence(folder: Path, threads: int | None) -> list[dict[str, object]]:
    """Measure the calls of one sentence; runs in its own process, because `torch.set_num_threads` is permanent."""
    import torch

    import saccade

    if threads is not None:
        torch.set_num_threads(threads)
    model = saccade.load(folder, device="cpu")
    calls = {"with attention": lambda: model(TEXT), "without": lambda: list(model.stream([TEXT]))}
    common = {"model": folder.name, "threads": threads or "saccade's choice"}
    return [{**common, "call": name, **milliseconds(call)} for name, call in calls.items()]


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """Keep all cores busy with other processes inside the context, if wanted."""
    count = (os.cpu_count() or 1) if wanted else 0
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def file_seconds(folder: Path, lines: int, threads: int | None) -> dict[str, object]:
    """Measure CPU and wall seconds of `saccade predict --file`."""
    with tempfile.TemporaryDirectory() as place:
        source, answers = Path(place, "source.txt"), Path(place, "answers.txt")
        words = TEXT.split()
        source.write_text("".join(" ".join(words[: 3 + n % 7]) + "\n" for n in range(lines)))
        command = [sys.executable, "-m", "saccade", "predict", str(folder), "--file", str(source), "--device", "cpu"]
        command += [] if threads is None else ["--threads", str(threads)]
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with answers.open("w") as out:
            subprocess.run(command, stdout=out, check=True)
        wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    common = {"model": folder.name, "threads": threads or "saccade's choice", "call": f"predict, {lines:,} lines"}
    return {**common, "cpu_seconds": round(used, 2), "wall_seconds": round(wall, 2)}


SIZES = {
    "bahdanau": [
        {"embedding": w, "encoder": {"width": w // 2}, "decoder": {"width": w, "output_width": w // 2}}
        for w in (128, 256, 384, 512, 768)
    ],
    "transformer-base": [
        {"width": w, "feed_forward": 2 * w, "layers": 3, "attention": {"heads": 4}} for w in (96, 192, 320, 448, 640)
    ],
}


def sweep(threads: int) -> Iterator[dict[str, object]]:
    """Measure greedy searches of 20 words for every model size and number of sentences."""
    import torch

    from saccade.batch import Batch
    from saccade.models import build_seq2seq
    from saccade.search import SearchConfig, decode
    from saccade.threads import weights_of_step

    torch.set_num_threads(threads)
    config = SearchConfig(beam=1, min_length=19, max_length=20)
    for name, sizes in SIZES.items():
        for settings in sizes:
            torch.manual_seed(1)
            model = build_seq2seq(name, 4000, 4000, **settings).eval()
            for sentences in (1, 8, 32):
                batch = Batch.from_lists(torch.randint(4, 4000, (sentences, 12)).tolist())
                found = milliseconds(lambda model=model, batch=batch: decode(model, batch, config), 1.5)
                size = {"model": name, "weights": weights_of_step(model), "sentences": sentences}
                yield {**size, "threads": threads, **found}


def ratios(lines: list[str]) -> Iterator[str]:
    """Yield the ratio of the time with all threads to that with one."""
    found = [json.loads(line) for line in lines]
    alone = {(one["model"], one["weights"], one["sentences"]): one["median_ms"] for one in found if one["threads"] == 1}
    for one in found:
        if one["threads"] > 1:
            key = name, weights, sentences = one["model"], one["weights"], one["sentences"]
            ratio = one["median_ms"] / alone[key]
            yield f"{name:18} {weights / 1e6:5.1f} M weights, {sentences:2} sentences: {ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--lines", type=int, default=1500)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--one", type=int, help="measure only one sentence, with this many threads; 0: saccade's choice"
    )
    given = parser.parse_args()
    if given.sweep and given.one is not None:
        for found in sweep(given.one):
            print(json.dumps(found), flush=True)
        return
    if given.one is not None:
        for found in one_sentence(given.folders[0], given.one or None):
            print(json.dumps(found))
        return
    lines: list[str] = []
    for threads in (1, os.cpu_count() or 1) if given.sweep else ():
        command = [sys.executable, __file__, "--sweep", "--one", str(threads)]
        lines += subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    for folder in given.folders:
        for threads in (0, 1, os.cpu_count() or 1):
            command = [sys.executable, __file__, str(folder), "--one", str(threads)]
            lines += subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
        for wanted in (False, True):
            with busy(wanted):
                for threads in (None, os.cpu_count() or 1):
                    lines.append(json.dumps({**file_seconds(folder, given.lines, threads), "busy": wanted}))
    print("\n".join(ratios(lines) if given.sweep else lines))
    if given.out is not None:
        given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

"""Memory of `saccade predict` over streamed lines: the same for a thousand and for a million.

    python benchmarks/streaming.py                       # a million lines; about twenty minutes on two cores
    python benchmarks/streaming.py 10000 --out /tmp/streaming     # a quick check

A small model with random weights translates lines of 1 to 8 words, generated on the fly; its output is counted and
discarded. So neither input nor output is ever complete in memory or on disk. Each size runs in its own process, started
as from a shell.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

import torch

from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
from saccade.recipes import RecipeText
from saccade.runs.folder import build_task, write_description, write_model
from saccade.runs.recipe import parse_recipe

SMALLEST, WORDS, WIDTH = 1000, 200, 16


def make_model(folder: Path) -> None:
    """Write an untrained translation model; its output always reaches the length limit."""
    torch.manual_seed(0)
    texts = [f"word{number}" for number in range(WORDS)]
    tokenizer = Tokenizer.train(TokenizerConfig(kind="word", size=WORDS + 10), texts, "source")
    part = {"width": WIDTH}
    settings = {
        "task": "translation",
        "data": {"train": "none.tsv"},
        "tokenizer": {"kind": "word"},
        "model": {
            "preset": "luong-dot",
            "embedding": WIDTH,
            "encoder": part | {"layers": 1},
            "decoder": part | {"layers": 1},
        },
    }
    task = build_task(parse_recipe(RecipeText(settings, "benchmark")), Tokenizers(tokenizer, tokenizer))
    folder.mkdir()
    write_description(folder, task.recipe, task.tokenizers)
    write_model(folder, {name: tensor.detach() for name, tensor in task.model.state_dict().items()}, task.tokenizers)


def feed(stream: IO[bytes], lines: int) -> None:
    block = 1000
    made = [" ".join(f"word{(i * 7 + j * j) % WORDS}" for j in range(1 + i % 8)) for i in range(block)]
    with stream:
        for start in range(0, lines, block):
            stream.write(("\n".join(made[: lines - start]) + "\n").encode())


def own_mb(pid: int) -> float:
    found = re.search(r"^RssAnon:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def measure(folder: Path, lines: int) -> float:
    """Stream lines; return the peak of anonymous memory in MB."""
    command = [sys.executable, "-m", "saccade", "predict", str(folder), "--beam", "1", "--max-length", "4"]
    peak, printed = 0.0, 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        threading.Thread(target=feed, args=(process.stdin, lines), daemon=True).start()
        for _ in process.stdout:
            printed += 1
            if printed % 100 == 0:
                peak = max(peak, own_mb(process.pid))
    if process.returncode or printed != lines:
        raise SystemExit(f"predict ended with {process.returncode} after {printed} of {lines} lines")
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "streaming")
    options = parser.parse_args()
    sizes = [SMALLEST]
    while sizes[-1] * 10 <= options.lines:
        sizes.append(sizes[-1] * 10)
    machine = f"{platform.machine()} CPU, {os.cpu_count()} cores, torch {torch.__version__}"
    report = f"""# Memory of a stream of lines

{machine}. Made by `python benchmarks/streaming.py {options.lines}`.
`own` is the peak of the process's anonymous memory, which the system cannot reclaim.

| lines | own MB |
|---:|---:|
"""
    with tempfile.TemporaryDirectory() as scratch:
        make_model(Path(scratch) / "model")
        for lines in sizes:
            report += f"| {lines:,} | {measure(Path(scratch) / 'model', lines):,.0f} |\n"
            print(report.splitlines()[-1], file=sys.stderr, flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".md").write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()

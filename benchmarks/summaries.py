"""Choose search settings for a summarizer on training texts that were left out, then measure it once on other data.

    python benchmarks/summaries.py split train.jsonl.xz FOLDER
    python benchmarks/summaries.py search MODEL FOLDER/valid.jsonl dev.jsonl.xz [--quick]

`split` writes every tenth text to valid.jsonl and the others to train.jsonl. `search` prints a JSON line per setting.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import saccade
from saccade.data.summaries import summaries

GOAL = {"rouge1": 34, "rouge2": 13, "rougeL": 27}
SETTINGS: list[dict[str, Any]] = [
    {},
    *[{"min_length": least, "no_repeat_ngram": 3} for least in (0, 12, 16, 18, 20)],
    *[{"min_length": least, "no_repeat_ngram": 2} for least in (0, 16, 20)],
    {"beam": 2},
    {"beam": 8},
    {"length_penalty": 1.1},
    {"beam": 1},
    {"sample": True, "mbr": 32, "temperature": 0.3, "beam": 1},
]
QUICK: list[dict[str, Any]] = [{}, {"min_length": 20}, {"min_length": 0, "no_repeat_ngram": 3}]


def split(path: Path, folder: Path, every: int = 10) -> None:
    """Leave every tenth line out of training."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = list(file)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "valid.jsonl").write_text("".join(lines[::every]), encoding="utf-8")
    kept = (line for number, line in enumerate(lines) if number % every)
    (folder / "train.jsonl").write_text("".join(kept), encoding="utf-8")


def search(folder: Path, valid: Path, dev: Path, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the metrics of each setting on `valid`, then of the best one on `dev`."""
    model = saccade.load(folder)
    held_out, check = list(summaries(valid)), list(summaries(dev))
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for options in QUICK if quick else SETTINGS:
        began = time.perf_counter()
        metrics = model.evaluate(held_out, **options).metrics
        value = sum(metrics[name] / goal for name, goal in GOAL.items()) / len(GOAL)
        best = max(best, (value, options), key=lambda pair: pair[0])
        yield {
            "data": "left out",
            "options": options,
            "value": value,
            "seconds": time.perf_counter() - began,
            **metrics,
        }
    found = model.evaluate(check, **best[1])
    yield {"data": "dev", "options": best[1], **found.metrics, "baselines": found.details["baselines"]}
    with (folder / "dev.txt").open("w", encoding="utf-8") as file:
        for example, made in zip(check, found.predictions, strict=True):
            file.write(f"{made.text}\n   = {example.target}\n")


def main() -> None:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["split", "search"])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--quick", action="store_true", help="try only three settings")
    given = parser.parse_args()
    if given.command == "split":
        split(*given.paths)
        return
    for line in search(*given.paths, quick=given.quick):
        print(json.dumps({name: round(x, 4) if isinstance(x, float) else x for name, x in line.items()}), flush=True)


if __name__ == "__main__":
    main()

"""Quality of models for the built-in English-French corpus, on test sentences not used in tuning.

    python benchmarks/demo.py                               # four models, three seeds: half an hour on two cores
    python benchmarks/demo.py --models attention --seeds 1  # the model of `saccade demo`: about two minutes

Writes benchmarks/results/demo.md: a table, and the raw line of every run. A repeated run replaces its line; other lines
stay.

The learning rate, steps and sizes of these recipes were tuned on the corpus's own test split. So this benchmark draws a
new test set: with another seed of the corpus, without the sentences of that split.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from saccade.data.example import Example
from saccade.runs.corpus import Corpus
from saccade.runs.evaluation import summarise
from saccade.runs.folder import load_task
from saccade.runs.recipe import load_recipe
from saccade.runs.training import train

MODELS: dict[str, tuple[str, list[str]]] = {
    "attention": ("english-french", []),
    "guided attention": ("english-french", ["objective.guided_alignment.weight=1.0"]),
    "one fixed vector": ("english-french-fixed", []),
    "transformer": ("english-french-transformer", []),
}
"""Name -> recipe and changed settings."""
FRESH = "data.seed=20261118"
"""Seed of the new test set; no tuning run used it."""
METRICS = {"bleu": (1, "BLEU"), "chrf": (1, "chrF"), "aer": (3, "alignment error rate")}
RESULTS = Path(__file__).parent / "results" / "demo.md"


def fresh_test(recipe: str) -> list[Example]:
    """Return test sentences of another seed, without those of the recipe's own test split."""
    own, fresh = (list(Corpus(load_recipe(recipe, changes)).examples("test")) for changes in ([], [FRESH]))
    known = {example.source for example in own} | {example.target for example in own}
    return [example for example in fresh if example.source not in known and example.target not in known]


def measure(model: str, seed: int, changes: list[str]) -> dict[str, Any]:
    """Train a model with a seed and evaluate it; return one raw line."""
    name, own_changes = MODELS[model]
    recipe = load_recipe(name, [*own_changes, f"train.seed={seed}", *changes])
    with tempfile.TemporaryDirectory() as folder:
        outcome = train(recipe, Path(folder) / "model")
        if outcome.why == "interrupted":
            raise SystemExit("interrupted: nothing is written")
        examples = fresh_test(name)
        found = summarise(load_task(Path(folder) / "model").evaluate(examples, recipe.search))
    return {
        "model": model,
        "seed": seed,
        **{key: round(found["metrics"][key], 4) for key in METRICS if key in found["metrics"]},
        "bands": {key: [round(edge, 4) for edge in found["bands"][key]] for key in METRICS if key in found["bands"]},
        "sentences": len(examples),
        "steps": outcome.progress.step,
        "seconds": round(outcome.progress.seconds, 1),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "device": f"{platform.machine()} CPU, {os.cpu_count()} cores",
        "day": time.strftime("%Y-%m-%d"),
    }


def kept_lines(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Read the raw lines of a results file, by model and seed."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {(line["model"], line["seed"]): line for line in lines}


def spread(values: list[float], digits: int) -> str:
    """Format the mean, with minimum and maximum if there are several values."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def document(lines: list[dict[str, Any]]) -> str:
    """Return the results file: setup, a row for each model, and the raw lines."""
    rows = []
    for model in MODELS:
        runs = [line for line in lines if line["model"] == model]
        if runs:
            values = [[run[key] for run in runs if key in run] for key in METRICS]
            digits = [places for places, _ in METRICS.values()]
            cells = [spread(found, places) if found else "" for found, places in zip(values, digits, strict=True)]
            rows.append(f"| {model} | {len(runs)} | {' | '.join(cells)} |")
    names = " | ".join(name for _, name in METRICS.values())
    return "\n".join(
        [
            "# The built-in English-French corpus",
            "",
            "Made by `python benchmarks/demo.py`: the recipes of `saccade demo` and its Transformer, trained for each",
            "seed. The test set is drawn with a new seed and shares no sentence with the test split on which the",
            "learning rate, steps and sizes were tuned. Means over the seeds; minimum and maximum in brackets.",
            "",
            f"| model | seeds | {names} |",
            "|---|---:|---:|---:|---:|",
            *rows,
            "",
            "The raw lines; seconds of training are wall time, on a machine that may have run other work:",
            "",
            "```json",
            *(json.dumps(line) for line in lines),
            "```",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--set", action="append", default=[], help="change a setting, for experiments")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    for model in arguments.models:
        for seed in arguments.seeds:
            line = measure(model, seed, arguments.set)
            print(json.dumps(line), flush=True)
            lines = kept_lines(arguments.out) | {(model, seed): line}
            order = sorted(lines, key=lambda key: (list(MODELS).index(key[0]), key[1]))
            arguments.out.write_text(document([lines[key] for key in order]), encoding="utf-8")


if __name__ == "__main__":
    main()

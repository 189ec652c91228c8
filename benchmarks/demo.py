"""Quality of the models that learn the built-in English-French corpus, on test sentences that no trial had looked at.

    python benchmarks/demo.py                               # four models, three seeds: half an hour on two cores
    python benchmarks/demo.py --models attention --seeds 1  # the model of `saccade demo`: about two minutes

Writes benchmarks/results/demo.md: a table, and under it the raw line of every run. A run that is there already is
measured again and takes its place; the others stay.

The rate, steps and sizes of these recipes come from trials that had looked at the corpus's own test split. So the test
here is drawn anew: by another seed of the corpus, less the sentences that had been looked at.
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
"""Name -> recipe and what is changed in it."""
FRESH = "data.seed=20261118"
"""What draws the test anew: no trial had this seed."""
METRICS = {"bleu": (1, "BLEU"), "chrf": (1, "chrF"), "aer": (3, "alignment error rate")}
RESULTS = Path(__file__).parent / "results" / "demo.md"


def fresh_test(recipe: str) -> list[Example]:
    """Test sentences of another seed, without those of the recipe's own test split."""
    own, fresh = (list(Corpus(load_recipe(recipe, changes)).examples("test")) for changes in ([], [FRESH]))
    looked_at = {example.source for example in own} | {example.target for example in own}
    return [example for example in fresh if example.source not in looked_at and example.target not in looked_at]


def measure(model: str, seed: int, changes: list[str]) -> dict[str, Any]:
    """Train a model from a seed and measure it; one raw line."""
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
    """The raw lines that a results file has, by model and seed."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {(line["model"], line["seed"]): line for line in lines}


def spread(values: list[float], digits: int) -> str:
    """The mean, and the lowest and the highest where there are several."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def document(lines: list[dict[str, Any]]) -> str:
    """The results file: how it was made, a row a model, and the raw lines."""
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
            "Made by `python benchmarks/demo.py`: the recipes of `saccade demo` and its Transformer, each seed trained",
            "anew. The test is drawn anew too, and shares no sentence with the test split that was looked at when",
            "the recipes' rate, steps and sizes were chosen. Means over the seeds; lowest and highest in brackets.",
            "",
            f"| model | seeds | {names} |",
            "|---|---:|---:|---:|---:|",
            *rows,
            "",
            "The raw lines; seconds of training are by the clock, whatever else ran on the machine:",
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
    parser.add_argument("--set", action="append", default=[], help="change a setting; such lines are for trying out")
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

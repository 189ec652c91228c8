"""Generated images of several runs, measured by the judges of all of them.

    python benchmarks/image_judges.py runs/with-1 runs/with-2 runs/without-1 ...

The runs must have the same data. FID, KID, precision and recall depend on the classifier whose features they use, so
each run is measured with the judge of every run; a JSON line for each run has the means over the judges. A last line
has the distance of one half of the real images from the other.
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from saccade.api import load
from saccade.metrics.generated import frechet_distance, kernel_distance, nearest, precision_recall
from saccade.runs.evaluation import examples_to_test

MOST = 10_000
"""Images to compare at most."""


def main(folders: list[Path]) -> None:
    tasks = [load(folder).task for folder in folders]
    examples = list(islice(examples_to_test(tasks[0].recipe, split="valid"), MOST))
    real = tasks[0]._real(examples)
    drawn = [task._sampled(real.labels.tolist()) for task in tasks]
    found: dict[str, list[dict[str, float]]] = {folder.name: [] for folder in folders}
    halves = []
    for judge in tasks:
        own = judge._real(examples)
        halves.append(frechet_distance(own.features[::2], own.features[1::2]))
        for folder, images in zip(folders, drawn, strict=True):
            seen = judge._judged(images.images, images.labels)
            precision, recall = precision_recall(seen.features, own.features)
            found[folder.name].append(
                {
                    "fid": frechet_distance(seen.features, own.features),
                    "kid": kernel_distance(seen.features, own.features),
                    "precision": precision,
                    "recall": recall,
                    "agreement": float((seen.predicted == seen.labels).mean()),
                }
            )
    for folder, task, images in zip(folders, tasks, drawn, strict=True):
        means = {name: np.mean([each[name] for each in found[folder.name]]) for name in found[folder.name][0]}
        line: dict[str, Any] = {"run": folder.name, "seed": task.recipe.train.seed, **_turns(folder)}
        line |= {name: round(float(value), 4) for name, value in means.items()}
        line["fid_by_judge"] = [round(each["fid"], 3) for each in found[folder.name]]
        line["nearest_training_image"] = round(float(np.median(nearest(images.images, task._trained))), 2)
        print(json.dumps(line), flush=True)
    print(json.dumps({"run": "half of the real images", "fid": round(float(np.mean(halves)), 4)}))


def _turns(folder: Path) -> dict[str, Any]:
    """Return the steps, seconds and gains of the last log entry."""
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    last = [line for line in lines if "gamma" in line][-1]
    steps, seconds = max((line["step"], line["seconds"]) for line in lines)
    return {"turns": steps, "seconds": round(seconds, 1), "gamma": last["gamma"]}


if __name__ == "__main__":
    torch.manual_seed(1)
    main([Path(each) for each in sys.argv[1:]])

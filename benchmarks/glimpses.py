"""Error of glimpses after each glimpse, and how many are on the digit: learned and random places, and convolutions.

    saccade data mnist --from DOWNLOADED --out digits
    python benchmarks/glimpses.py digits --recipe mnist-ram --policy learned --seed 1 --minutes 4

The model is trained with the recipe's glimpses and evaluated on validation data with `--glimpses`, which also chose the
best step. Prints a JSON line.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from pathlib import Path
from typing import Any

import saccade
from saccade.models.glimpses import GlimpseModel


def recipe(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the recipe with the files, the time and the policy."""
    files = {name: str(folder / f"{name}.npz") for name in ("train", "valid")}
    train = {"minutes": asked.minutes, "seed": asked.seed} | ({"steps": asked.steps} if asked.steps else {})
    whole = {"preset": "image-convolutions", "filters": 64, "width": 128}
    model = whole if asked.policy == "convolutions" else {"policy": asked.policy}
    return {"base": asked.recipe, "data": {**files, "test": files["valid"]}, "train": train, "model": model}


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("data", type=Path)
    asking.add_argument("--recipe", default="mnist-ram")
    asking.add_argument("--policy", default="learned", choices=["learned", "random", "convolutions"])
    asking.add_argument("--seed", type=int, default=1)
    asking.add_argument("--minutes", type=float, default=4.0)
    asking.add_argument("--steps", type=int, default=0)
    asking.add_argument("--glimpses", type=int, default=8)
    asked = asking.parse_args()
    logging.basicConfig(level=logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        model = saccade.train(recipe(asked, asked.data.resolve()), folder)
        rows = [json.loads(row) for row in (Path(folder) / "log.jsonl").read_text().splitlines()]
        found = saccade.evaluate(model, split="valid")
        line = {name: getattr(asked, name) for name in ("recipe", "policy", "seed", "minutes")}
        line |= {"device": str(model.task.device), "updates": max(row.get("step", 0) for row in rows), **found.metrics}
        own = model.task.model
        if isinstance(own, GlimpseModel):
            own.glimpses = asked.glimpses
            found = saccade.evaluate(model, split="valid")
        details = {name: part for name, part in found.details.items() if name.endswith("glimpse")}
    print(json.dumps(line | details), flush=True)


if __name__ == "__main__":
    main()

"""Few-shot learning of Omniglot: SNAIL with and without a guided first attention, and the matching network.

    saccade data omniglot --from DOWNLOADED --out characters
    python benchmarks/few_shot.py characters --variant guided --minutes 6

All variants have the same images, episodes and minutes. Tests are 1,000 episodes of each kind, of test characters.
Prints a JSON line; intervals are of 95 %, over episodes.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import saccade
from saccade.tasks.base import Evaluation

VARIANTS: dict[str, dict[str, Any]] = {
    "snail": {},
    "guided": {"objective": {"guided_support": {"weight": 0.1}}},
    "itself": {"model": {"itself": True}},
    "matching": {"model": {"preset": "matching-network", "image": {"filters": 64, "width": 64}}},
}
EPISODES = 1000


def accuracy(found: Evaluation) -> dict[str, list[float]]:
    """Return, for each kind of episode, the accuracy in percent and half of its 95 % interval."""
    right, asked = np.asarray(found.statistics["accuracy"].counts).T
    kinds, shares = np.array(found.groups["episodes"]), 100 * right / asked
    own = {kind: shares[kinds == kind] for kind in dict.fromkeys(kinds.tolist())}
    return {kind: [round(part.mean(), 2), round(1.96 * part.std() / len(part) ** 0.5, 2)] for kind, part in own.items()}


def main() -> None:
    asking = argparse.ArgumentParser(description=__doc__)
    asking.add_argument("data", type=Path)
    asking.add_argument("--recipe", default="omniglot-gpu")
    asking.add_argument("--variant", default="snail", choices=list(VARIANTS))
    asking.add_argument("--seed", type=int, default=1)
    asking.add_argument("--minutes", type=float, default=6.0)
    asking.add_argument("--steps", type=int, default=0)
    asking.add_argument("--episodes", type=int, default=EPISODES)
    asked = asking.parse_args()
    logging.basicConfig(level=logging.INFO)
    files = {name: str(asked.data.resolve() / f"{name}.npz") for name in ("train", "valid", "test")}
    train = {"minutes": asked.minutes, "seed": asked.seed} | ({"steps": asked.steps} if asked.steps else {})
    with tempfile.TemporaryDirectory() as folder:
        model = saccade.train({"base": asked.recipe, "data": files, "train": train, **VARIANTS[asked.variant]}, folder)
        rows = [json.loads(row) for row in (Path(folder) / "log.jsonl").read_text().splitlines()]
        model.task.recipe.episodes.__dict__["tested"] = asked.episodes
        found = saccade.evaluate(model, split="test")
    line = {name: getattr(asked, name) for name in ("recipe", "variant", "seed", "minutes", "episodes")}
    line |= {"device": str(model.task.device), "updates": max(row.get("step", 0) for row in rows)}
    print(json.dumps(line | {"accuracy": accuracy(found), "attention": found.details["attention"]}), flush=True)


if __name__ == "__main__":
    main()

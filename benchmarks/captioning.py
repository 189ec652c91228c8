"""Captioning of scenes on a CPU: quality of soft and hard attention, and whether nouns attend to their objects.

    python benchmarks/captioning.py [--only soft] [--out runs]

Trains the recipes `scenes` and `scenes-hard` as `saccade train` does, and evaluates captions and the pointing game on
the test split. The hard model is also evaluated with random attention. Prints a JSON line for each. The seconds are
those of the whole training run, including drawing the images if they are not cached.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from saccade.attention.aligns.hard import Hard
from saccade.corpora.scenes import DIGITS, SHAPES
from saccade.data.example import Example
from saccade.metrics import pointing_score
from saccade.runs.corpus import Corpus
from saccade.runs.folder import load_task
from saccade.runs.recipe import load_recipe
from saccade.runs.training import train
from saccade.tasks.captioning import Captioning

NOUNS = {word + ending for word in (*DIGITS, *SHAPES) for ending in ("", "s", "es")}
RECIPES = {"soft": "scenes", "hard": "scenes-hard"}
METRICS = ("cider_d", "exact", "bleu4", "pointing", "mass_inside")


def trained(kind: str, folder: Path) -> float:
    """Train a model into the folder and return the seconds."""
    shutil.rmtree(folder, ignore_errors=True)
    recipe = load_recipe(RECIPES[kind], [])
    began = time.perf_counter()
    train(recipe, folder)
    return time.perf_counter() - began


def pointing_of_nouns(task: Captioning, examples: Sequence[Example]) -> dict[str, float]:
    """Return the pointing accuracy of nouns (share of attention peaks inside their boxes), and that of chance."""
    maps, boxes = [], []
    for example, seen in zip(examples, task.attend(examples), strict=True):
        assert example.boxes is not None
        assert example.target is not None
        assert seen.picture is not None
        words = example.target.split()
        weights = seen.matrix()[: len(words)]
        maps.append(np.reshape(weights, (len(words), seen.picture.rows, seen.picture.columns)))
        boxes.append([box if word in NOUNS else None for word, box in zip(words, example.boxes, strict=True)])
    score = pointing_score(maps, boxes)
    return {"noun_pointing": score.accuracy, "noun_pointing_by_chance": score.chance_accuracy}


@contextmanager
def random_glimpses() -> Iterator[None]:
    """Replace hard attention by uniformly random regions."""
    original, generator = Hard.choose, torch.Generator().manual_seed(1)

    def uniformly(self: Hard, distribution: Tensor) -> Tensor:
        places = torch.randint(distribution.shape[-1], distribution.shape[:-1], generator=generator)
        return torch.zeros_like(distribution).scatter(-1, places.unsqueeze(-1), 1.0)

    Hard.choose = uniformly  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hard.choose = original  # type: ignore[method-assign]


def measured(task: Captioning, examples: Sequence[Example]) -> dict[str, float]:
    found = task.evaluate(examples, task.recipe.search).metrics
    return {name: found[name] for name in METRICS} | pointing_of_nouns(task, examples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=list(RECIPES), choices=list(RECIPES), metavar="KIND")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    options = parser.parse_args()
    about = {"torch": torch.__version__, "threads": torch.get_num_threads(), "processor": platform.processor()}
    print(json.dumps(about), flush=True)
    for kind in options.only:
        folder = options.out / f"scenes-{kind}"
        seconds = trained(kind, folder)
        task = load_task(folder)
        assert isinstance(task, Captioning)
        examples = list(Corpus(task.recipe).examples("test"))
        report(f"{kind} attention", seconds, measured(task, examples))
        if kind == "hard":
            with random_glimpses():
                report("hard attention, random glimpses", seconds, measured(task, examples))


def report(case: str, seconds: float, figures: dict[str, float]) -> None:
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps({"case": case, "seconds": round(seconds), **rounded}), flush=True)


if __name__ == "__main__":
    main()

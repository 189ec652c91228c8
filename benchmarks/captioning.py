"""Captions for scenes on a CPU: how well soft and hard attention read pictures after minutes, and where they look.

    python benchmarks/captioning.py [--only soft] [--out runs]

Trains the recipes `scenes` and `scenes-hard` as `saccade train` does, and measures the models on the test split:
captions, and whether words look at what they are about. For hard attention also what the same model writes when it
looks somewhere at random for every word. One JSON line each; the seconds are those of the whole training, drawing the
pictures included where they are not in the cache.
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
    """Seconds to train; the model is in the folder then."""
    shutil.rmtree(folder, ignore_errors=True)
    recipe = load_recipe(RECIPES[kind], [])
    began = time.perf_counter()
    train(recipe, folder)
    return time.perf_counter() - began


def pointing_of_nouns(task: Captioning, examples: Sequence[Example]) -> dict[str, float]:
    """Whether the things' own words look at them: the share of peaks inside of their boxes, and what chance gets."""
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
    """Hard attention that draws a region without looking."""
    usual, chance = Hard.choose, torch.Generator().manual_seed(1)

    def blindly(self: Hard, distribution: Tensor) -> Tensor:
        places = torch.randint(distribution.shape[-1], distribution.shape[:-1], generator=chance)
        return torch.zeros_like(distribution).scatter(-1, places.unsqueeze(-1), 1.0)

    Hard.choose = blindly  # type: ignore[method-assign]
    try:
        yield
    finally:
        Hard.choose = usual  # type: ignore[method-assign]


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
        tell(f"{kind} attention", seconds, measured(task, examples))
        if kind == "hard":
            with random_glimpses():
                tell("hard attention, random glimpses", seconds, measured(task, examples))


def tell(case: str, seconds: float, figures: dict[str, float]) -> None:
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps({"case": case, "seconds": round(seconds), **rounded}), flush=True)


if __name__ == "__main__":
    main()

"""Several training runs that differ in their seed alone: their folders, and the spread of their metrics."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from saccade.errors import ConfigError
from saccade.recipes.schema import Recipe
from saccade.tasks.base import Evaluation

__all__ = ["Spread", "compare_seeds", "runs_of", "seed_folder", "with_seed"]


class Spread(NamedTuple):
    """A metric over several runs."""

    mean: float
    lowest: float
    highest: float
    runs: int


def seed_folder(out: Path, seed: int) -> Path:
    """Return the model folder of a seed's run."""
    return out / f"seed-{seed}"


def with_seed(recipe: Recipe, seed: int) -> Recipe:
    """Return the recipe with another seed for training; data and their split stay the same."""
    return recipe.model_copy(update={"train": recipe.train.model_copy(update={"seed": seed})})


def runs_of(folder: Path) -> list[Path]:
    """Return the model folders of several seeds in a folder, or the folder itself if it is a model."""
    if (folder / "model.safetensors").exists() or not folder.is_dir():
        return [folder]
    found = sorted(folder.glob("seed-*/model.safetensors"), key=lambda path: (len(path.parent.name), path.parent.name))
    return [path.parent for path in found] or [folder]


def compare_seeds(groups: Sequence[tuple[str, Sequence[Evaluation]]]) -> dict[str, Any]:
    """Compare models with several runs each: mean and range of each metric, and the difference of the means.

    `apart`: whether every run of a model is better, or every one worse, than all runs of the first.
    """
    first = groups[0][1]
    counts = {len(evaluation.lengths) for _, runs in groups for evaluation in runs}
    if len(counts) > 1:
        raise ConfigError(f"the runs were evaluated on {' and '.join(map(str, sorted(counts)))} examples.")
    rows = []
    for name, runs in groups:
        row: dict[str, Any] = {"model": name, "metrics": {}, "against_first": {}}
        for metric in runs[0].metrics:
            found, base = ([one.metrics[metric] for one in part if metric in one.metrics] for part in (runs, first))
            row["metrics"][metric] = Spread(float(np.mean(found)), min(found), max(found), len(found))._asdict()
            if runs is not first and base:
                apart = min(found) > max(base) or max(found) < min(base)
                row["against_first"][metric] = {"difference": float(np.mean(found) - np.mean(base)), "apart": apart}
        rows.append(row)
    return {"models": rows, "sentences": counts.pop()}

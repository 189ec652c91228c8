"""Evaluate one model or compare several: metrics, confidence intervals and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from saccade.data.example import Example
from saccade.errors import ConfigError, DataError, unknown_name
from saccade.look import Curve, Point, save_lengths
from saccade.metrics import METRICS, paired, round_bounds, sums_interval
from saccade.recipes import RecipeText, override
from saccade.recipes.schema import Recipe
from saccade.runs.corpus import Corpus
from saccade.runs.recipe import parse_recipe
from saccade.tasks.base import Evaluation, Task
from saccade.tasks.table import find_task

__all__ = [
    "check_comparable",
    "compare",
    "draw_lengths",
    "evaluation_recipe",
    "examples_to_test",
    "search_changes",
    "split_to_test",
    "summarise",
]


def evaluation_recipe(recipe: Recipe, changes: list[str]) -> Recipe:
    """Return a model's recipe with changes as in --set to its data or its search."""
    if not changes:
        return recipe
    changed = parse_recipe(override(RecipeText(recipe.dump(), "the model's recipe"), changes))
    before, after = recipe.dump(), changed.dump()
    fixed = [name for name in after if name not in ("data", "search") and after[name] != before[name]]
    if fixed:
        raise ConfigError(
            f"--set changes {' and '.join(fixed)}, but the model is trained already: only data and search can change."
        )
    return changed


def search_changes(recipe: Recipe, changed: Recipe) -> dict[str, Any]:
    """Return the settings of the search in which a changed recipe differs."""
    before = recipe.search.model_dump()
    return {name: value for name, value in changed.search.model_dump().items() if value != before[name]}


def split_to_test(recipe: Recipe, split: str | None = None) -> str:
    """Return the split to evaluate on: the named one, else test if the recipe has test data, else valid."""
    if split is None:
        return "test" if recipe.data.train is None or recipe.data.test is not None else "valid"
    if split not in _SPLITS:
        raise unknown_name("split", split, _SPLITS)
    return split


def examples_to_test(recipe: Recipe, files: Sequence[Path] = (), split: str | None = None) -> list[Example]:
    """Return the examples to evaluate on, from files or from a split of the recipe's data."""
    if files:
        found = list(Corpus(recipe).read(list(files)))
    else:
        found = list(Corpus(recipe).examples(split_to_test(recipe, split)))
    found = find_task(recipe.task).testable(found)
    if not found:
        raise DataError("there is nothing to evaluate on: no example has any text. Name other files or another split.")
    return found


def summarise(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain data: metrics, their confidence intervals, quality against length, details."""
    intervals = {}
    for name, part in evaluation.statistics.items():
        interval = sums_interval(part.counts, part.score)
        intervals[name] = [interval.lower, interval.upper]
    return {
        "metrics": evaluation.metrics,
        "bands": intervals,
        "by_length": [asdict(entry) for entry in evaluation.by_length()],
        **(
            {"by_group": {title: evaluation.by_group(title) for title in evaluation.groups}}
            if evaluation.groups
            else {}
        ),
        **evaluation.details,
        **({"notes": evaluation.notes} if evaluation.notes else {}),
    }


def check_comparable(tasks: Sequence[Task]) -> None:
    """Raise if the models are of different tasks."""
    kinds = {task.name for task in tasks}
    if len(kinds) > 1:
        raise ConfigError(f"models of different tasks cannot be compared: {', '.join(sorted(kinds))}.")


def compare(evaluations: Sequence[tuple[str, Evaluation]]) -> dict[str, Any]:
    """Compare named models on the same test data: metrics, and paired differences to the first with p-values."""
    first = evaluations[0][1]
    rows = []
    for name, evaluation in evaluations:
        row: dict[str, Any] = {"model": name, "metrics": evaluation.metrics, "against_first": {}}
        for metric, part in evaluation.statistics.items():
            base = first.statistics.get(metric)
            if evaluation is first or base is None or base.counts.shape != part.counts.shape:
                continue
            found = paired(part.counts, base.counts, part.score)
            row["against_first"][metric] = {
                "difference": found.difference,
                "lower": found.lower,
                "upper": found.upper,
                "p_value": found.p_value,
            }
        rows.append(row)
    return {"models": rows, "sentences": len(first.lengths)}


def draw_lengths(path: Path, evaluations: Sequence[tuple[str, Evaluation]], *, trained_to: int | None = None) -> None:
    """Draw a figure of quality against source length for several models, with the same length bins."""
    bounds = round_bounds([length for _, evaluation in evaluations for length in evaluation.lengths])
    curves = []
    for name, evaluation in evaluations:
        bins = evaluation.by_length(bounds=bounds)
        curves.append(Curve(name, [Point(b.low, b.high, b.score, b.lower, b.upper) for b in bins]))
    metric = next(iter(evaluations[0][1].statistics))
    save_lengths(curves, path, trained_to, score=METRICS[metric].title if metric in METRICS else metric)


_SPLITS = ("train", "valid", "test")

"""Evaluate one model or compare several: metrics, confidence intervals and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from saccade.batch import UNK
from saccade.data.example import Example
from saccade.data.tokenizer import Tokenizer
from saccade.errors import ConfigError, DataError, unknown_name
from saccade.look import Curve, Point, save_lengths
from saccade.metrics import METRICS, paired, round_bounds, sums_interval
from saccade.metrics.word_for_word import word_for_word
from saccade.recipes import RecipeText, override
from saccade.recipes.schema import Recipe
from saccade.runs.corpus import Corpus
from saccade.runs.recipe import parse_recipe
from saccade.tasks.base import Evaluation, Task
from saccade.tasks.table import find_task
from saccade.tasks.translation import Translation, score_texts

__all__ = [
    "baselines",
    "check_comparable",
    "compare",
    "data_used",
    "draw_lengths",
    "evaluation_recipe",
    "examples_to_test",
    "looks_swapped",
    "outputs",
    "report_name",
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


def data_used(recipe: Recipe, files: Sequence[Path] = (), split: str | None = None) -> str:
    """Say which data an evaluation uses."""
    if files:
        return " and ".join(str(file) for file in files)
    data, chosen = recipe.data, split_to_test(recipe, split)
    if data.corpus is not None or data.hub is not None:
        return f"the {chosen} split of {data.corpus or data.hub}"
    if getattr(data, chosen) is None:
        return f"the {chosen} split, set aside from {data_used(recipe, data.paths('train'))}"
    return f"the {chosen} split, {data_used(recipe, data.paths(chosen))}"


def report_name(files: Sequence[Path] = (), split: str | None = None) -> str:
    """Return what the names of an evaluation's files end in: nothing for the recipe's own test data."""
    if files:
        return "-" + files[0].name.split(".")[0] if len(files) == 1 else "-" + "-".join(file.name for file in files[:2])
    return "" if split is None else f"-{split}"


def baselines(recipe: Recipe, examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Return the metrics of translating the examples word for word, if the training data are there to learn from."""
    if recipe.task != Translation.name or not all(path.exists() for path in recipe.data.paths("train")):
        return {}
    if recipe.data.hub is not None:
        return {}
    train = islice(Corpus(recipe).examples("train"), _LEXICON)
    pairs = ((one.source or "", one.target or "") for one in train)
    made = word_for_word(pairs, [one.source or "" for one in examples])
    statistics, _, _ = score_texts(made, [one.target or "" for one in examples])
    return {"word-for-word": {name: part.value for name, part in statistics.items()}}


def outputs(examples: Sequence[Example], evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return what the model wrote for each example, beside the reference; nothing if they are not one to one."""
    if len(examples) != len(evaluation.predictions):
        return []
    return [
        {"source": given.source, "target": given.target or given.label, "output": made.text, "score": made.score}
        for given, made in zip(examples, evaluation.predictions, strict=True)
    ]


def looks_swapped(task: Task, examples: Sequence[Example]) -> str | None:
    """Return a hint if sources look like targets and targets like sources to the vocabularies."""
    tokenizers = task.tokenizers
    if tokenizers.source is None or tokenizers.target is None or tokenizers.shared:
        return None
    some = [one for one in examples[:_SWAP_EXAMPLES] if one.source and one.target]
    sources, targets = [one.source or "" for one in some], [one.target or "" for one in some]
    straight = _cost(tokenizers.source, sources) + _cost(tokenizers.target, targets)
    swapped = _cost(tokenizers.source, targets) + _cost(tokenizers.target, sources)
    if straight <= _SWAP_GAIN * swapped:
        return None
    return (
        "source and target look swapped: the other way round the vocabularies know the texts much better. Swap the "
        "files, or name the columns: --set 'data.columns={source: 2, target: 1}'."
    )


def _cost(tokenizer: Tokenizer, texts: Sequence[str]) -> int:
    """Count tokens; an unknown one counts more."""
    rows = tokenizer.tokens(texts)
    return sum(map(len, rows)) + 2 * sum(row.count(UNK) for row in rows)


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


_LEXICON = 20_000
"""Maximum training pairs that the word-for-word baseline reads."""
_SWAP_EXAMPLES, _SWAP_GAIN = 200, 1.25
"""How many examples `looks_swapped` reads, and from which ratio of costs it gives its hint."""
_SPLITS = ("train", "valid", "test")

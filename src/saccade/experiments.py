"""Python functions for `saccade train`, `evaluate` and `compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from saccade.api import Model, load
from saccade.data.example import Example
from saccade.data.forms import Form
from saccade.errors import CheckpointError, ConfigError
from saccade.outside import trusting
from saccade.recipes import schema
from saccade.runs.evaluation import check_comparable, evaluation_recipe, examples_to_test
from saccade.runs.evaluation import compare as compare_evaluations
from saccade.runs.recipe import build_recipe
from saccade.runs.training import train as train_recipe
from saccade.search.options import SearchOptions, with_named_options
from saccade.tasks.base import Evaluation
from saccade.tasks.table import find_task
from saccade.train.log import TrainingCallback, TrainingCallbacks
from saccade.train.notebook import NotebookProgress, in_notebook

__all__ = ["Recipe", "compare", "evaluate", "train"]


class Recipe(schema.Recipe):
    """Validated settings of a training run, from a name, a YAML file or a dictionary; keywords change sections.

    >>> recipe = saccade.Recipe("english-french", train={"steps": 300})
    >>> recipe.train.steps, recipe.task
    (300, 'translation')
    """

    def __init__(self, source: str | Path | Mapping[str, Any] | schema.Recipe, /, **changes: Any) -> None:
        made = build_recipe(source, changes)
        super().__init__(**{name: getattr(made, name) for name in schema.Recipe.model_fields})


def train(
    recipe: str | Path | Mapping[str, Any] | schema.Recipe,
    out: str | Path,
    *,
    pairs: Iterable[Any] | None = None,
    resume: bool = False,
    callbacks: TrainingCallback | Sequence[TrainingCallback] = (),
    progress: bool | None = None,
    trust_code: bool = False,
    **changes: Any,
) -> Model:
    """Train a recipe and return the model; `out` becomes its folder.

    recipe: a name, a file, a dictionary or a Recipe. pairs: training examples in place of the recipe's data, such as
    (source, target); they are written to `out`/data. resume: continue a stopped run of this folder. callbacks: objects
    with some of the methods of TrainingCallback. progress: show a bar; default: in notebooks. trust_code: let the
    recipe import outside code. changes: settings to change, by section.

    >>> model = saccade.train("english-french", "runs/short", train={"steps": 2}, data={"size": 200})
    >>> model.recipe["train"]["steps"]
    2
    """
    folder = Path(out)
    beside = Path(recipe).parent if isinstance(recipe, str | Path) else Path()
    with trusting(trust_code, beside):
        if pairs is not None:
            changes = changes | {"data": {**_IN_MEMORY, **changes.get("data", {})}}
        made = build_recipe(recipe, changes, to_train=pairs is None)
        if pairs is not None:
            made = _with_pairs(made, pairs, folder, resume)
        shown = in_notebook() if progress is None else progress
        every = [callbacks] if isinstance(callbacks, TrainingCallback) else [*callbacks]
        watcher = TrainingCallbacks([*every, *([NotebookProgress()] if shown else [])])
        outcome = train_recipe(made, folder, resume=resume, watcher=watcher)
    if outcome.why == "interrupted":
        raise KeyboardInterrupt(f"training stopped after step {outcome.progress.step}; continue it with resume=True")
    return load(folder, device=made.train.device, trust_code=trust_code)


@with_named_options
def evaluate(
    model: Model | str | Path,
    data: Iterable[Any] | str | Path | None = None,
    *,
    split: str | None = None,
    **options: Unpack[SearchOptions],
) -> Evaluation:
    """Compute the metrics of a model, or of its folder, on examples, files, or a split of the recipe's data.

    data: pairs such as (source, target), or the path of a file, or a list of paths. options: search options.

    >>> found = saccade.evaluate("demo", [("the law", "la loi")])
    >>> found.metrics["ter"]
    0.0
    """
    loaded = _loaded(model)
    return loaded.evaluate(_examples(loaded, data, split), **options)


@with_named_options
def compare(
    models: Sequence[Model | str | Path],
    data: Iterable[Any] | str | Path | None = None,
    *,
    split: str | None = None,
    **options: Unpack[SearchOptions],
) -> dict[str, Any]:
    """Compare models on the same examples: their metrics, and paired bootstrap tests against the first model.

    >>> found = saccade.compare(["demo", "demo"], [("the law", "la loi"), ("a red car", "une voiture rouge")])
    >>> found["sentences"]
    2
    """
    loaded = [_loaded(model) for model in models]
    check_comparable([model.task for model in loaded])
    examples = _examples(loaded[0], data, split)
    names = [repr(model) if isinstance(model, Model) else str(model) for model in models]
    return compare_evaluations(
        [(name, model.evaluate(examples, **options)) for name, model in zip(names, loaded, strict=True)]
    )


_IN_MEMORY: dict[str, Any] = {"corpus": None, "hub": None, "train": "pairs", "valid": None, "test": None, "columns": {}}
"""Data settings for training pairs in memory; `_with_pairs` replaces `train` by the files that it writes."""
_SIDES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("source", "target", "links"): ("source", "target"),
    ("source", "label"): (),
    ("target",): ("text",),
}
"""The suffixes of the files that hold examples of these fields."""


def _loaded(model: Model | str | Path) -> Model:
    return model if isinstance(model, Model) else load(model)


def _examples(model: Model, data: Any, split: str | None) -> list[Example]:
    if isinstance(data, str | Path):
        data = [data]
    given = None if data is None else list(data)
    if given is None or (given and all(isinstance(part, Path) or _is_file(part) for part in given)):
        recipe = evaluation_recipe(model.task.recipe, [])
        return examples_to_test(recipe, [Path(part) for part in given or ()], split)
    return model.examples(given)


def _is_file(given: Any) -> bool:
    return isinstance(given, str) and Path(given).is_file()


def _with_pairs(recipe: schema.Recipe, pairs: Iterable[Any], folder: Path, resume: bool) -> schema.Recipe:
    """Write examples to the model folder, and return the recipe with them as its training data."""
    form: Form = find_task(recipe.task).form
    if form.fields not in _SIDES:
        raise ConfigError(
            f"pairs are for tasks on text; {recipe.task} reads {form.title}. Name files in the recipe's data."
        )
    if not resume and (folder / "model.safetensors").exists():
        raise CheckpointError(f"{folder} already holds a trained model. Choose another folder.")
    files = form.write((Example.of(pair, form.fields) for pair in pairs), folder / "data", "train", _SIDES[form.fields])
    data = recipe.data.model_copy(update={"train": [str(file.absolute()) for file in files]})
    return recipe.model_copy(update={"data": data})

"""Load recipes: read the file, upgrade older versions, and check all sections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from saccade.config import Fault, check, merge, refuse
from saccade.data.public import public_set
from saccade.errors import ConfigError, DataError
from saccade.pretrained import find_model
from saccade.recipes import RecipeText, override, read_recipe, read_yaml, shipped, with_base
from saccade.recipes.renamed import with_new_names
from saccade.recipes.schema import Recipe, Sections, complete_model
from saccade.recipes.versions import upgraded
from saccade.tasks.table import find_task
from saccade.train.terms import complete_terms

__all__ = ["build_recipe", "load_recipe", "parse_recipe", "recipe_to_train", "rooted"]


_OWN = {"data", "train", "objective", "embeddings", "init_from", "note", "takes", "examples"}
"""Sections that a fine-tuned model does not inherit."""


def build_recipe(
    source: str | Path | Mapping[str, Any] | Recipe, changes: Mapping[str, Any], *, to_train: bool = False
) -> Recipe:
    """Return the recipe of a name, a file, a dictionary or a recipe, with sections or settings changed.

    to_train: raise DataError if it is a shipped recipe whose files are missing.
    """
    if isinstance(source, str | Path):
        text, home = read_recipe(str(source)), Path(source).parent
    else:
        settings = source.dump() if isinstance(source, Recipe) else dict(source)
        text, home = with_base(RecipeText(settings, "the recipe")), Path()
    new = with_new_names(RecipeText(nested(changes), "the changes"))
    recipe = parse_recipe(with_inherited(replace(text, settings=merge(text.settings, new.settings)), home))
    if not isinstance(source, str | Path):
        return recipe
    if to_train:
        _check_files(str(source), recipe)
    return recipe if str(source) in shipped() else rooted(recipe, Path(text.where).parent)


def nested(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes with names such as `train.lr` as sections."""
    found: dict[str, Any] = {}
    for name, value in changes.items():
        for key in reversed(name.split(".")):
            value = {key: value}
        found = merge(found, value)
    return found


def load_recipe(name: str, changes: list[str] | None = None) -> Recipe:
    """Load a recipe by file or name, with settings changed as by --set.

    Relative data files are those beside the recipe, or else those in the working directory.
    """
    text = override(read_recipe(name), changes or [])
    recipe = parse_recipe(with_inherited(text, Path(text.where).parent))
    return recipe if name in shipped() else rooted(recipe, Path(text.where).parent)


def recipe_to_train(name: str, changes: list[str] | None = None) -> Recipe:
    """Load a recipe as `load_recipe`; raise DataError if it is a shipped one whose files are missing."""
    recipe = load_recipe(name, changes)
    _check_files(name, recipe)
    return recipe


def _check_files(name: str, recipe: Recipe) -> None:
    """Raise DataError if this is a shipped recipe whose files are missing."""
    missing = [path for path in recipe.data.paths("train") if not path.exists()]
    if name not in shipped() or not missing:
        return
    known = public_set(name)
    how = (
        f"`saccade data {known}` says how to get them; then add --set data.folder=DIR."
        if known
        else "Name yours with --set data.train=FILE, such as a .tsv with source, tab, target on each line."
    )
    raise DataError(f"the recipe {name} needs files that are not there: {missing[0]}. {how}")


def with_inherited(text: RecipeText, beside: Path) -> RecipeText:
    """Fill in settings that a recipe with `init_from` leaves out, such as its model, from that model's recipe.

    A relative model folder is in `beside`, else in the working directory; it becomes absolute.
    """
    given = text.settings.get("init_from")
    start = {"model": given} if isinstance(given, str) else given
    if not isinstance(start, dict) or not isinstance(start.get("model"), str):
        return text
    near = beside / Path(start["model"]).expanduser()
    folder = near if (near / "recipe.yaml").is_file() else find_model(Path(start["model"]).expanduser())
    if not (folder / "recipe.yaml").is_file() and {"task", "data", "model"} <= text.settings.keys():
        return text  # a complete recipe, such as that of a run to resume
    if not (folder / "recipe.yaml").is_file():
        raise ConfigError(f"{text.where}: init_from names {start['model']}, which is no model folder.")
    own = text.settings | {"init_from": start | {"model": str(folder.absolute())}}
    first = {name: value for name, value in read_yaml(folder / "recipe.yaml").settings.items() if name not in _OWN}
    if isinstance(own.get("model"), dict) and "preset" in own["model"]:
        first["model"] = {}
    return RecipeText(merge(first, own), text.where, text.lines)


def rooted(recipe: Recipe, home: Path) -> Recipe:
    """Return the recipe with the absolute folder of its data, so that a model that is moved still finds them.

    The folder is relative to `home` if a file of the training data is there, else to the working directory.
    """
    data = recipe.data
    if data.train is None:
        return recipe
    places = [str((place / Path(data.folder or "").expanduser()).absolute()) for place in (home, Path())]
    found = {place: data.model_copy(update={"folder": place}) for place in places}
    chosen = next(
        (
            made
            for place, made in found.items()
            if any(path.absolute().is_relative_to(place) and path.exists() for path in made.paths("train"))
        ),
        found[places[0]],
    )
    return recipe.model_copy(update={"data": chosen})


def parse_recipe(text: RecipeText) -> Recipe:
    """Check a recipe and return it; one ConfigError lists all faults."""
    text = upgraded(text)
    sections, faults = check(Sections, text.settings)
    model, model_faults = complete_model(text.settings.get("model", {}))
    objective, term_faults = complete_terms(text.settings.get("objective", {}))
    faults += model_faults + term_faults
    recipe = None
    if sections is not None and model is not None and objective is not None:
        given = {name: getattr(sections, name) for name in Sections.model_fields}
        recipe = Recipe(**{**given, "model": model, "objective": objective})
        faults += _task_faults(recipe)
    if faults or recipe is None:
        raise refuse(faults, text.where, text.lines)
    return recipe


def _task_faults(recipe: Recipe) -> list[Fault]:
    try:
        return list(find_task(recipe.task).faults(recipe))
    except ConfigError as error:
        return [Fault(("task",), str(error))]

"""Load recipes: read the file, upgrade older versions, and check all sections."""

from __future__ import annotations

from pathlib import Path

from saccade.config import Fault, check, refuse
from saccade.data.public import public_set
from saccade.errors import ConfigError, DataError
from saccade.recipes import RecipeText, override, read_recipe, shipped
from saccade.recipes.schema import Recipe, Sections, complete_model
from saccade.recipes.versions import upgraded
from saccade.tasks.table import find_task
from saccade.train.terms import complete_terms

__all__ = ["load_recipe", "parse_recipe", "recipe_to_train", "rooted"]


def load_recipe(name: str, changes: list[str] | None = None) -> Recipe:
    """Load a recipe by file or name, with settings changed as by --set.

    Relative data files are those beside the recipe, or else those in the working directory.
    """
    text = override(read_recipe(name), changes or [])
    recipe = parse_recipe(text)
    return recipe if name in shipped() else rooted(recipe, Path(text.where).parent)


def recipe_to_train(name: str, changes: list[str] | None = None) -> Recipe:
    """Load a recipe as `load_recipe`; raise DataError if it is a shipped one whose files are missing."""
    recipe = load_recipe(name, changes)
    missing = [path for path in recipe.data.paths("train") if not path.exists()]
    if name not in shipped() or not missing:
        return recipe
    known = public_set(name)
    how = (
        f"`saccade data {known}` says how to get them; then add --set data.folder=DIR."
        if known
        else "Name yours with --set data.train=FILE, such as a .tsv with source, tab, target on each line."
    )
    raise DataError(f"the recipe {name} needs files that are not there: {missing[0]}. {how}")


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

"""Load recipes: read the file, upgrade older versions, and check all sections."""

from __future__ import annotations

from saccade.config import Fault, check, refuse
from saccade.errors import ConfigError
from saccade.recipes import RecipeText, override, read_recipe
from saccade.recipes.schema import Recipe, Sections, complete_model
from saccade.recipes.versions import upgraded
from saccade.tasks.table import find_task
from saccade.train.terms import complete_terms

__all__ = ["load_recipe", "parse_recipe"]


def load_recipe(name: str, changes: list[str] | None = None) -> Recipe:
    """Load a recipe by file or name, with settings changed as by --set."""
    return parse_recipe(override(read_recipe(name), changes or []))


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

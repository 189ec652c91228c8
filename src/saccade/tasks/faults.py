"""Checks of a recipe as a whole, against what its task declares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from saccade.config import Fault, check
from saccade.data.corpora import CORPORA
from saccade.errors import ConfigError, lookup, unknown_name
from saccade.models import HEADS, presets_for
from saccade.outside import find_factory, is_outside
from saccade.train.terms import TERMS, Term

if TYPE_CHECKING:
    from saccade.tasks.base import Task
    from saccade.tasks.recipe import Recipe

__all__ = ["complete_terms", "recipe_faults", "terms_of"]

_NEEDS = {"mirror": "images to mirror", "scheduled_sampling": "words to write"}
"""What a task must offer for a setting of `train` to make sense."""


def find_term(name: str) -> type[Term]:
    """Return a term by its name in TERMS, or by the place of its class, `package.module:Class`."""
    if not is_outside(name):
        return lookup("term", name, TERMS)
    found = find_factory("term", name)
    if not (isinstance(found, type) and issubclass(found, Term)):
        raise ConfigError(f"{name!r} is no term. Derive it from saccade.train.terms.Term.")
    return found


def terms_of(objective: dict[str, Any]) -> dict[str, Term]:
    """Return the terms of a recipe whose settings are checked."""
    return {name: find_term(name).model_validate(settings) for name, settings in objective.items()}


def complete_terms(objective: Any) -> tuple[dict[str, Any] | None, list[Fault]]:
    """Return the settings of all terms with their defaults filled in, and what is wrong with them."""
    if not isinstance(objective, dict):
        return None, []  # told with the other sections
    made: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, settings in objective.items():
        if settings is None:
            continue
        try:
            term, wrong = check(find_term(name), settings, ("objective", name))
        except ConfigError as error:
            term, wrong = None, [Fault(("objective", name), str(error))]
        faults += wrong
        if term is not None:
            made[name] = term.model_dump(mode="json")
    return (None, faults) if faults else (made, [])


def recipe_faults(task: type[Task], recipe: Recipe) -> Iterator[Fault]:
    """Find all settings of a recipe that its task cannot use."""
    data, train = recipe.data, recipe.train
    if data.corpus is not None and (form := CORPORA[data.corpus].form) is not task.form:
        yield Fault(("data", "corpus"), f"{data.corpus} has {form.title}, but {recipe.task} needs {task.form.title}")
    yield from _model_faults(task, recipe)
    for name, needed in _NEEDS.items():
        if getattr(train, name) and needed not in task.offers:
            yield Fault(("train", name), f"{recipe.task} has no {needed}: set it to 0")
    for name, term in terms_of(recipe.objective).items():
        if term.weight and term.needs not in task.offers:
            yield Fault(("objective", name), f"{recipe.task} has no {term.needs}: leave it out")
    if recipe.vectors.file is not None and not task.takes_vectors:
        yield Fault(("vectors", "file"), f"{recipe.task} does not start from word vectors: leave it out")
    if recipe.vectors.file is not None and recipe.tokenizer.kind != "word":
        yield Fault(("vectors", "file"), "word vectors are of whole words: set tokenizer.kind to word")
    if train.metric not in (known := ("loss", *task.metrics)):
        yield Fault(("train", "metric"), str(unknown_name(f"metric of {recipe.task}", train.metric, known)))


def _model_faults(task: type[Task], recipe: Recipe) -> Iterator[Fault]:
    if task.head is None:
        return
    wanted, read = HEADS[task.head].reads, recipe.family.reads
    if read != wanted:
        known = ", ".join(presets_for(task.head))
        which = recipe.preset or "a model without a preset"
        yield Fault(("model", "preset"), f"{which} reads {read}s, but {recipe.task} reads {wanted}s. Choose {known}")

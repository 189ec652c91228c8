"""Check a recipe against what its task supports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from saccade.config import Fault
from saccade.corpora import CORPORA
from saccade.errors import unknown_name
from saccade.models import HEADS, presets_for
from saccade.train.terms import terms_of

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe
    from saccade.tasks.base import Task

__all__ = ["recipe_faults"]

_NEEDS = {"horizontal_flip": "images to flip", "scheduled_sampling": "words to write"}
"""What a task must offer for a setting of `train` to make sense."""


def recipe_faults(task: type[Task], recipe: Recipe) -> Iterator[Fault]:
    """Yield a fault for each setting that the task cannot use."""
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
    for number, given in enumerate(recipe.examples):
        if not task.reads.large and (why := task.reads.fault(task.reads.listed(given))) is not None:
            yield Fault(("examples", str(number)), f"an example {why}")
    if recipe.output.kind == "pointer":
        if "source words to copy" not in task.offers:
            yield Fault(("output",), f"{recipe.task} has no source words to copy: leave it out")
        if not recipe.tokenizer.shared:
            yield Fault(("output",), "a pointer writes tokens of the source: set tokenizer.shared to true")
    if recipe.embeddings.file is not None and not task.takes_vectors:
        yield Fault(("embeddings", "file"), f"{recipe.task} does not start from word vectors: leave it out")
    if recipe.embeddings.file is not None and recipe.tokenizer.kind != "word":
        yield Fault(("embeddings", "file"), "word vectors are of whole words: set tokenizer.kind to word")
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

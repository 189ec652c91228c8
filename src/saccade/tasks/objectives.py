"""Build the objectives of tasks from the settings of a recipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from saccade.batch import Batch
from saccade.train.hard import HardLoss, learns_by_reward, refuse_reward
from saccade.train.objective import ClassLoss, SpanLoss, WordLoss
from saccade.train.terms import Reinforce

if TYPE_CHECKING:
    from saccade.tasks.base import Task

__all__ = ["class_loss", "span_loss", "word_loss"]


def word_loss(task: Task, augment: Callable[[Batch], Batch] | None = None) -> WordLoss:
    """Return the objective of a generation task; with REINFORCE for hard attention if the model has a baseline.

    `augment` changes the inputs of training batches at random.
    """
    train, terms = task.recipe.train, dict(task.terms)
    options: dict[str, Any] = {
        "horizontal_flip": train.horizontal_flip,
        "scheduled_sampling": train.scheduled_sampling,
        "augment": augment,
        **_common(task),
    }
    if learns_by_reward(task.model) and hasattr(task.model, "baseline"):
        reward = terms.pop(Reinforce.name, None)
        assert reward is None or isinstance(reward, Reinforce)
        return HardLoss(task.model, reward, terms=list(terms.values()), **options)
    refuse_reward(task.model)
    return WordLoss(task.model, terms=list(terms.values()), **options)


def class_loss(task: Task) -> ClassLoss:
    """Return the objective of a classification task."""
    return ClassLoss(task.model, **_common(task))


def span_loss(task: Task) -> SpanLoss:
    """Return the objective of a task that points at spans."""
    return SpanLoss(task.model, word_dropout=task.recipe.train.word_dropout, terms=list(task.terms.values()))


def _common(task: Task) -> dict[str, Any]:
    train = task.recipe.train
    return {name: getattr(train, name) for name in ("label_smoothing", "word_dropout", "r_drop")}

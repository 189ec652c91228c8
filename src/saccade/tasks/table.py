"""TASKS: all tasks by name. To add a task, write a module and add its class here."""

from __future__ import annotations

from saccade.errors import ConfigError, lookup
from saccade.outside import find_factory, is_outside
from saccade.tasks.answering import Answering
from saccade.tasks.base import Task
from saccade.tasks.captioning import Captioning
from saccade.tasks.chat import Chat
from saccade.tasks.classification import Classification
from saccade.tasks.drawing import Drawing
from saccade.tasks.episodes import Episodes
from saccade.tasks.glimpses import Glimpses
from saccade.tasks.image_generation import ImageGeneration
from saccade.tasks.language import Language
from saccade.tasks.ordering import Ordering
from saccade.tasks.questions import Questions
from saccade.tasks.speech import Speech
from saccade.tasks.summarization import Summarization
from saccade.tasks.translation import Translation

__all__ = ["TASKS", "find_task"]

TASKS: dict[str, type[Task]] = {
    kind.name: kind
    for kind in (
        Translation,
        Language,
        Classification,
        Captioning,
        Summarization,
        Questions,
        Answering,
        Chat,
        Ordering,
        Episodes,
        Glimpses,
        Speech,
        ImageGeneration,
        Drawing,
    )
}


def find_task(name: str) -> type[Task]:
    """Return a task class by its name in TASKS, or by its import path, `package.module:Class`."""
    if not is_outside(name):
        return lookup("task", name, TASKS)
    found = find_factory("task", name)
    if not (isinstance(found, type) and issubclass(found, Task)):
        raise ConfigError(f"{name!r} is no task. Derive it from saccade.tasks.base.Task.")
    return found

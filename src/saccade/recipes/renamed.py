"""Old names of settings, which work for one release: a file, a base or --set is read as if it had the new ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from saccade.errors import ConfigError

if TYPE_CHECKING:
    from saccade.recipes import RecipeText

__all__ = ["RENAMED", "TASKS", "with_new_names"]

RENAMED = {
    "head": "classifier",
    "vectors": "embeddings",
    "embeddings.tune": "trainable",
    "data.names": "placeholders",
    "data.first_word": "alignment_base",
    "data.picture_size": "image_size",
    "data.picture_fit": "image_fit",
    "model.grid": "image_encoder",
    "model.decoder.start": "initial_state",
    "model.decoder.summary": "fixed_context",
    "model.init.forget": "forget_bias",
    "train.clip": "max_grad_norm",
    "train.agreement": "r_drop",
    "train.mirror": "horizontal_flip",
    "train.keep": "keep_checkpoints",
    "train.accelerator": "device",
    "train.graphs": "cuda_graphs",
    "search.batch": "batch_size",
}
"""The new last name of each renamed setting; sections come before their settings."""
_QUIET = {"train.accelerator"}
"""Old names without a warning, since model folders of version 3 have them."""
TASKS = {"language": "language-modeling"}
"""Renamed tasks."""
_VERSION = 3
"""The first version of recipes with the new names."""


def with_new_names(text: RecipeText) -> RecipeText:
    """Return a recipe with the new names; warn if it has old ones and does not say that its version is old."""
    settings, lines = text.settings, text.lines
    found: list[tuple[str, str]] = []
    for old, new in RENAMED.items():
        path = tuple(old.split("."))
        changed = _renamed(settings, path, new, text.where)
        if changed is not settings:
            settings, found = changed, [*found, (old, ".".join((*path[:-1], new)))]
            lines = {_moved(place, path, new): line for place, line in lines.items()}
    task = settings.get("task")
    if isinstance(task, str) and task in TASKS:
        settings, found = {**settings, "task": TASKS[task]}, [*found, (f"task {task}", TASKS[task])]
    version = settings.get("version")
    loud = [(old, new) for old, new in found if old not in _QUIET]
    if loud and not (isinstance(version, int) and version < _VERSION):
        listed = ", ".join(f"{old} is now {new}" for old, new in loud)
        warnings.warn(f"{text.where}: {listed}; the next release removes old names.", FutureWarning, stacklevel=2)
    return replace(text, settings=settings, lines=lines) if found else text


def _renamed(settings: dict[str, Any], path: tuple[str, ...], new: str, where: str) -> dict[str, Any]:
    """Rename the key at `path`; return the same dictionary if there is none."""
    name, below = path[0], settings.get(path[0])
    if len(path) > 1:
        changed = _renamed(below, path[1:], new, where) if isinstance(below, dict) else below
        return settings if changed is below else {**settings, name: changed}
    if name not in settings:
        return settings
    if new in settings:
        raise ConfigError(f"{where} sets {name} and {new}, but {name} is the old name of {new}. Leave {name} out.")
    return {new if key == name else key: value for key, value in settings.items()}


def _moved(place: tuple[str, ...], path: tuple[str, ...], new: str) -> tuple[str, ...]:
    """Return the new place of a setting if it is at `path` or below."""
    return (*path[:-1], new, *place[len(path) :]) if place[: len(path)] == path else place

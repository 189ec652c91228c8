"""Model folders: recipe.yaml, tokenizer.json and model.safetensors; no pickle.

SHA256SUMS has their checksums; a file that does not match is refused. Folders of older versions, without SHA256SUMS,
are loaded unchecked.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch

from saccade import checksums
from saccade.data.tokenizer import Tokenizers
from saccade.errors import UPGRADE, CheckpointError, ConfigError, SaccadeError
from saccade.models.size import WithoutValues
from saccade.recipes import read_yaml, to_yaml
from saccade.recipes.schema import Recipe
from saccade.recipes.versions import VERSION
from saccade.runs.recipe import parse_recipe
from saccade.tasks.base import Task
from saccade.tasks.table import find_task
from saccade.train.checkpoint import COPY_AGAIN, Tensors, read_notes, read_weights, restore_weights, write_weights

__all__ = [
    "build_task",
    "describe_task",
    "load_task",
    "read_folder_recipe",
    "read_tokenizers",
    "stored_weights",
    "write_description",
    "write_model",
]

_TOKENIZER = "tokenizer"
_SMALL = 64 << 20
"""Bytes that a model may take beyond 4 times the size of its weights file."""


def build_task(recipe: Recipe, tokenizers: Tokenizers, *, room: int | None = None) -> Task:
    """Build the task of a recipe with an untrained model; `room`: see `Task`."""
    task = find_task(recipe.task)(recipe, tokenizers, room=room)
    task.open_companion = load_task
    return task


def write_description(folder: Path, recipe: Recipe, tokenizers: Tokenizers) -> None:
    """Write recipe and tokenizers to a model folder."""
    settings = recipe.dump()
    settings["data"]["cache"] = None  # a path of this machine; the folder may be copied elsewhere
    checksums.write_listed(folder / "recipe.yaml", to_yaml(settings))
    checksums.write_listed(folder / "tokenizer.json", tokenizers.dump())


def write_model(folder: Path, weights: Tensors, tokenizers: Tokenizers) -> None:
    """Write the weights of a model folder, with the fingerprint of their tokenizers."""
    write_weights(folder / "model.safetensors", weights, {_TOKENIZER: _fingerprint(tokenizers)})


def read_folder_recipe(folder: Path) -> Recipe:
    """Read the recipe that a model was trained with."""
    try:
        text = read_yaml(_part(folder, "recipe.yaml"))
    except ConfigError as error:
        raise CheckpointError(f"{folder} cannot be loaded: {error}") from error
    version = text.settings.get("version")
    if isinstance(version, int) and version > VERSION:
        raise CheckpointError(
            f"{folder} was written by a newer saccade (its recipe has version {version}, this one knows {VERSION}). "
            f"{UPGRADE}"
        )
    try:
        return parse_recipe(text)
    except ConfigError as error:
        raise CheckpointError(f"{folder} cannot be loaded: {error}") from error


def read_tokenizers(folder: Path) -> Tokenizers:
    """Read the tokenizers that a model was trained with."""
    return Tokenizers.open(_part(folder, "tokenizer.json"))


def stored_weights(folder: Path) -> Tensors:
    """Read the weights of a model folder."""
    return read_weights(_part(folder, "model.safetensors"))


def load_task(folder: Path) -> Task:
    """Load the task of a model folder with its trained model, on the CPU."""
    recipe = read_folder_recipe(folder)
    tokenizers = read_tokenizers(folder)
    _check_sides(recipe, tokenizers, folder)
    path = folder / "model.safetensors"
    if not path.exists():
        raise CheckpointError(
            f"{folder} has no model.safetensors yet: its training run has not reached a validation. If it was stopped, "
            f"run it again with --resume: saccade train {folder} --resume. If it was copied, copy it again."
        )
    weights = read_weights(path)
    task = _matching_task(recipe, tokenizers, weights, path)
    restore_weights(task.model, weights, str(path))
    if read_notes(path).get(_TOKENIZER, _fingerprint(tokenizers)) != _fingerprint(tokenizers):
        raise CheckpointError(
            f"the vocabulary does not match: {folder / 'tokenizer.json'} is not the tokenizer that {path.name} was "
            "trained with, though it has as many tokens. Copy both from the same model folder."
        )
    task.model.eval()
    return task


def describe_task(folder: Path) -> Task:
    """Load the task of a model folder with its model on the meta device, enough to count tokens and sizes."""
    recipe, tokenizers = read_folder_recipe(folder), read_tokenizers(folder)
    _check_sides(recipe, tokenizers, folder)
    try:
        with torch.device("meta"), WithoutValues():
            return build_task(recipe, tokenizers)
    except SaccadeError:
        raise
    except Exception:  # user code may read values, which meta tensors do not have
        return load_task(folder)


def _matching_task(recipe: Recipe, tokenizers: Tokenizers, weights: Tensors, path: Path) -> Task:
    """Build the untrained task of a folder; raise if the model would be far larger than its weights file."""
    stored = sum(tensor.nbytes for tensor in weights.values())
    try:
        return build_task(recipe, tokenizers, room=4 * stored + _SMALL)  # weights may be in half precision
    except ConfigError as error:
        raise CheckpointError(f"recipe.yaml and {path} do not belong together: {error}") from error


def _check_sides(recipe: Recipe, tokenizers: Tokenizers, folder: Path) -> None:
    """Raise if tokenizer.json lacks a part that the task needs."""
    for part in find_task(recipe.task).parts:
        if not getattr(tokenizers, part):
            raise CheckpointError(
                f"{folder / 'tokenizer.json'} has no {part}, which {recipe.task} needs, so it belongs to another "
                "model. Copy the model folder again."
            )


def _fingerprint(tokenizers: Tokenizers) -> str:
    return hashlib.sha256(tokenizers.dump().encode()).hexdigest()


def _part(folder: Path, name: str) -> Path:
    """Return the path of a required file in a model folder; raise if it is missing or damaged."""
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is not there, or not a folder. A model is the folder that saccade train made.")
    if not (folder / name).exists():
        raise CheckpointError(
            f"{folder} is not a model: it has no {name}. A model is the folder that saccade train made."
        )
    checksums.check(folder / name, COPY_AGAIN)
    return folder / name

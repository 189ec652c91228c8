"""Train a recipe: load its data, build its model and run the training loop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from saccade.data.batch_sampler import BatchSampler
from saccade.data.example import Example
from saccade.data.loader import Loader, TrainBatch, lengths_of
from saccade.data.tokenizer import Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.files import remove_drafts, write_atomically
from saccade.outside import copy_modules
from saccade.recipes.schema import Recipe
from saccade.runs.corpus import Corpus
from saccade.runs.fine_tuning import initial_tokenizers, take_over
from saccade.runs.folder import build_task, read_folder_recipe, read_tokenizers, write_description, write_model
from saccade.runs.recipe import rooted
from saccade.runs.strip import add_to_strip
from saccade.tasks.base import Task
from saccade.train.accelerators import first_process
from saccade.train.checkpoint import Tensors, latest
from saccade.train.lock import locked
from saccade.train.log import TrainingCallback
from saccade.train.loop import Outcome, fit
from saccade.train.train_config import FREE_TO_CHANGE

__all__ = ["train"]


class TrainingJob:
    """Give the training loop a task and its data, through the methods of `Job`."""

    def __init__(self, task: Task, corpus: Corpus, folder: Path) -> None:
        recipe = task.recipe
        self.task, self.folder, self.model = task, folder, task.model
        self.objective = task.objective()
        self.width = int(recipe.model.get("width") or recipe.model.get("embedding") or 1)
        self._train = corpus.store("train", task)
        links = self._train.columns.get("links")
        if links is not None and not len(links.values):
            raise ConfigError(
                "objective.guided_alignment is set, but the training data have no alignments. Name a third file with "
                "them in data.train, or leave it out."
            )
        self._examples: list[Example] = list(corpus.examples("valid"))
        if not self._examples:
            raise DataError(
                "there is nothing to validate on: one of every 50 training examples is set aside, but there are fewer. "
                "Name data.valid, or bring more."
            )
        self._valid = corpus.store("valid", task)

    def loader(self, rank: int, ranks: int, *, rounded: bool) -> Loader:
        train = self.task.recipe.train
        lengths, room = lengths_of(self._train), self.task.room
        mixed = any(feature.mixed for feature in self._train.features)
        plan = BatchSampler(
            lengths,
            train.tokens_per_batch,
            train.seed,
            rounded=rounded,
            room=room,
            mixed=mixed,
            examples=train.examples_per_batch,
        )
        return Loader(self._train, plan, rank, ranks, count=self.objective.count)

    def held_out(self) -> Iterator[TrainBatch]:
        plan = BatchSampler(lengths_of(self._valid), self.task.recipe.train.tokens_per_batch, shuffle=True)
        return Loader(self._valid, plan, count=self.objective.count).epoch()

    def measure(self) -> dict[str, Any]:
        recipe, found = self.task.recipe, {}
        if recipe.train.metric != "loss":
            found = self.task.evaluate(self._examples, recipe.search).metrics
        numbers, notes = self.task.health(self._examples)
        if (image := self.task.progress_image()) is not None:
            add_to_strip(self.folder / "samples", self.objective.step, image)
        return {**found, **numbers, **({"notes": notes} if numbers else {})}

    def facts(self) -> dict[str, Any]:
        counts = self._train.about
        sides = {name: self.task.tokenizers.__dict__[name] for name in ("source", "target")}
        vocabulary = {name: len(tokenizer) for name, tokenizer in sides.items() if tokenizer is not None}
        left_out = {name: counts[name] for name in ("empty", "too_long") if counts[name]}
        return {
            **self.task.facts(),
            "examples": len(self._train),
            "left_out": left_out,
            "vocabulary": vocabulary,
            "device": str(self.task.device),
        }

    def export(self, weights: Tensors) -> None:
        write_model(self.folder, weights, self.task.tokenizers)


def train(recipe: Recipe, folder: Path, *, resume: bool = False, watcher: TrainingCallback | None = None) -> Outcome:
    """Train a recipe; `folder` becomes the model folder.

    If the folder already holds a training run, pass `resume` to continue it; without `resume`, raise ConfigError. Only
    one run at a time can write to a folder.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file, but a model is a folder. Choose another --out.")
    with _held(folder) as first:
        return _train(rooted(recipe, Path()), folder, resume, watcher, first)


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Lock the folder in the first process; yield whether this process is the first.

    The first process also removes the partial files of killed runs. The others do not touch the folder here.
    """
    if not first_process():
        yield False
        return
    with locked(folder):
        for place in (folder, folder / "checkpoints"):
            remove_drafts(place)
        yield True


def _train(recipe: Recipe, folder: Path, resume: bool, watcher: TrainingCallback | None, first: bool) -> Outcome:
    _check_folder(recipe, folder, resume)
    corpus = Corpus(recipe)
    tokenizers = _tokenizers(recipe, corpus, folder, resume)
    torch.manual_seed(recipe.train.seed)
    task = build_task(recipe, tokenizers)
    task.begin()
    begun = resume and latest(folder / "checkpoints") is not None
    if recipe.init_from.model is not None and not begun:
        notes = take_over(task.model, Path(recipe.init_from.model))  # in every process
        if first and watcher is not None:
            for note in notes:
                watcher.note(note)
    job = TrainingJob(task, corpus, folder)
    if first:
        write_description(folder, recipe, tokenizers)
        copy_modules(folder)
    return fit(job, recipe.train, folder, resume=resume, watcher=watcher)


def _tokenizers(recipe: Recipe, corpus: Corpus, folder: Path, resume: bool) -> Tokenizers:
    """Return the tokenizers of a run: those of the model to start from, or learned from the training data."""
    if recipe.init_from.model is not None:
        if resume and (folder / "tokenizer.json").exists():
            return read_tokenizers(folder)
        return initial_tokenizers(recipe, lambda: corpus.examples("train"))
    tokenizers = corpus.tokenizers()
    if resume:
        _check_tokenizers(folder, tokenizers)
    return tokenizers


def _check_tokenizers(folder: Path, tokenizers: Tokenizers) -> None:
    """Raise ConfigError if the tokenizers differ from those in the folder.

    The model learned what each token id means. With other tokenizers, the same ids would stand for other tokens.
    """
    if latest(folder / "checkpoints") is None or not (folder / "tokenizer.json").exists():
        return
    if read_tokenizers(folder).dump() != tokenizers.dump():
        raise ConfigError(
            f"the training data are not those that {folder} was started with: the tokenizer learned from them now is "
            "different. Restore the data to continue the run, or start a new one in another --out."
        )


def write_report(folder: Path, report: dict[str, Any], name: str = "report") -> None:
    """Write report.json, or a report of another name."""
    write_atomically(folder / f"{name}.json", json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def _check_folder(recipe: Recipe, folder: Path, resume: bool) -> None:
    begun = latest(folder / "checkpoints")
    if not resume:
        if begun is not None or (folder / "model.safetensors").exists():
            raise ConfigError(
                f"{folder} already holds a trained model. Continue it with --resume, or choose another --out."
            )
        return
    if not (folder / "recipe.yaml").exists():
        return
    changes = list(_differences(read_folder_recipe(folder).dump(), recipe.dump()))
    if changes and (begun is not None or (folder / "model.safetensors").exists()):
        listed = "\n".join(f"- {name}: was {was!r}, is {now!r}" for name, was, now in changes)
        raise ConfigError(
            f"the recipe is not the one that {folder} was started with:\n{listed}\nRestore these to continue the run, "
            "or start a new one in another --out. Only how long, where and how often to log may change."
        )


def _differences(was: Any, now: Any, path: tuple[str, ...] = ()) -> Any:
    if isinstance(was, dict) and isinstance(now, dict):
        for name in [*was, *(name for name in now if name not in was)]:
            yield from _differences(was.get(name), now.get(name), (*path, name))
    elif was != now and not _may_change(path):
        yield ".".join(path), was, now


def _may_change(path: tuple[str, ...]) -> bool:
    """Return whether a setting may change on resume.

    A setting may change if it does not affect the steps already done.
    """
    return (
        (path[0] == "train" and path[1] in FREE_TO_CHANGE)
        or path[0] in ("search", "note", "takes", "examples")
        or path in (("data", "cache"), ("data", "folder"))  # other data would have another tokenizer
    )

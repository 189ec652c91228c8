"""Corpus: the examples that a recipe names, the tokenizers learned from them, and their tokenized stores."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import saccade
from saccade import corpora
from saccade.corpora import CORPORA
from saccade.data.captions import by_picture
from saccade.data.example import Example
from saccade.data.hub import hub
from saccade.data.image_store import ImageStore
from saccade.data.store import Store, fingerprint
from saccade.data.text import stem_suffix
from saccade.data.tokenizer import Tokenizers
from saccade.errors import ConfigError, DataError
from saccade.files import default_cache, file_error, write_atomically, writing_folder
from saccade.recipes.schema import Recipe
from saccade.tasks.base import Task
from saccade.tasks.table import find_task

__all__ = ["Corpus"]

_EVERY = 50
"""Without validation files, one of this many training examples is held out for validation, up to `held_out`."""


class Corpus:
    """The data of a recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._data = recipe, recipe.data
        self.cache = Path(self._data.cache) if self._data.cache else default_cache()
        self._task = find_task(recipe.task)
        self._form = self._task.form
        self._kept: dict[str, list[Example]] = {}

    def examples(self, split: str) -> Iterator[Example]:
        """Yield the raw examples of train, valid or test."""
        data = self._data
        if data.corpus is not None and not CORPORA[data.corpus].files:
            return self._in_memory(split)
        if data.corpus is not None:
            folder = self._built_in(split)
            return self._form.read([folder / name for name in CORPORA[data.corpus].files])
        if data.hub is not None:
            return hub(data.hub, data.hub_config, _hub_split(split), data.columns, first_word=data.alignment_base)
        return self._from_files(split)

    def _in_memory(self, split: str) -> Iterator[Example]:
        """Return generated examples, kept in memory: they are small, and training reads them three times."""
        if split not in self._kept:
            self._kept[split] = list(self._generated(split))
        return iter(self._kept[split])

    def _generated(self, split: str) -> Iterator[Example]:
        data = self._data
        corpus, (low, high) = CORPORA[str(data.corpus)], data.lengths
        size = data.size if split == "train" else data.held_out
        return corpus.generate(split, size, data.seed, min_length=low, max_length=high, **corpus.options(data))

    def images(self, split: str) -> ImageStore:
        """Return the images of a split, resized and cached, in the order of `by_picture`."""
        pictures = [next(group)[1].image for _, group in groupby(by_picture(self.examples(split)), itemgetter(0))]
        # generated scenes depend only on code and settings; image files are checked one by one for changes
        key = fingerprint(self._origin(split)) if self._data.corpus is not None else None
        size, how = self._data.image_size, self._data.image_fit
        store = ImageStore.open(self.cache, [part for part in pictures if part is not None], size, how, key=key)
        if store.skipped.note is not None:
            logging.getLogger("saccade").warning("%s data: %s", split, store.skipped.note)
        return store

    def _built_in(self, split: str) -> Path:
        """Return the cache folder of a built-in corpus, written once: reading is much faster than generating."""
        data = self._data
        corpus, size = CORPORA[str(data.corpus)], data.size if split == "train" else data.held_out
        key = [data.corpus, split, size, data.seed, *data.lengths, *corpus.options(data).values()]
        folder = self.cache / fingerprint("corpus", _grammar(), *key)
        if not folder.exists():
            with writing_folder(folder, replace=False) as draft:
                corpus.form.write(self._generated(split), draft, "text", corpus.sides)
        return folder

    def _from_files(self, split: str) -> Iterator[Example]:
        data = self._data
        if split == "test" and data.test is None:
            raise ConfigError("the recipe names no test data. Set data.test, or name files after the model folder.")
        if data.valid is None and split != "test":
            return self._set_aside(split)
        return self.read(data.paths(split))

    def read(self, paths: list[Path]) -> Iterator[Example]:
        """Yield the examples of any files, read with the recipe's data settings."""
        keys = self._data.columns or None
        if keys is not None and stem_suffix(paths[0]) not in self._form.whole_files:
            known = ", ".join((*self._form.whole_files, "the Hub"))
            raise ConfigError(f"data.columns is for {known}, but {paths[0]} is none of them. Leave it out.")
        return self._form.read(paths, keys=keys, first_word=self._data.alignment_base)

    def _set_aside(self, split: str) -> Iterator[Example]:
        """Yield the training examples held out for validation, or the rest; an image keeps all its captions."""
        wanted = split == "valid"
        examples = self.read(self._data.paths("train"))
        for number, example in self._form.numbered(examples):
            aside = number % _EVERY == _EVERY - 1 and number // _EVERY < self._data.held_out
            if aside == wanted:
                yield example

    def tokenizers(self) -> Tokenizers:
        """Return the tokenizers learned from the training examples, from the cache if possible."""
        recipe = self._recipe
        key = fingerprint("tokenizer", recipe.task, self._origin("train"), recipe.tokenizer.model_dump())
        path = self.cache / f"{key}.json"
        if path.exists():
            return Tokenizers.open(path)
        made = self._task.learn_tokenizers(recipe.tokenizer, lambda: self.examples("train"))
        write_atomically(path, made.dump())
        return made

    def store(self, split: str, task: Task) -> Store:
        """Return the tokenized examples of a split in a task's format, from the cache if nothing changed."""
        recipe = self._recipe
        # max_length applies to training only; validation and test keep long examples
        longest = min(recipe.data.max_length if split == "train" else 10**9, (task.room or 10**9) - 1)
        features = task.features(_Part(split, self))
        origin, how = self._origin(split), [feature.fingerprint() for feature in features]
        key = fingerprint(recipe.task, split, origin, task.tokenizers.dump(), longest, how)
        examples: Iterable[Example] = self.examples(split)
        for feature in features:
            examples = feature.keep(examples)
        return Store.open(self.cache, key, examples, features, longest, task.batch)

    def _origin(self, split: str) -> list[Any]:
        """Return a cache key for the data: settings, and files with their sizes and modification times."""
        data = self._data.model_dump(exclude={"cache", "max_length"})
        files = [path for part in (split, "train") for path in self._data.paths(part)]
        if self._data.corpus is not None:
            kept = CORPORA[self._data.corpus].files
            return [self._built_in(split).name] if kept else [_grammar(), split, data]
        return [saccade.__version__, split, data, [_stamp(path) for path in files]]


class _Part(NamedTuple):
    """A split, as `Task.features` takes it."""

    name: str
    corpus: Corpus

    def images(self) -> ImageStore:
        return self.corpus.images(self.name)


@cache
def _grammar() -> str:
    """Return a fingerprint of the code that generates the built-in corpora."""
    programs = sorted(Path(corpora.__file__).parent.rglob("*.py"))
    return fingerprint([[path.name, path.read_text(encoding="utf-8")] for path in programs])


def _stamp(path: Path) -> list[Any]:
    """Return path, size and modification time; raise unless it is a file or a folder, which can be read again.

    A folder has the size and the latest time of what lies directly in it.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise file_error(error, path) from error
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise DataError(f"{path} is a device or a pipe, but training reads its data several times. Use a file.")
    if not stat.S_ISDIR(status.st_mode):
        return [str(path.resolve()), status.st_size, status.st_mtime_ns]
    inside = [entry.stat() for entry in os.scandir(path)]  # a folder's own time does not change with its files
    latest = max((one.st_mtime_ns for one in inside), default=0)
    return [str(path.resolve()), len(inside), sum(one.st_size for one in inside), latest]


def _hub_split(split: str) -> str:
    return "validation" if split == "valid" else split

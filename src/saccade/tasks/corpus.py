"""Corpus: the examples a recipe names, the tokenizers learned from them, and their tokenised stores."""

from __future__ import annotations

import logging
import stat
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

import saccade
from saccade.data import corpora
from saccade.data.captions import by_picture
from saccade.data.corpora import CORPORA
from saccade.data.corpora.scenes import SMALLEST, scenes
from saccade.data.example import Example
from saccade.data.formats import examples as read_files
from saccade.data.hub import hub
from saccade.data.image_store import ImageStore
from saccade.data.store import Store, fingerprint
from saccade.data.text import stem_suffix
from saccade.data.tokenizer import Tokenizer, Tokenizers
from saccade.data.write import write_pairs, write_text
from saccade.errors import ConfigError, DataError
from saccade.files import default_cache, explain, write_atomically, writing_folder
from saccade.tasks.recipe import Recipe

__all__ = ["Corpus"]

_EVERY = 50
"""Of files without a validation part, every so many-th training example is set aside, up to `held_out` of them."""


class Corpus:
    """The data of a recipe."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._data = recipe, recipe.data
        self.cache = Path(self._data.cache) if self._data.cache else default_cache()
        self._kept: dict[str, list[Example]] = {}

    def examples(self, split: str) -> Iterator[Example]:
        """The examples of train, valid or test, as they stand in the data."""
        data = self._data
        if data.corpus is not None and self._recipe.task == "captioning":
            return self._scenes(split)
        if data.corpus is not None:
            names = ("text.en", "text.fr", "text.align") if self._recipe.task == "translation" else ("text.en",)
            folder = self._built_in(split)
            return read_files(self._recipe.task, [folder / name for name in names])
        if data.hub is not None:
            return hub(data.hub, data.hub_config, _hub_split(split), data.columns, first_word=data.first_word)
        return self._from_files(split)

    def _scenes(self, split: str) -> Iterator[Example]:
        """Scenes are small until they are drawn, so they are kept, not written: who asks goes through them thrice."""
        if split not in self._kept:
            self._kept[split] = list(self._composed(split))
        return iter(self._kept[split])

    def _composed(self, split: str) -> Iterator[Example]:
        data = self._data
        low, high = data.lengths
        size = data.size if split == "train" else data.held_out
        options = {"canvas": max(SMALLEST, data.picture_size), "captions": data.captions}
        return scenes(split, size, data.seed, min_length=low, max_length=high, **options)

    def images(self, split: str) -> ImageStore:
        """The pictures of a split, prepared once and kept in the cache; by their numbers, see `by_picture`."""
        pictures = [next(group)[1].image for _, group in groupby(by_picture(self.examples(split)), itemgetter(0))]
        # scenes change with their program alone; files are asked one by one, since any may have been mended
        key = fingerprint(self._origin(split)) if self._data.corpus is not None else None
        size, how = self._data.picture_size, self._data.picture_fit
        store = ImageStore.open(self.cache, [part for part in pictures if part is not None], size, how, key=key)
        if store.skipped.note is not None:
            logging.getLogger("saccade").warning("%s data: %s", split, store.skipped.note)
        return store

    def _built_in(self, split: str) -> Path:
        """The folder with the sentences of a built-in corpus; written once, since reading is much faster."""
        data = self._data
        corpus, (low, high) = CORPORA[str(data.corpus)], data.lengths
        size = data.size if split == "train" else data.held_out

        def generate(count: int) -> Iterator[Example]:
            return corpus.generate(split, count, data.seed, min_length=low, max_length=high)

        folder = self.cache / fingerprint("corpus", _grammar(), data.corpus, split, size, data.seed, low, high)
        if not folder.exists():
            with writing_folder(folder, replace=False) as draft:
                (write_pairs if len(corpus.sides) == 2 else write_text)(generate(size), draft, "text")
        return folder

    def _from_files(self, split: str) -> Iterator[Example]:
        data = self._data
        if split == "test" and data.test is None:
            raise ConfigError("the recipe names no test data. Set data.test, or name files after the model folder.")
        if data.valid is None and split != "test":
            return self._set_aside(split)
        return self.read(data.paths(split))

    def read(self, paths: list[Path]) -> Iterator[Example]:
        """The examples of any files, read as those of the recipe are."""
        keys = self._data.columns or None
        if keys is not None and stem_suffix(paths[0]) not in (".jsonl", ".json"):
            raise ConfigError(f"data.columns is for .jsonl files and the Hub, but {paths[0]} is neither. Leave it out.")
        return read_files(self._recipe.task, paths, keys=keys, first_word=self._data.first_word)

    def _set_aside(self, split: str) -> Iterator[Example]:
        """The part of the training files that is validated on, or the rest; pictures go with all their captions."""
        wanted = split == "valid"
        examples = self.read(self._data.paths("train"))
        for number, example in by_picture(examples) if self._recipe.task == "captioning" else enumerate(examples):
            aside = number % _EVERY == _EVERY - 1 and number // _EVERY < self._data.held_out
            if aside == wanted:
                yield example

    def tokenizers(self) -> Tokenizers:
        """The tokenizers learned from the training examples, made once and kept in the cache."""
        recipe = self._recipe
        key = fingerprint("tokenizer", recipe.task, self._origin("train"), recipe.tokenizer.model_dump())
        path = self.cache / f"{key}.json"
        if path.exists():
            return Tokenizers.open(path)
        made = self._learn()
        write_atomically(path, made.dump())
        return made

    def _learn(self) -> Tokenizers:
        recipe, config = self._recipe, self._recipe.tokenizer
        if recipe.task == "translation" and not config.shared:
            return Tokenizers(
                Tokenizer.train(config, self._texts("source"), "source"),
                Tokenizer.train(config, self._texts("target"), "target"),
            )
        if recipe.task in ("language", "captioning"):
            return Tokenizers(None, Tokenizer.train(config, self._texts("target"), "text"))
        sides = ("source", "target") if recipe.task == "translation" else ("source",)
        both = Tokenizer.train(config, self._texts(*sides), "source and target" if len(sides) > 1 else "text")
        if recipe.task == "translation":
            return Tokenizers(both, both)
        labels = sorted({example.label for example in self.examples("train") if example.label is not None})
        return replace(Tokenizers(both, None), labels=labels)

    def _texts(self, *sides: str) -> Iterator[str]:
        for example in self.examples("train"):
            for side in sides:
                yield getattr(example, side) or ""

    def store(self, split: str, tokenizers: Tokenizers, *, links: bool = False, room: int | None = None) -> Store:
        """The tokenised examples of a split, from the cache if nothing changed; `room`: the most tokens of a side."""
        recipe = self._recipe
        # what is measured is measured whole; only training leaves long examples out
        longest = min(recipe.data.max_length if split == "train" else 10**9, (room or 10**9) - 1)
        key = fingerprint(recipe.task, split, self._origin(split), tokenizers.dump(), longest, links)
        if recipe.task == "captioning":
            return self._captions(split, key, tokenizers, longest)
        return Store.open(
            self.cache, key, self.examples(split), tokenizers, tokenizers.labels, max_length=longest, links=links
        )

    def _captions(self, split: str, key: str, tokenizers: Tokenizers, longest: int) -> Store:
        images = self.images(split)
        whole = images.whole
        seen = [(number, example) for number, example in by_picture(self.examples(split)) if whole[number]]
        numbers = [number for number, _ in seen]
        key = fingerprint(key, images.size, images.how, np.packbits(whole).tobytes().hex())
        captions = (example for _, example in seen)
        store = Store.open(self.cache, key, captions, tokenizers, max_length=longest, pictures=numbers)
        store.images = images
        return store

    def _origin(self, split: str) -> list[Any]:
        """What tells one state of the data from another: settings, and files with their sizes and times."""
        data = self._data.model_dump(exclude={"cache", "max_length"})
        files = [path for part in (split, "train") for path in self._data.paths(part)]
        if self._data.corpus is not None and self._recipe.task == "captioning":
            return [_grammar(), split, data]
        if self._data.corpus is not None:
            return [self._built_in(split).name]
        return [saccade.__version__, split, data, [_stamp(path) for path in files]]


@cache
def _grammar() -> str:
    """What changes whenever the program that writes the built-in corpora does."""
    programs = sorted(Path(corpora.__file__).parent.rglob("*.py"))
    return fingerprint([[path.name, path.read_text(encoding="utf-8")] for path in programs])


def _stamp(path: Path) -> list[Any]:
    """What tells one state of a file from another. It has to be a file, or a folder of pictures: it is read again."""
    try:
        status = path.stat()
    except OSError as error:
        raise explain(error, path) from error
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise DataError(f"{path} is a device or a pipe, but training reads its data several times. Use a file.")
    return [str(path.resolve()), status.st_size, status.st_mtime_ns]


def _hub_split(split: str) -> str:
    return "validation" if split == "valid" else split

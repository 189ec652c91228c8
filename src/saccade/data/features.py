"""Features: how a part of an example is stored as a column of numbers, and padded into fields of a Batch.

A kind of data is a list of features. `Store` writes their columns, and `collate` merges their fields into a Batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.batch import BOS, EOS, NO_LABEL, PAD, UNK
from saccade.data.batch_sampler import Rows
from saccade.data.example import Example, Links
from saccade.data.open_vocabulary import OpenVocabulary, padded_copies
from saccade.data.store import Column, Numbered
from saccade.data.tokenizer import Encoded, Tokenizer, Tokenizers
from saccade.errors import DataError

__all__ = ["CopyFeature", "Feature", "LabelFeature", "LinkFeature", "TokenFeature", "text_features", "texts_of"]


class Feature(ABC):
    """One column of a store. A subclass encodes examples as rows of numbers, and collates rows to fields of a Batch."""

    name: str
    """Name of the column."""
    dtype: Any = np.int32
    """Type of the stored numbers."""
    sized: ClassVar[bool] = False
    """Whether the lengths of its rows count for batching and for dropping long examples."""
    width: int = 1
    """Stored numbers per position of a row."""
    mixed: ClassVar[bool] = False
    """Whether batches must mix examples of all lengths."""

    def keep(self, examples: Iterable[Example]) -> Iterable[Example]:
        """Return the usable examples, in order."""
        return examples

    @abstractmethod
    def encode(self, chunk: Sequence[Numbered]) -> Sequence[Any]:
        """Return a row of numbers for each example; the examples come with their numbers, from 1."""

    @abstractmethod
    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return the fields of a Batch for some rows, padded to `count` examples; the added ones have no targets.

        `positions` is the minimum length of a sized feature. `made` has the fields of the features before this one.
        """

    def lengths(self, column: Column) -> NDArray[np.int32]:
        """Return the number of positions in each row, which batching uses."""
        return column.lengths // self.width

    def fingerprint(self) -> Any:
        """Return plain data on all that the column depends on besides examples and tokenizers."""
        return self.name


class TokenFeature(Feature):
    """The tokens of a text: `source` or `target`, with a mask. Both end with EOS; a target begins with BOS."""

    sized = True

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name, self.tokenizer = name, tokenizer
        self.dtype = np.uint16 if len(tokenizer) <= 2**16 else np.int32

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return self.tokenizer.tokens(texts_of(chunk, self.name))

    def lengths(self, column: Column) -> NDArray[np.int32]:
        return column.lengths + 1

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        tokens, mask = _padded(column, rows, int(self.name == "target"), count, positions)
        return {self.name: tokens, f"{self.name}_mask": mask}


class CopyFeature(Feature):
    """The extended-vocabulary number of each source token; see `OpenVocabulary`."""

    name = "copies"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [vocabulary.copies for vocabulary in self.vocabularies(chunk)]

    def vocabularies(self, chunk: Sequence[Numbered]) -> Iterable[OpenVocabulary]:
        """Return the vocabulary of each example, extended by its source."""
        texts = texts_of(chunk, "source")
        tokens = self.tokenizer.tokens(texts)
        return (OpenVocabulary(self.tokenizer, *pair) for pair in zip(texts, tokens, strict=True))

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        return {
            "copies": padded_copies(
                [part.tolist() for part in np.split(values, np.cumsum(sizes)[:-1])], made["source_mask"]
            )
        }


class CopiedTarget(TokenFeature):
    """The target tokens; unknown words that occur in the source have their extended-vocabulary number."""

    def __init__(self, tokenizer: Tokenizer, copies: CopyFeature) -> None:
        super().__init__("target", tokenizer)
        self.copies = copies
        self.dtype = np.int32  # these numbers exceed the vocabulary

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        found = [list(tokens) for tokens in super().encode(chunk)]
        rows = [row for row, tokens in enumerate(found) if UNK in tokens]
        for row, vocabulary in zip(rows, self.copies.vocabularies([chunk[row] for row in rows]), strict=True):
            found[row] = vocabulary.encode(chunk[row][1].target or "").tokens
        return found

    def fingerprint(self) -> Any:
        return [self.name, "copied"]


class LabelFeature(Feature):
    """The class of an example."""

    name = "label"

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = classes

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        place = {name: [number] for number, name in enumerate(self.classes)}
        for number, example in chunk:
            if example.label is None or example.label not in place:
                known = ", ".join(self.classes)
                raise DataError(
                    f"example {number} has the label {example.label!r}. The training data have only: {known}."
                )
        return [place[str(example.label)] for _, example in chunk]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        known = torch.from_numpy(column.rows(rows)[0])
        return {"labels": torch.cat([known, known.new_full((count - len(rows),), NO_LABEL)])}


class LinkFeature(Feature):
    """Gold links between the words of source and target, as attention between their tokens: rows sum to 1 or 0."""

    name = "links"

    def __init__(self, tokenizers: Tokenizers) -> None:
        self.tokenizers = tokenizers

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        assert self.tokenizers.target is not None
        gold = [example.links or Links(frozenset()) for _, example in chunk]
        written = self.tokenizers.target.encode_all(texts_of(chunk, "target"))
        return [_token_links(*row) for row in zip(gold, self.sources(chunk), written, strict=True)]

    def sources(self, chunk: Sequence[Numbered]) -> Sequence[Encoded]:
        """Encode the sources, with words as the links count them."""
        assert self.tokenizers.source is not None
        return self.tokenizers.source.encode_all(texts_of(chunk, "source"))

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        shape = count, made["target"].shape[1] - 1, made["source"].shape[1]
        return {"links": _gold(column, rows, shape)}


def text_features(tokenizers: Tokenizers, *, links: bool = False, copies: bool = False) -> list[Feature]:
    """Return the features of texts: the sides that have a tokenizer, labels where there are classes, gold links.

    `copies`: whether the model copies source words, so that they need an extended vocabulary.
    """
    sides = {"source": tokenizers.source, "target": tokenizers.target}
    found: list[Feature] = [TokenFeature(name, side) for name, side in sides.items() if side is not None]
    if copies:
        assert tokenizers.target is not None
        copying = CopyFeature(tokenizers.target)
        found = [found[0], CopiedTarget(tokenizers.target, copying), copying]
    if tokenizers.labels is not None:
        found.append(LabelFeature(tokenizers.labels))
    return [*found, LinkFeature(tokenizers)] if links else found


def texts_of(chunk: Sequence[Numbered], side: str) -> list[str]:
    """Return one text of each example; raise DataError if an example lacks it."""
    texts = [getattr(example, side) for _, example in chunk]
    if None in texts:
        raise DataError(f"example {chunk[texts.index(None)][0]} has no {side}, which this task needs. Add it.")
    return texts


def _padded(column: Column, rows: Rows, begin: int, count: int, least: int) -> tuple[Tensor, Tensor]:
    """Return tokens and mask of `count` sentences, added ones empty, with `begin` tokens before the first word."""
    values, lengths = column.rows(rows)
    size = max(int(lengths.max()) + 1, least) + begin
    places = np.arange(size)
    tokens = np.full((count, size), PAD)
    tokens[: len(rows)][(places >= begin) & (places < begin + lengths[:, None])] = values
    tokens[np.arange(len(rows)), begin + lengths] = EOS
    tokens[len(rows) :, 0] = EOS
    if begin:
        tokens[:, 0] = BOS
    ends = np.zeros(count, np.int64)
    ends[: len(rows)] = begin + lengths
    mask = places <= ends[:, None]
    return torch.from_numpy(tokens), torch.from_numpy(mask)


def _gold(column: Column, rows: Rows, shape: tuple[int, int, int]) -> Tensor:
    values, lengths = column.rows(rows)
    pairs = values.reshape(-1, 2)
    sentence = np.repeat(np.arange(len(rows)), lengths // 2)
    gold = np.zeros(shape, np.float32)
    gold[sentence, pairs[:, 1], pairs[:, 0]] = 1.0
    return torch.from_numpy(gold / np.maximum(gold.sum(-1, keepdims=True), 1.0))


def _token_links(links: Links, source: Encoded, target: Encoded) -> list[int]:
    """Convert links between words to links between their tokens: s0, t0, s1, t1, …"""
    tokens: dict[int, list[int]] = {}
    for place, word in enumerate(source.words):
        tokens.setdefault(word, []).append(place)
    partners: dict[int, list[int]] = {}
    for s, t in links.sure:
        partners.setdefault(t, []).append(s)
    return [
        number
        for place, word in enumerate(target.words)
        for partner in partners.get(word, ())
        for token in tokens.get(partner, ())
        for number in (token, place)
    ]

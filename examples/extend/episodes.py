# %% [markdown]
# A custom few-shot task: from some labeled items and a query item, predict the query's label by attention to the items.
#
# Each episode assigns labels to classes anew: the next one has other classes, or the same under other letters. So a
# model cannot memorize labels; it must learn to compare. This one is a matching network (Vinyals et al., 2016). An
# episode is one example, so batches, checkpoints and resuming need nothing new.
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Attention, Tape, name_sites
from saccade.batch import Batch, read
from saccade.data.batch_sampler import Rows
from saccade.data.example import Example
from saccade.data.features import Feature, LabelFeature
from saccade.data.forms import Form
from saccade.data.store import Column, Numbered
from saccade.data.text import numbered
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.errors import DataError
from saccade.models.base import Classifying
from saccade.prediction import Side
from saccade.tasks.base import Split
from saccade.tasks.classification import Classification

LABELS = "ABC"
"""One label for each class of an episode."""
SHOTS = 3
"""Labeled items of each class in an episode."""
ROUNDS = 4
"""Episodes in which an item is the query."""
WIDTH = 4
"""Features of an item."""


# %% The data files: lines of `CLASS <tab> item`, with items such as `0.5,-1,2.25,0`.
#
# The index of an episode seeds its sampling, so a resumed run draws the same ones. An episode is a string such as
# `0.5,-1,2.25,0=B 1,0,0.5,1=A 0.5,-1,2,0=?`: training, `predict` and the server use the same format.
class Episodes(Form):
    title = "items of classes"

    def read(
        self,
        paths: Sequence[Path],
        *,
        columns: Sequence[str] | None = None,
        keys: Mapping[str, str] | None = None,
        first_word: int = 0,
    ) -> Iterator[Example]:
        classes: dict[str, list[str]] = {}
        for path in paths:
            for number, line in numbered(path):
                name, tab, item = line.partition("\t")
                if not tab:
                    raise DataError(f"{path}, line {number}: write a class, a tab and numbers with commas between.")
                classes.setdefault(name, []).append(item)
        least = min(map(len, classes.values()), default=0)
        if len(classes) < len(LABELS) or least <= SHOTS:
            raise DataError(
                f"{paths[0]} has {len(classes)} classes of {least} items or more, but episodes need "
                f"{len(LABELS)} classes of {SHOTS + 1}. Add some."
            )
        queries = [(name, place) for name, items in classes.items() for place in range(len(items))] * ROUNDS
        return (draw(classes, *query, number) for number, query in enumerate(queries))


def draw(classes: Mapping[str, Sequence[str]], name: str, place: int, number: int) -> Example:
    """Sample an episode whose query is one item of a class; `number` is the random seed."""
    generator = np.random.default_rng(number)
    others = [other for other in classes if other != name]
    among = [name, *(others[at] for at in generator.choice(len(others), len(LABELS) - 1, replace=False))]
    labels = dict(zip(among, generator.permutation(list(LABELS)).tolist(), strict=True))
    support = []
    for each, label in labels.items():
        items = [item for at, item in enumerate(classes[each]) if (each, at) != (name, place)]
        support += [f"{items[at]}={label}" for at in generator.choice(len(items), SHOTS, replace=False)]
    generator.shuffle(support)
    return Example(source=" ".join([*support, f"{classes[name][place]}=?"]), label=labels[name])


# %% How examples are stored and collated: vectors, with the query last, and labels.
def parsed(text: str) -> tuple[NDArray[np.float32], list[int]]:
    """Parse an episode to vectors (items, WIDTH) and the label of each item but the last, which is the query."""
    try:
        *support, query = [entry.rpartition("=") for entry in text.split()]
        vectors = np.array([part[0].split(",") for part in (*support, query)], np.float32)
        labels = [LABELS.index(label) for _, _, label in support]
    except ValueError:
        raise DataError(f"{text!r} is not an episode: write labeled items and a query, such as 1,0=A 0,1=?.") from None
    if not support or query[2] != "?" or vectors.shape[1:] != (WIDTH,) or not np.isfinite(vectors).all():
        raise DataError(f"{text!r} is not an episode: items have {WIDTH} numbers and a label; the last label is ?.")
    return vectors, labels


class Vectors(Feature):
    name, dtype, sized, width = "vectors", np.float32, True, WIDTH

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[Any]:
        return [parsed(example.source or "")[0].ravel() for _, example in chunk]

    def fingerprint(self) -> Any:
        return [self.name, LABELS, SHOTS, ROUNDS, WIDTH]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        return side_by_side(np.split(values.reshape(-1, WIDTH), np.cumsum(sizes // WIDTH)[:-1]), count, positions)


class GivenLabels(Feature):
    name = "given"

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[Any]:
        return [parsed(example.source or "")[1] for _, example in chunk]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        return {"given": padded_labels(np.split(values, np.cumsum(sizes)[:-1]), made["source_mask"])}


@pytree.node
class EpisodeBatch(Batch):
    """source (B, S, WIDTH): the labeled items, given (B, S): their labels, query (B, 1, WIDTH)."""

    given: Tensor | None = read("source")
    query: Tensor | None = read()


def side_by_side(parts: Sequence[NDArray[np.float32]], count: int, positions: int = 0) -> dict[str, Tensor]:
    source = np.zeros((count, max(positions, *map(len, parts)) - 1, WIDTH), np.float32)
    query, mask = np.zeros((count, 1, WIDTH), np.float32), np.zeros(source.shape[:2], bool)
    mask[len(parts) :, 0] = True  # a padding row has one unmasked item of zeros
    for row, part in enumerate(parts):
        source[row, : len(part) - 1], query[row], mask[row, : len(part) - 1] = part[:-1], part[-1:], True
    made = {"source": source, "source_mask": mask, "query": query}
    return {name: torch.from_numpy(value) for name, value in made.items()}


def padded_labels(rows: Sequence[Sequence[int]], mask: Tensor) -> Tensor:
    given = torch.zeros(mask.shape, dtype=torch.int64)
    for row, labels in enumerate(rows):
        given[row, : len(labels)] = torch.as_tensor(labels)
    return given


# %% The model: the query attends to the items; the values are their one-hot labels.
class Matching(Classifying):
    """p(label) = Σ a[s] over the items with that label; a = attention from the query's embedding to the items'."""

    def __init__(self, attention: Attention, width: int) -> None:
        super().__init__()
        self.classes, self.attention = len(LABELS), attention
        self.embed = nn.Sequential(nn.Linear(WIDTH, width), nn.Tanh(), nn.Linear(width, width))
        name_sites(self)

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        labels = nn.functional.one_hot(batch.given, self.classes).to(batch.source.dtype)
        bank = self.attention.bank(self.embed(batch.source), labels, batch.source_mask)
        probabilities: Tensor = self.attention(self.embed(batch.query), bank, tape=tape).context[:, 0]
        return probabilities.clamp_min(1e-6).log()


# %% The task connects these classes.
class FewShot(Classification):
    name = "few-shot"
    form = Episodes()
    batch = EpisodeBatch
    head = None
    parts = ("labels",)
    takes_vectors = False

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, None, list(LABELS))

    def _build(self) -> Matching:
        settings = self.recipe.model_settings()
        return Matching(settings.attention.build(settings.embedding, settings.embedding), settings.embedding)

    def features(self, split: Split) -> list[Feature]:
        return [Vectors(), GivenLabels(), LabelFeature(self.labels)]

    def opened(self, given: str, **limits: Any) -> str:
        parsed(given)
        return given

    def length(self, given: str) -> int:
        return len(parsed(given)[0])

    def read(self, inputs: Sequence[str]) -> tuple[Batch, list[Side]]:
        vectors, labels = zip(*map(parsed, inputs), strict=True)
        made = side_by_side(vectors, len(vectors))
        items = [text.split()[:-1] for text in inputs]
        sides = [Side(each, each, list(range(len(each)))) for each in items]
        return EpisodeBatch(**made, given=padded_labels(labels, made["source_mask"])).to(self.device), sides

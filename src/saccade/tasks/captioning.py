"""Captioning: describe an image in a sentence, with attention from words to image regions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.batch import Batch
from saccade.corpora import CORPORA
from saccade.data.captions import by_picture
from saccade.data.example import Box, Example
from saccade.data.features import Feature, text_features
from saccade.data.forms import CAPTIONS
from saccade.data.image_feature import ImageFeature
from saccade.data.image_store import NAMED, Skipped
from saccade.data.pictures import fit, frame, open_picture
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.errors import ConfigError, DataError
from saccade.layers.grids import load_weights
from saccade.look.picture import Picture, data_address
from saccade.metrics import (
    CAPTION_METRICS,
    caption_statistics,
    caption_words,
    mass_inside,
    pointing_accuracy,
    pointing_statistics,
)
from saccade.models import build_head
from saccade.models.base import Seq2Seq
from saccade.models.captioning import GridEncoder
from saccade.prediction import AttentionMaps, Side
from saccade.search import SearchConfig
from saccade.tasks.base import Evaluation, Split, Statistics
from saccade.tasks.generation import GenerationTask, ModelInput
from saccade.tasks.inputs import IMAGE, Input, Opened, Pixels, name_of
from saccade.tasks.postprocess import texts_of
from saccade.tasks.tracing import plain_side
from saccade.trace import Side as TraceSide

__all__ = ["Captioning"]

_EXAMPLES = 4
_LONGEST = 40
"""Default maximum tokens of a caption."""


class Captioning(GenerationTask):
    """Image captioning. An input is the path of an image, the bytes of its file, or its pixels."""

    name = "captioning"
    reads = IMAGE
    form = CAPTIONS
    head = "captioner"
    parts = ("target",)
    metrics = ("cider_d", "bleu4", "rouge_l", "meteor_lite", "exact")
    offers = frozenset({"words to write", "attention to a source", "images to flip"})

    def sample_files(self) -> list[str]:
        data = self.recipe.data
        if data.corpus is None or find_spec("sklearn") is None:
            return []
        corpus = CORPORA[data.corpus]
        found = corpus.generate("test", _EXAMPLES, data.seed, **corpus.options(data) | {"captions": 1})
        return [data_address(example.image.load()) for example in found if example.image is not None]

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the image regions for attention."""
        return self._grid

    def _build(self) -> Seq2Seq:
        made: Seq2Seq = build_head(self.head, self.recipe.model_settings(), len(self.target))
        return made

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, Tokenizer.train(config, texts_of(examples(), "target"), "text"))

    def features(self, split: Split) -> list[Feature]:
        return [*text_features(self.tokenizers), ImageFeature(split.images())]

    def begin(self) -> None:
        grid = self.recipe.model["image_encoder"]
        if grid["weights"] is not None:
            load_weights(self._encoder.grid, Path(grid["weights"]))
        elif grid["frozen"] and grid["kind"].startswith("vgg"):
            raise ConfigError(
                f"model.image_encoder is a frozen {grid['kind']}, but it has no pretrained weights, so its features "
                "would be random. Set its weights to the published file, or its frozen to false, or its kind to small."
            )

    def length(self, given: Input) -> int:
        return 1

    def opened(self, given: Any, **limits: Any) -> Opened:
        return Opened(self.open(given, **limits), name_of(given))

    def check_installed(self) -> None:
        self.open(np.zeros((1, 2, 3), np.uint8))

    def positions(self, tokens: int) -> tuple[int, int]:
        rows, columns = self._grid
        return rows * columns, _LONGEST

    def given(self, example: Example) -> Opened:
        assert example.image is not None
        return Opened(self._fit(example.image.load()), None)

    def read(self, inputs: Sequence[Opened], *, sides: bool = True) -> ModelInput:
        pictures = torch.from_numpy(np.stack([given.value for given in inputs])).to(self.device)
        shown: list[dict[str, Side]] = [{"source": self._regions()}] * len(inputs) if sides else []
        return ModelInput(Batch(pictures=pictures), [1] * len(inputs), shown)

    def seen(self, given: Opened, sides: Mapping[str, Side]) -> dict[str, TraceSide]:
        # without folders: traces are shared, and a path may be private
        name = "an image" if given.name is None else Path(given.name).name
        picture = {"kind": "grid", "grid": list(self._grid), "image": data_address(given.value)}
        return {"source": plain_side(sides["source"], name).model_copy(update=picture)}

    def attention(
        self,
        given: Opened,
        sides: Mapping[str, Side],
        target: Side,
        weights: Mapping[str, NDArray[Any]],
        example: Example | None = None,
    ) -> AttentionMaps:
        record = super().attention(given, sides, target, weights)
        if not sides:  # without attention, the pixels are not needed
            return record
        boxes = () if example is None else self._boxes(example)
        return replace(record, picture=Picture(given.value, *self._grid, boxes))

    def open(self, given: Any, **limits: Any) -> Pixels:
        """Return the square that the model reads of an image; pixels of that size are not changed.

        `limits` are options of `open_picture`: the image's name in messages, the maximum bytes and pixels.
        """
        if isinstance(given, Opened):
            pixels: Pixels = given.value
            return pixels
        if isinstance(given, np.ndarray):
            return self._fit(given)
        return self._fit(open_picture(Path(given) if isinstance(given, str) else given, **limits))

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        groups, pictures = self._opened(examples)
        few = search.together(self.device, large=True)
        parts = (pictures[start : start + few] for start in range(0, len(pictures), few))
        predictions = [prediction for part in parts for prediction in self.predict(part, search)]
        texts = [prediction.text for prediction in predictions]
        references = [list(group[0].references or (group[0].target or "",)) for group in groups]
        statistics = {}
        for metric in ("cider_d", *(name for name in CAPTION_METRICS if name != "cider_d")):
            part = caption_statistics(metric, texts, references)
            statistics[metric] = Statistics(part.counts, part.score)
        right = [
            [float(caption_words(text) in map(caption_words, known)), 1.0]
            for text, known in zip(texts, references, strict=True)
        ]
        statistics["exact"] = Statistics(np.array(right), _share)
        details: dict[str, Any] = {"pictures": len(groups), "captions": len(examples)}
        if self.model.source_sites and any(example.boxes is not None for example in examples):
            self._point(groups, pictures, statistics)
        metrics = {name: part.value for name, part in statistics.items()}
        lengths = [len(words_of(known[0])) for known in references]
        every = {name: part for name, part in statistics.items() if len(part.counts) == len(groups)}
        return Evaluation(metrics, details, every, lengths, predictions)

    def _opened(self, examples: Sequence[Example]) -> tuple[list[list[Example]], list[Opened]]:
        """Group examples by image and open the images; skip unreadable ones and log a warning."""
        groups, pictures, faults = [], [], []
        every = [[example for _, example in group] for _, group in groupby(by_picture(examples), itemgetter(0))]
        for group in every:
            try:
                pictures.append(self.given(group[0]))
            except DataError as error:
                faults.append(str(error))
            else:
                groups.append(group)
        note = Skipped(len(faults), len(every), tuple(faults[:NAMED])).note
        if every and not groups:
            raise DataError(f"no image can be evaluated: {note}")
        if note is not None and note not in self._noted:  # warn once, not at every validation
            logging.getLogger("saccade").warning("evaluation data: %s", note)
            self._noted.add(note)
        return groups, pictures

    @cached_property
    def _noted(self) -> set[str]:
        return set()

    def _point(self, groups: list[list[Example]], pictures: list[Opened], statistics: dict[str, Statistics]) -> None:
        """Score attention against the boxes of words, under teacher forcing of the captions."""
        pairs = zip(groups, pictures, strict=True)
        examples, seen = zip(*((group[0], one) for group, one in pairs if group[0].boxes is not None), strict=True)
        found = self.attend(examples, seen)
        shape = (-1, *self._grid)
        maps = [attention.matrix()[: len(attention.target.words)].reshape(shape) for attention in found]
        boxes = [attention.picture.boxes for attention in found if attention.picture is not None]
        counts = pointing_statistics(maps, boxes)
        statistics["pointing"] = Statistics(counts, pointing_accuracy)
        statistics["mass_inside"] = Statistics(counts, mass_inside)

    def _boxes(self, example: Example) -> tuple[Box | None, ...]:
        """Return a caption's boxes, transformed to the square that the model reads; empty if it has none."""
        if example.boxes is None:
            return ()
        assert example.image is not None
        data = self.recipe.data
        inside = frame(example.image.load().shape, data.image_size, data.image_fit)
        return tuple(None if box is None else inside.box(box) for box in example.boxes)

    def _fit(self, picture: Pixels) -> Pixels:
        return fit(picture, self.recipe.data.image_size, self.recipe.data.image_fit)

    @cached_property
    def _grid(self) -> tuple[int, int]:
        size = self.recipe.data.image_size
        with torch.no_grad():
            return self._encoder.shape(size, size, next(self.model.parameters()))

    @property
    def _encoder(self) -> GridEncoder:
        return next(part for part in self.model.modules() if isinstance(part, GridEncoder))

    def _regions(self) -> Side:
        """Return the source side: the image regions, row by row."""
        rows, columns = self._grid
        names = [f"{row},{column}" for row in range(rows) for column in range(columns)]
        return Side(names, names, list(range(len(names))))


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / max(sums[1], 1.0))

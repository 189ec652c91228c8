"""Captioning: a picture in, a sentence out, and the region that each word came from."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.data.captions import by_picture
from saccade.data.example import Box, Example
from saccade.data.features import Feature, text_features
from saccade.data.forms import CAPTIONS
from saccade.data.image_feature import ImageFeature
from saccade.data.image_store import NAMED, Skipped
from saccade.data.pictures import fit, frame, open_picture
from saccade.data.tokenizer import Encoded, Tokenizer, TokenizerConfig, Tokenizers, words_of
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
from saccade.prediction import Attention, Prediction, Side
from saccade.search import Hypothesis, SearchConfig, Stop, decode
from saccade.tasks.base import Evaluation, Split, Statistics, Task
from saccade.tasks.inputs import IMAGE, Input, Opened, Pixels, name_of
from saccade.tasks.objectives import word_loss
from saccade.tasks.tracing import Wishes, begin, plain_side, trace_writing
from saccade.tasks.words import answers, read_side, texts_of, written_side
from saccade.trace import Trace
from saccade.train.objective import WordLoss

__all__ = ["Captioning"]

_LONGEST = 40
"""The most tokens of a caption, unless told otherwise."""


class Captioning(Task):
    """A model that looks at pictures. An input is the path of a picture, the bytes of its file, or its pixels."""

    name = "captioning"
    reads = IMAGE
    form = CAPTIONS
    head = "captioner"
    parts = ("target",)
    metrics = ("cider_d", "bleu4", "rouge_l", "meteor_lite", "exact")
    offers = frozenset({"words to write", "attention to a source", "images to mirror"})
    model: Seq2Seq

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the regions that are looked at."""
        return self._grid

    @property
    def target(self) -> Tokenizer:
        """The captions' tokenizer."""
        assert self.tokenizers.target is not None
        return self.tokenizers.target

    def _build(self) -> Seq2Seq:
        made: Seq2Seq = build_head(self.head, self.recipe.model_settings(), len(self.target))
        return made

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, Tokenizer.train(config, texts_of(examples(), "target"), "text"))

    def features(self, split: Split) -> list[Feature]:
        return [*text_features(self.tokenizers), ImageFeature(split.images())]

    def objective(self) -> WordLoss:
        return word_loss(self)

    def begin(self) -> None:
        grid = self.recipe.model["grid"]
        if grid["weights"] is not None:
            load_weights(self._eyes.grid, Path(grid["weights"]))
        elif grid["frozen"] and grid["kind"].startswith("vgg"):
            raise ConfigError(
                f"model.grid is a {grid['kind']} that stays as it is (frozen), but it has no weights and would see "
                "noise. Set grid.weights to the published file, or grid.frozen to false, or take grid.kind: small."
            )

    def length(self, given: Input) -> int:
        return 1

    def opened(self, given: Input, **limits: Any) -> Opened:
        return Opened(self.open(given, **limits), name_of(given))

    def check_installed(self) -> None:
        self.open(np.zeros((1, 2, 3), np.uint8))

    def positions(self, tokens: int) -> tuple[int, int]:
        rows, columns = self._grid
        return rows * columns, _LONGEST

    def predict(
        self,
        inputs: Sequence[Input | Opened],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
        stop: Stop | None = None,
    ) -> list[Prediction]:
        pictures = [self.open(given) for given in inputs]
        start = {} if prefix is None else {"prefix": [self.target.encode(prefix).tokens] * len(pictures)}
        found = self._search(pictures, search, attention=attention, stop=stop, **start)
        regions = self._regions()
        # where nobody looks, pixels would only be carried along
        shown = [Picture(pixels, *self._grid) if attention else None for pixels in pictures]
        return [
            answers(self.model, self.target, hypotheses, regions, name_of(given), picture, words=attention)
            for hypotheses, given, picture in zip(found, inputs, shown, strict=True)
        ]

    def open(self, given: Input | Opened, **limits: Any) -> Pixels:
        """The square that the model sees of a picture. Pixels of that size stay as they are.

        `limits` are those of `open_picture`: the picture's name in messages, the most bytes and pixels.
        """
        if isinstance(given, Opened):
            return given.pixels
        if isinstance(given, np.ndarray):
            return self._fit(given)
        return self._fit(open_picture(Path(given) if isinstance(given, str) else given, **limits))

    def _search(self, pictures: Sequence[Pixels], search: SearchConfig, **options: Any) -> list[list[Hypothesis]]:
        lengths = [search.max_length or _LONGEST] * len(pictures)
        return decode(self.model, self._seen(pictures), search, lengths=lengths, room=self.room, **options)

    def _seen(self, pictures: Sequence[Pixels]) -> Batch:
        return Batch(pictures=torch.from_numpy(np.stack(pictures)).to(self.device))

    def trace(self, given: Input, search: SearchConfig, wishes: Wishes, *, stop: Stop | None = None) -> Trace:
        pixels, regions = self.open(given), self._regions()
        steering = wishes.steering(self.model.source_sites, len(regions.tokens))
        limits: dict[str, Any] = {"attention": False, "beams": True, "steering": steering, "prefix": [wishes.force]}
        ((best, *_),) = self._search([pixels], search, stop=stop, **limits)
        # the name alone: a trace is made to be shown to others, whom it does not concern where the file lies
        name = Path(given).name if isinstance(given, str | Path) else "a picture"
        picture = {"kind": "grid", "grid": list(self._grid), "image": data_address(pixels)}
        side = plain_side(regions, name).model_copy(update=picture)
        target = written_side(self.target, best.tokens, ends=best.finished)
        source = self._seen([pixels]), side
        seen = trace_writing(self.model, self.target, best, source, target, steering, wishes)
        return Trace(**begin(self, wishes, search), **seen)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        groups, pictures = self._opened(examples)
        regions, few = self._regions(), search.together(self.device, large=True)
        predictions = [
            answers(self.model, self.target, hypotheses, regions, None)
            for start in range(0, len(pictures), few)
            for hypotheses in self._search(pictures[start : start + few], search, attention=True)
        ]
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

    def _opened(self, examples: Sequence[Example]) -> tuple[list[list[Example]], list[Pixels]]:
        """The captions of each picture, and the picture; those that cannot be opened are left out with a note."""
        groups, pictures, faults = [], [], []
        every = [[example for _, example in group] for _, group in groupby(by_picture(examples), itemgetter(0))]
        for group in every:
            try:
                pictures.append(self._prepared(group[0]))
            except DataError as error:
                faults.append(str(error))
            else:
                groups.append(group)
        note = Skipped(len(faults), len(every), tuple(faults[:NAMED])).note
        if every and not groups:
            raise DataError(f"none can be measured: {note}")
        if note is not None and note not in self._noted:  # validation comes again and again
            logging.getLogger("saccade").warning("measured data: %s", note)
            self._noted.add(note)
        return groups, pictures

    @cached_property
    def _noted(self) -> set[str]:
        return set()

    def _point(self, groups: list[list[Example]], pictures: list[Pixels], statistics: dict[str, Statistics]) -> None:
        """Attention against the regions words are about, the captions being forced on the decoder."""
        known = [
            (picture, group[0]) for group, picture in zip(groups, pictures, strict=True) if group[0].boxes is not None
        ]
        found = self._attend(known)
        shape = (-1, *self._grid)
        maps = [attention.matrix()[: len(attention.target.words)].reshape(shape) for attention in found]
        boxes = [attention.picture.boxes for attention in found if attention.picture is not None]
        counts = pointing_statistics(maps, boxes)
        statistics["pointing"] = Statistics(counts, pointing_accuracy)
        statistics["mass_inside"] = Statistics(counts, mass_inside)

    def attend(self, examples: Sequence[Example]) -> list[Attention]:
        """Where the model looks while it is made to write each example's caption, with the boxes that are known."""
        return self._attend([(self._prepared(example), example) for example in examples])

    @torch.no_grad()
    def _attend(self, known: Sequence[tuple[Pixels, Example]], batch_size: int = 64) -> list[Attention]:
        made: list[Attention] = []
        training = self.model.training
        self.model.eval()
        for start in range(0, len(known), batch_size):
            part = known[start : start + batch_size]
            encoded = self.target.encode_all([example.target or "" for _, example in part])
            words = Batch.of(targets=[row.tokens for row in encoded]).to(self.device)
            batch = replace(
                self._seen([pixels for pixels, _ in part]), target=words.target, target_mask=words.target_mask
            )
            tape = Tape(detach=True)
            self.model.force(batch, tape=tape)
            sites = {site: tape[site].float().cpu().numpy() for site in self.model.source_sites}
            made += [
                self._attention(*pair, row, {site: weights[number] for site, weights in sites.items()})
                for number, (pair, row) in enumerate(zip(part, encoded, strict=True))
            ]
        self.model.train(training)
        return made

    def _attention(
        self, pixels: Pixels, example: Example, caption: Encoded, sites: dict[str, NDArray[np.float32]]
    ) -> Attention:
        written = read_side(self.target, example.target or "", caption)
        cut = {site: weights[:, : len(written.tokens)] for site, weights in sites.items()}
        picture = Picture(pixels, *self._grid, self._boxes(example))
        return Attention(self._regions(), written, cut, tuple(self.model.source_sites), picture=picture)

    def _boxes(self, example: Example) -> tuple[Box | None, ...]:
        """A caption's boxes in the square that the model sees; none where nobody knows."""
        if example.boxes is None:
            return ()
        assert example.image is not None
        data = self.recipe.data
        inside = frame(example.image.load().shape, data.picture_size, data.picture_fit)
        return tuple(None if box is None else inside.box(box) for box in example.boxes)

    def _prepared(self, example: Example) -> Pixels:
        assert example.image is not None
        return self._fit(example.image.load())

    def _fit(self, picture: Pixels) -> Pixels:
        return fit(picture, self.recipe.data.picture_size, self.recipe.data.picture_fit)

    @cached_property
    def _grid(self) -> tuple[int, int]:
        """Rows and columns of the regions."""
        size = self.recipe.data.picture_size
        with torch.no_grad():
            return self._eyes.shape(size, size, next(self.model.parameters()))

    @property
    def _eyes(self) -> GridEncoder:
        return next(part for part in self.model.modules() if isinstance(part, GridEncoder))

    def _regions(self) -> Side:
        """What is looked at: regions in reading order."""
        rows, columns = self._grid
        names = [f"{row},{column}" for row in range(rows) for column in range(columns)]
        return Side(names, names, list(range(len(names))))


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / max(sums[1], 1.0))

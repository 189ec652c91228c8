"""Captioning: a picture in, a sentence out, and the region that each word came from."""

from __future__ import annotations

from collections.abc import Sequence
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
from saccade.data.pictures import fit, frame, normalise, open_picture
from saccade.data.tokenizer import Tokenizer, words_of
from saccade.errors import ConfigError, DataError
from saccade.layers.grids import load_weights
from saccade.metrics import CAPTION_METRICS, caption_statistics, mass_inside, pointing_accuracy, pointing_statistics
from saccade.models.base import Seq2Seq
from saccade.models.captioning import GridEncoder
from saccade.prediction import Prediction, Side
from saccade.search.settings import SearchConfig, find
from saccade.tasks.base import Evaluation, Statistics, Task
from saccade.tasks.inputs import Input, Pixels, name_of
from saccade.tasks.tracing import Wishes
from saccade.tasks.words import answers
from saccade.trace import Trace
from saccade.train.hard import HardLoss, learns_by_reward
from saccade.train.objective import WordLoss

__all__ = ["Captioning"]

_LONGEST = 40
"""The most tokens of a caption, unless told otherwise."""


class Captioning(Task):
    """A model that looks at pictures. An input is the path of a picture, the bytes of its file, or its pixels."""

    name = "captioning"
    reads = "picture"
    model: Seq2Seq
    longest_answer = _LONGEST

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
        made: Seq2Seq = self.recipe.model_settings().captioner(len(self.target))  # type: ignore[attr-defined]
        return made

    def objective(self) -> WordLoss:
        train = self.recipe.train
        options: dict[str, Any] = {
            "label_smoothing": train.label_smoothing,
            "word_dropout": train.word_dropout,
            "doubly_stochastic": train.doubly_stochastic,
        }
        if not learns_by_reward(self.model):
            return WordLoss(self.model, **options)
        reward = {
            "reinforce": train.reinforce,
            "entropy": train.reinforce_entropy,
            "expected": train.reinforce_expected,
        }
        return HardLoss(self.model, **reward, **options)

    def begin(self) -> None:
        weights = self.recipe.model["grid"]["weights"]
        if weights is not None:
            load_weights(self._eyes.grid, Path(weights))

    def length(self, given: Input) -> int:
        return 1

    def refusal(self, given: Input) -> str | None:
        try:
            self.open(given)
        except DataError as error:
            return str(error)
        return None

    def predict(
        self, inputs: Sequence[Input], search: SearchConfig, *, attention: bool = True, prefix: str | None = None
    ) -> list[Prediction]:
        pictures = np.stack([self.open(given) for given in inputs])
        names = [name_of(given) for given in inputs]
        return self._describe(pictures, names, search, attention=attention, prefix=prefix)

    def open(self, given: Input, **limits: Any) -> Pixels:
        """The square that the model sees of a picture. Pixels of that size stay as they are.

        `limits` are those of `open_picture`: the picture's name in messages, the most bytes and pixels.
        """
        if isinstance(given, np.ndarray):
            return self._fit(given)
        return self._fit(open_picture(Path(given) if isinstance(given, str) else given, **limits))

    def _describe(
        self,
        pictures: Pixels,
        names: Sequence[str | None],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
    ) -> list[Prediction]:
        batch = Batch(pictures=normalise(pictures).to(self.device))
        start = {} if prefix is None else {"prefix": [self.target.encode(prefix).tokens] * len(pictures)}
        lengths = [search.max_length or _LONGEST] * len(pictures)
        found = find(self.model, batch, search, lengths=lengths, room=self.room, attention=attention, **start)
        regions = self._regions()
        return [
            answers(self.model, self.target, hypotheses, regions, name)
            for hypotheses, name in zip(found, names, strict=True)
        ]

    def trace(self, text: str, search: SearchConfig, wishes: Wishes) -> Trace:
        raise ConfigError("a trace tells of words that look at words, but this model looks at pictures. Use predict.")

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        groups = [[example for _, example in group] for _, group in groupby(by_picture(examples), itemgetter(0))]
        pictures = [self._prepared(group[0]) for group in groups]
        predictions = [
            prediction
            for start in range(0, len(pictures), search.batch)
            for prediction in self._describe(
                np.stack(pictures[start : start + search.batch]),
                [None] * len(pictures[start : start + search.batch]),
                search,
            )
        ]
        texts = [prediction.text for prediction in predictions]
        references = [list(group[0].references or (group[0].target or "",)) for group in groups]
        statistics = {}
        for metric in ("cider_d", *(name for name in CAPTION_METRICS if name != "cider_d")):
            part = caption_statistics(metric, texts, references)
            statistics[metric] = Statistics(part.counts, part.score)
        right = [[float(text in known), 1.0] for text, known in zip(texts, references, strict=True)]
        statistics["exact"] = Statistics(np.array(right), _share)
        details: dict[str, Any] = {"pictures": len(groups), "captions": len(examples)}
        if self.model.source_sites and any(example.boxes is not None for example in examples):
            self._point(groups, pictures, statistics)
        metrics = {name: float(part.score(part.counts.sum(0))) for name, part in statistics.items()}
        lengths = [len(words_of(known[0])) for known in references]
        every = {name: part for name, part in statistics.items() if len(part.counts) == len(groups)}
        return Evaluation(metrics, details, every, lengths, predictions)

    def _point(self, groups: list[list[Example]], pictures: list[Pixels], statistics: dict[str, Statistics]) -> None:
        """Attention against the regions words are about, the captions being forced on the decoder."""
        known = [
            (picture, example)
            for group, picture in zip(groups, pictures, strict=True)
            for example in group[:1]
            if example.boxes is not None
        ]
        maps = self.attend([(picture, example.target or "") for picture, example in known])
        boxes = [self._boxes(picture, example) for picture, example in known]
        counts = pointing_statistics(maps, boxes)
        statistics["pointing"] = Statistics(counts, pointing_accuracy)
        statistics["mass_inside"] = Statistics(counts, mass_inside)

    @torch.no_grad()
    def attend(self, pairs: Sequence[tuple[Pixels, str]], batch_size: int = 64) -> list[NDArray[np.float64]]:
        """For each picture and caption, where each word looks: (words, rows, columns), the mean of sites and heads."""
        rows, columns = self._grid
        maps: list[NDArray[np.float64]] = []
        training = self.model.training
        self.model.eval()
        for start in range(0, len(pairs), batch_size):
            part = pairs[start : start + batch_size]
            encoded = self.target.encode_all([text for _, text in part])
            words = Batch.of(targets=[row.tokens for row in encoded])
            pictures = normalise(np.stack([picture for picture, _ in part]))
            tape = Tape(detach=True)
            batch = Batch(target=words.target, target_mask=words.target_mask, pictures=pictures).to(self.device)
            self.model.vectors(batch, tape=tape)
            looks = torch.stack([tape[site].float().mean(1) for site in self.model.source_sites]).mean(0).cpu().numpy()
            for look, row, (_, text) in zip(looks, encoded, part, strict=True):
                spread = np.eye(len(words_of(text)))[:, row.words]  # (words, tokens)
                mean = (spread / np.maximum(spread.sum(1, keepdims=True), 1)) @ look[: len(row.tokens)]
                maps.append(mean.reshape(-1, rows, columns))
        self.model.train(training)
        return maps

    def _boxes(self, picture: Pixels, example: Example) -> list[Box | None]:
        """A caption's boxes in the square that the model sees."""
        assert example.boxes is not None
        assert example.image is not None
        data = self.recipe.data
        inside = frame(example.image.load().shape, data.picture_size, data.picture_fit)
        return [None if box is None else inside.box(box) for box in example.boxes]

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

"""Ordering: answer with positions of the input, such as sorting, convex hulls and round trips (pointer networks)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saccade.batch import EOS, SPECIALS, Batch
from saccade.config import Fault
from saccade.data.example import Example
from saccade.data.features import Feature
from saccade.data.forms import ORDERS
from saccade.data.point_features import OrderFeature, PointFeature
from saccade.data.points import Positions, padded_points, parse_order, parse_points, point_words
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.metrics import order_counts, order_ratio
from saccade.models import build_head
from saccade.models.pointer_network import PointerNetwork
from saccade.prediction import Side, side
from saccade.search import SearchConfig
from saccade.tasks.base import Evaluation, Split, Statistics
from saccade.tasks.batching import in_batches
from saccade.tasks.generation import GenerationTask, ModelInput
from saccade.tasks.inputs import POINTS, Opened
from saccade.trace import Side as TraceSide

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Ordering"]

_FOR_WORDS = ("word_dropout", "label_smoothing")
"""Training settings that have no meaning for positions: points are no words, and most positions are impossible."""


class Ordering(GenerationTask):
    """Positions of points, in some order, by a pointer network."""

    name = "ordering"
    reads = POINTS
    form = ORDERS
    head = "pointer_network"
    parts = ()
    metrics = ("exact", "valid", "area", "tour_length")
    offers = frozenset({"words to write", "attention to a source"})
    model: PointerNetwork

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return Tokenizers(None, None)

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        for name in _FOR_WORDS:
            if getattr(recipe.train, name):
                yield Fault(("train", name), f"{recipe.task} has positions instead of words: set it to 0")
        if recipe.points.answer != "sequence" and recipe.points.dimensions != 2:
            why = f"a {recipe.points.answer} is in the plane: set points.dimensions to 2"
            yield Fault(("points", "answer"), why)

    def _build(self) -> PointerNetwork:
        made: PointerNetwork = build_head(self.head, self.recipe.model_settings(), self.recipe.points)
        return made

    @property
    def _dimensions(self) -> int:
        return self.recipe.points.dimensions

    def features(self, split: Split) -> list[Feature]:
        choose = self.recipe.points.choose
        return [PointFeature(self._dimensions), OrderFeature(repeated=choose == "any", whole=choose == "every")]

    def opened(self, given: Any, **limits: Any) -> Opened:
        if isinstance(given, Opened):
            return given
        if isinstance(given, np.ndarray):
            rows = given.reshape(len(given), -1).tolist()
            given = " ".join(",".join(map(str, point)) for point in rows)
        return Opened(np.array(parse_points(given, self._dimensions), np.float32), " ".join(point_words(given)))

    def length(self, given: Any) -> int:
        return len(self.opened(given).value) + 1

    def positions(self, tokens: int) -> tuple[int, int]:
        return tokens, tokens if self.recipe.points.choose != "any" else 2 * tokens

    def read(self, inputs: Sequence[Opened], *, sides: bool = True) -> ModelInput:
        points = [given.value for given in inputs]
        batch = Batch(**padded_points(points, self._dimensions, len(points))).to(self.device)
        shown: list[dict[str, Side]] = [{"source": _side(given)} for given in inputs] if sides else []
        return ModelInput(batch, [len(part) + 1 for part in points], shown)

    def spelling(self, given: Opened) -> Positions:
        return Positions(len(given.value))

    def seen(self, given: Opened, sides: Mapping[str, Side]) -> dict[str, TraceSide]:
        return super().seen(given.name, sides)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        inputs = [example.source or "" for example in examples]
        predictions = in_batches(self, inputs, search)
        points = [np.array(parse_points(text, self._dimensions)) for text in inputs]
        answers = [parse_order(one.text, len(part)) for one, part in zip(predictions, points, strict=True)]
        references = [parse_order(one.target or "", len(part)) for one, part in zip(examples, points, strict=True)]
        counts = order_counts(self.recipe.points.answer, points, answers, references)
        statistics = {name: Statistics(part, order_ratio) for name, part in counts.items()}
        metrics = {name: part.value for name, part in statistics.items()}
        return Evaluation(metrics, {"sets": len(examples)}, statistics, list(map(len, points)), predictions)


def _side(given: Opened) -> Side:
    """Return the side of points: each is a token and a word, and the end follows."""
    words = (given.name or "").split()
    return side(words, words, range(len(words)), SPECIALS[EOS])

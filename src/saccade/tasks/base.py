"""Task: what is read and answered, and how well; one subclass for each kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from saccade.batch import Batch
from saccade.data.example import Example
from saccade.data.loader import Loader, lengths_of
from saccade.data.plan import Plan
from saccade.data.store import Store
from saccade.data.tokenizer import Tokenizers
from saccade.metrics import LengthBin, score_by_length
from saccade.models.size import build_within, memory_here
from saccade.prediction import Prediction
from saccade.search import SearchConfig, Stop
from saccade.tasks.inputs import Reads
from saccade.tasks.recipe import Recipe
from saccade.tasks.tracing import Wishes
from saccade.tasks.vectors import Laid, lay_in
from saccade.trace import Trace
from saccade.train.objective import Objective, losses_of

__all__ = ["Evaluation", "Statistics", "Task"]

Score = Callable[[NDArray[np.float64]], float]
"""Summed statistics (K,) -> the value of the corpus that they are the sum of."""


@dataclass(frozen=True)
class Statistics:
    """What each example adds to a metric: counts (N, K), and the formula that turns summed counts into its value.

    Value, band and difference to another model all apply `score` to sums of `counts`, so they cannot disagree.
    bin_score: the formula for the few examples of a length bin, where `score` would be unfair to short ones.
    """

    counts: NDArray[np.float64]
    score: Score
    bin_score: Score | None = None

    @property
    def value(self) -> float:
        """The metric over all examples."""
        return float(self.score(self.counts.sum(0)))


@dataclass(frozen=True)
class Evaluation:
    """How well a model does on some examples.

    metrics: numbers by name, the first one the most important. details: what else report.json should hold.
    statistics: for each metric that is a sum over examples; its number in `metrics` is their `value`.
    lengths: (N,) source words, to draw quality against.
    """

    metrics: dict[str, float]
    details: dict[str, Any]
    statistics: dict[str, Statistics]
    lengths: list[int]
    predictions: list[Prediction] = field(default_factory=list, repr=False)
    notes: list[str] = field(default_factory=list)

    def by_length(self, metric: str | None = None, bounds: Sequence[int] | None = None) -> list[LengthBin]:
        """A metric against the length of the source, with bands; the most important one by default."""
        part = self.statistics[metric or next(iter(self.statistics))]
        return score_by_length(self.lengths, part.counts, part.bin_score or part.score, bounds=bounds)


class Task(ABC):
    """A kind of work: translation, language, classification or captioning. Holds the model that does it.

    Inputs are texts, or where `reads` says so pictures; see `tasks/inputs.py`. Whoever hands them in from outside makes
    sure that they are.
    """

    name: ClassVar[str]
    reads: ClassVar[Reads] = "text"
    takes_many: ClassVar[bool] = False
    """Whether `predict` does better with more inputs than are searched together."""

    def __init__(self, recipe: Recipe, tokenizers: Tokenizers, *, room: int | None = None) -> None:
        """`room`: the bytes that the model's parameters may have; left out, those of this machine's memory."""
        self.recipe, self.tokenizers = recipe, tokenizers
        most, whose = (memory_here(), "this machine has") if room is None else (room, "there is room for")
        self.model: Any = build_within(self._build, most, whose)
        self.vectors: Laid | None = None

    @abstractmethod
    def _build(self) -> nn.Module:
        """An untrained model as the recipe has it."""

    @abstractmethod
    def objective(self) -> Objective:
        """What training lowers; holds the model."""

    @abstractmethod
    def predict(
        self,
        inputs: Sequence[Any],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
        stop: Stop | None = None,
    ) -> list[Prediction]:
        """Answers to some inputs, together; `prefix` is what every answer must begin with.

        `stop` is called between steps of a search and raises an Interruption when the answers are no longer wanted.
        """

    @abstractmethod
    def trace(self, given: Any, search: SearchConfig, wishes: Wishes, *, stop: Stop | None = None) -> Trace:
        """The answer to an input and all there is to see of it; `stop` as for `predict`."""

    @abstractmethod
    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        """How well the model does."""

    @abstractmethod
    def length(self, given: Any) -> int:
        """The tokens of an input, as the model reads it; a picture counts as one."""

    def lengths(self, inputs: Sequence[Any]) -> list[int]:
        """The tokens of many inputs."""
        return [self.length(given) for given in inputs]

    def begin(self) -> None:
        """Get an untrained model ready for training, where a recipe asks for more than chance."""
        settings = self.recipe.vectors
        if settings.file is not None:
            tokenizer = self.tokenizers.source or self.tokenizers.target
            assert tokenizer is not None
            self.vectors = lay_in(self.model.embedding, tokenizer.vocabulary, settings)

    def opened(self, given: Any) -> Any:
        """What `predict` can be given in an input's place, read once; a DataError says why it cannot be read."""
        return given

    @property
    def longest(self) -> int:
        """The most tokens an input may have."""
        return min(_LONGEST, self.room or _LONGEST)

    @property
    def room(self) -> int | None:
        """The most tokens a model with learned positions can read or write; None where there is no such limit."""
        return self.recipe.model.get("max_length") if self.recipe.model.get("positions") == "learned" else None

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device  # type: ignore[no-any-return]

    def loss(self, store: Store, objective: Objective, tokens_per_batch: int) -> float:
        """Nats per answer on tokenised examples."""
        plan = Plan(lengths_of(store), tokens_per_batch, shuffle=True)
        total, count = 0.0, 0
        for load in Loader(store, plan, count=objective.count).epoch():
            losses = losses_of(objective, load.batch.to(self.device))
            total += float(losses.plain)
            count += load.tokens
        return total / count

    def facts(self) -> dict[str, Any]:
        """What there is to know of the model."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        laid = {} if self.vectors is None else {"vectors": asdict(self.vectors)}
        return {"model": self.recipe.preset or "recurrent", "parameters": parameters, **laid}

    def _to_batch(self, sources: list[list[int]]) -> Batch:
        return Batch.of(sources).to(self.device)


_LONGEST = 10_000
"""The most tokens of an input that is worth reading; a longer one is most likely not a sentence."""

"""Task: what is read and answered, and how well; one subclass for each kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from saccade.batch import Batch
from saccade.config import Fault
from saccade.data.example import Example
from saccade.data.features import Feature, text_features
from saccade.data.forms import Form
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.metrics import LengthBin, score_by_length
from saccade.models.size import build_within, memory_here
from saccade.prediction import Prediction
from saccade.search import SearchConfig, Stop
from saccade.tasks.faults import recipe_faults
from saccade.tasks.inputs import TEXT, Modality
from saccade.tasks.tracing import Wishes
from saccade.tasks.vectors import Laid, lay_in
from saccade.trace import Trace
from saccade.train.objective import Objective
from saccade.train.terms import Term, terms_of

if TYPE_CHECKING:
    from saccade.data.image_store import ImageStore
    from saccade.recipes.schema import Recipe

__all__ = ["Evaluation", "Split", "Statistics", "Task"]

Score = Callable[[NDArray[np.float64]], float]
"""Summed statistics (K,) -> the value of the corpus that they are the sum of."""


class Split(Protocol):
    """A part of a corpus: train, valid or test."""

    @property
    def name(self) -> str:
        """train, valid or test."""

    def images(self) -> ImageStore:
        """Return its images, prepared once."""


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
    """A kind of work, such as translation. Holds the model that does it.

    A subclass declares its choices: the modality of inputs, the form of the data, the metrics. No code outside of
    `tasks/` depends on which task it is. A task need not be part of saccade: recipes name it by `package.module:Class`.
    """

    name: ClassVar[str]
    reads: ClassVar[Modality] = TEXT
    """What inputs are. `predict` gets none that the modality refuses."""
    form: ClassVar[Form]
    """Which parts the examples of its data have."""
    batch: ClassVar[type[Batch]] = Batch
    """What examples are put together to."""
    head: ClassVar[str | None] = None
    """The row of HEADS that the preset of a recipe must be able to build; None for a task that builds its own model."""
    parts: ClassVar[tuple[str, ...]]
    """The parts of tokenizer.json that it uses: source, target, labels."""
    metrics: ClassVar[tuple[str, ...]]
    """What validation can choose the best model by, beside the loss."""
    offers: ClassVar[frozenset[str]] = frozenset()
    """What it has that settings of training may need, such as "gold alignments"; see `Term.needs`."""
    takes_vectors: ClassVar[bool] = False
    """Whether training can start from given word vectors."""
    takes_many: ClassVar[bool] = False
    """Whether `predict` does better with more inputs than are searched together."""

    def __init__(self, recipe: Recipe, tokenizers: Tokenizers, *, room: int | None = None) -> None:
        """`room`: the bytes that the model's parameters may have; left out, those of this machine's memory."""
        self.recipe, self.tokenizers = recipe, tokenizers
        self.terms: dict[str, Term] = terms_of(recipe.objective)
        most, whose = (memory_here(), "this machine has") if room is None else (room, "there is room for")
        self.model: Any = build_within(self._build, most, whose)
        self.vectors: Laid | None = None

    @classmethod
    @abstractmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        """Learn from the training examples how texts become numbers; `examples` starts them anew at each call."""

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        """Find what is wrong with a recipe for this task that no section of it can see alone."""
        yield from recipe_faults(cls, recipe)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        """Return the examples that the model can be measured on; a DataError says which one lacks something."""
        return list(examples)

    def features(self, split: Split) -> list[Feature]:
        """Return how the examples of a split are stored and put together to batches."""
        return text_features(self.tokenizers)

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

    def health(self, examples: Sequence[Example]) -> tuple[dict[str, float], list[str]]:
        """Measure what attention does on a few validation examples: numbers for the log, and notes on what is wrong."""
        return {}, []

    def begin(self) -> None:
        """Get an untrained model ready for training, where a recipe asks for more than chance."""
        settings = self.recipe.vectors
        if settings.file is not None:
            tokenizer = self.tokenizers.source or self.tokenizers.target
            assert tokenizer is not None
            self.vectors = lay_in(self.model.embedding, tokenizer.vocabulary, settings)

    def opened(self, given: Any, **limits: Any) -> Any:
        """What `predict` can be given in an input's place, read once; a DataError says why it cannot be read.

        `limits` are those of the reader of its modality, such as the most bytes.
        """
        return given

    def check_installed(self) -> None:  # noqa: B027  most tasks need nothing
        """Raise an error where a library is missing that opens inputs."""

    @property
    def grid(self) -> tuple[int, int] | None:
        """Rows and columns of the regions of an image that is attended to; None where inputs are no images."""
        return None

    def positions(self, tokens: int) -> tuple[int, int]:
        """The most positions that an input of so many tokens has for attention, and the most that its answer has."""
        return tokens, 2 * tokens + 20

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

    def facts(self) -> dict[str, Any]:
        """What there is to know of the model."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        laid = {} if self.vectors is None else {"vectors": asdict(self.vectors)}
        return {"model": self.recipe.preset or "recurrent", "parameters": parameters, **laid}

    def _to_batch(self, sources: list[list[int]]) -> Batch:
        return Batch.of(sources).to(self.device)


_LONGEST = 10_000
"""The most tokens of an input that is worth reading; a longer one is most likely not a sentence."""

"""Task: inputs, predictions, training objective and evaluation; one subclass for each kind of task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from saccade.batch import Batch
from saccade.config import Fault
from saccade.corpora import CORPORA
from saccade.data.example import Example
from saccade.data.features import Feature, text_features
from saccade.data.forms import Form
from saccade.data.tokenizer import TokenizerConfig, Tokenizers
from saccade.metrics import LengthBin, score_by_length, sums_interval
from saccade.models.size import build_within, memory_here
from saccade.prediction import Prediction
from saccade.search import SearchConfig, Stop
from saccade.tasks.inputs import TEXT, Modality
from saccade.tasks.recipe_checks import recipe_faults
from saccade.tasks.tracing import TraceOptions
from saccade.tasks.vectors import VectorReport, load_vectors
from saccade.trace import Trace
from saccade.train.objective import Objective
from saccade.train.terms import Term, terms_of

if TYPE_CHECKING:
    from saccade.data.image_store import ImageStore
    from saccade.recipes.schema import Recipe

__all__ = ["Evaluation", "Split", "Statistics", "Task"]

Score = Callable[[NDArray[np.float64]], float]
"""Maps statistics (K,), summed over a corpus, to the value of the metric."""


class Split(Protocol):
    """A part of a corpus: train, valid or test."""

    @property
    def name(self) -> str:
        """The name: train, valid or test."""

    def images(self) -> ImageStore:
        """Return its images, resized and cached."""


@dataclass(frozen=True)
class Statistics:
    """What each example adds to a metric: counts (N, K), and the formula from summed counts to the metric.

    The value, its confidence interval and differences to other models all apply `score` to sums of `counts`, so they
    are consistent. bin_score: the formula for a length bin, where `score` would be unfair to short examples.
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
    """The metrics of a model on some examples.

    metrics: values by name, the most important first. details: other entries for report.json.
    statistics: for metrics computed from sums over examples; their `value` is also in `metrics`.
    lengths: (N,) the number of source words, for quality against length.
    groups: by title, the group of each example; the metrics of each group are reported, too.
    """

    metrics: dict[str, float]
    details: dict[str, Any]
    statistics: dict[str, Statistics]
    lengths: list[int]
    predictions: list[Prediction] = field(default_factory=list, repr=False)
    notes: list[str] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict, repr=False)

    def by_group(self, title: str) -> dict[str, dict[str, Any]]:
        """Return the examples, the metrics and their confidence intervals of each group; the largest group first."""
        labels = np.array(self.groups[title])
        found = {}
        for name, count in Counter(self.groups[title]).most_common():
            parts = {metric: part.counts[labels == name] for metric, part in self.statistics.items()}
            bands = {metric: sums_interval(part, self.statistics[metric].score) for metric, part in parts.items()}
            found[name] = {
                "examples": count,
                "metrics": {metric: band.score for metric, band in bands.items()},
                "bands": {metric: [band.lower, band.upper] for metric, band in bands.items()},
            }
        return found

    def by_length(self, metric: str | None = None, bounds: Sequence[int] | None = None) -> list[LengthBin]:
        """Return a metric by source length, with confidence intervals; the most important metric by default."""
        part = self.statistics[metric or next(iter(self.statistics))]
        return score_by_length(self.lengths, part.counts, part.bin_score or part.score, bounds=bounds)


class Task(ABC):
    """A kind of task, such as translation, and its model.

    A subclass declares the modality of inputs, the form of the data and the metrics. Code outside of `tasks/` does not
    depend on which task it is. Recipes can name tasks outside saccade by import path, `package.module:Class`.
    """

    name: ClassVar[str]
    reads: ClassVar[Modality] = TEXT
    """Modality of inputs; `predict` gets only inputs that the modality accepts."""
    form: ClassVar[Form]
    """The parts that examples of its data have."""
    batch: ClassVar[type[Batch]] = Batch
    """The class of its batches."""
    head: ClassVar[str | None] = None
    """The row of HEADS that the preset of a recipe must be able to build; None for a task that builds its own model."""
    parts: ClassVar[tuple[str, ...]]
    """The parts of tokenizer.json that it uses: source, target, labels."""
    metrics: ClassVar[tuple[str, ...]]
    """Metrics, beside the loss, by which validation can select the best model."""
    offers: ClassVar[frozenset[str]] = frozenset()
    """Features that training settings may need, such as "gold alignments"; see `Term.needs`."""
    takes_vectors: ClassVar[bool] = False
    """Whether training can start from pretrained word vectors."""
    open_companion: Callable[[Path], Task] | None = None
    """Loads another model folder, for searches that need one beside this; set when a model is built for a folder."""
    takes_many: ClassVar[bool] = False
    """Whether `predict` is faster with more inputs than the search batch size (continuous batching)."""

    def __init__(self, recipe: Recipe, tokenizers: Tokenizers, *, room: int | None = None) -> None:
        """Build the model; `room`: maximum bytes of its parameters, by default this machine's memory."""
        self.recipe, self.tokenizers = recipe, tokenizers
        self.terms: dict[str, Term] = terms_of(recipe.objective)
        most, whose = (memory_here(), "this machine has") if room is None else (room, "there is room for")
        self.model: Any = build_within(self._build, most, whose)
        self.vectors: VectorReport | None = None

    @classmethod
    @abstractmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        """Learn tokenizers from the training examples; each call of `examples` iterates over them again."""

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        """Yield the faults of a recipe for this task that involve more than one section."""
        yield from recipe_faults(cls, recipe)

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        """Return the examples that can be evaluated; raise DataError if one lacks a required part."""
        return list(examples)

    def features(self, split: Split) -> list[Feature]:
        """Return the features, which define how the examples of a split are stored and batched."""
        return text_features(self.tokenizers)

    def examples(self) -> list[dict[str, Any]]:
        """Return inputs to try, with the fields of a trace request: the recipe's, or else the built-in corpus's.

        Examples of images and sounds are data: URLs, and have a name.
        """
        field = self.reads.entry
        if field == "input":
            corpus = self.recipe.data.corpus
            found = self.recipe.examples or (CORPORA[corpus].examples if corpus else ())
            return [{field: self.reads.listed(given)} for given in found]
        files = [one for one in self.recipe.examples if isinstance(one, str) and one.startswith("data:")]
        return [{"name": f"example {number}", field: one} for number, one in enumerate(files or self.sample_files(), 1)]

    def sample_files(self) -> list[str]:
        """Return data: URLs of a few images or sounds of the built-in corpus's test split, if they can be made."""
        return []

    @abstractmethod
    def _build(self) -> nn.Module:
        """Build the recipe's model, untrained."""

    @abstractmethod
    def objective(self) -> Objective:
        """Return the training objective, which holds the model."""

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
        """Predict outputs for a list of inputs; every output starts with `prefix`.

        `stop` is called between search steps; it raises an Interruption to cancel the search.
        """

    @abstractmethod
    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        """Predict for one input and return its trace (attention, candidates, beams); `stop`: see `predict`."""

    @abstractmethod
    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        """Evaluate the model on examples."""

    @abstractmethod
    def length(self, given: Any) -> int:
        """Count the tokens of an input, as the model reads it; an image counts as one."""

    def lengths(self, inputs: Sequence[Any]) -> list[int]:
        """Count the tokens of each input."""
        return [self.length(given) for given in inputs]

    def health(self, examples: Sequence[Example]) -> tuple[dict[str, float], list[str]]:
        """Measure attention on a few validation examples; return numbers for the log and warnings for the user."""
        return {}, []

    def progress_image(self) -> NDArray[np.uint8] | None:
        """Return a row of images that shows the progress of training, for the log folder; None if there is none."""
        return None

    def begin(self) -> None:
        """Load pretrained parts, such as word vectors, into the untrained model if the recipe names any."""
        settings = self.recipe.embeddings
        if settings.file is not None:
            tokenizer = self.tokenizers.source or self.tokenizers.target
            assert tokenizer is not None
            self.vectors = load_vectors(self.model.embedding, tokenizer.vocabulary, settings)

    def opened(self, given: Any, **limits: Any) -> Any:
        """Read an input, such as an image file, once, for `predict`; raise DataError if it is unreadable.

        `limits` are options of the modality's reader, such as the maximum bytes.
        """
        return given

    def check_installed(self) -> None:  # noqa: B027  most tasks need nothing
        """Raise if a library that opens inputs is not installed."""

    @property
    def grid(self) -> tuple[int, int] | None:
        """Rows and columns of an image's regions for attention; None if inputs are not images."""
        return None

    @property
    def drawable(self) -> list[str]:
        """The classes that an input may ask for, if this model generates images by class."""
        return []

    def positions(self, tokens: int) -> tuple[int, int]:
        """Return maximum numbers of attention positions for an input of `tokens` tokens: source, then output."""
        return tokens, 2 * tokens + 20

    @property
    def longest(self) -> int:
        """Maximum tokens of an input."""
        return min(_LONGEST, self.room or _LONGEST)

    @property
    def room(self) -> int | None:
        """Maximum tokens that a model with learned positions can read or write; None without such a limit."""
        return self.recipe.model.get("max_length") if self.recipe.model.get("positions") == "learned" else None

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device  # type: ignore[no-any-return]

    @property
    def model_name(self) -> str:
        """The preset of the model, which captions of figures name."""
        return self.recipe.preset or "recurrent"

    def facts(self) -> dict[str, Any]:
        """Return facts on the model: preset, number of parameters, loaded word vectors."""
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        vectors = {} if self.vectors is None else {"vectors": asdict(self.vectors)}
        return {"model": self.model_name, "parameters": parameters, **vectors}

    def _to_batch(self, sources: list[list[int]]) -> Batch:
        return Batch.from_lists(sources).to(self.device)


_LONGEST = 10_000
"""Maximum tokens of an input; a longer one is most likely not a sentence."""

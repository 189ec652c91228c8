"""Classification: predict the label of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from saccade.attention import Tape
from saccade.batch import EOS, Batch
from saccade.data.example import Example
from saccade.data.forms import LABELS
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.errors import ConfigError, DataError
from saccade.metrics import accuracy, classification_score, classification_statistics, macro_f1
from saccade.models import build_head
from saccade.models.base import Classifying
from saccade.prediction import AttentionMaps, Prediction, Side
from saccade.search import SearchConfig, Stop
from saccade.tasks.base import Evaluation, Statistics, Task
from saccade.tasks.batching import in_batches
from saccade.tasks.inputs import name_of
from saccade.tasks.objectives import class_loss
from saccade.tasks.postprocess import read_side, texts_of
from saccade.tasks.tracing import TraceOptions, begin, describe_sites, plain_side
from saccade.trace import Step, Trace
from saccade.train.objective import ClassLoss

__all__ = ["Classification"]


class Classification(Task):
    """Text classification by a pooled encoder; with attention pooling, predictions include the weight of each word.

    A subclass for other inputs overrides `read`, `given`, `length` and `sizes`, and builds its own model.
    """

    name = "classification"
    form = LABELS
    head = "classifier"
    parts = ("source", "labels")
    metrics = ("accuracy", "macro_f1")
    takes_vectors = True
    model: Classifying

    @property
    def source(self) -> Tokenizer:
        """The tokenizer."""
        assert self.tokenizers.source is not None
        return self.tokenizers.source

    @property
    def labels(self) -> list[str]:
        """The classes."""
        return self.tokenizers.labels or []

    def _build(self) -> Classifying:
        if len(self.labels) < 2:
            raise DataError(f"the training data have the labels {self.labels}, but there must be two or more.")
        head = self.recipe.classifier.model_dump()
        sizes = len(self.source), len(self.labels)
        made: Classifying = build_head(self.head, self.recipe.model_settings(), *sizes, **head)
        return made

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        source = Tokenizer.train(config, texts_of(examples(), "source"), "text")
        return Tokenizers(source, None, sorted({each.label for each in examples() if each.label is not None}))

    @classmethod
    def testable(cls, examples: Sequence[Example]) -> list[Example]:
        for number, example in enumerate(examples, 1):
            if example.label is None:
                raise DataError(f"example {number} has no label, so there is nothing to compare with.")
        return list(examples)

    def objective(self) -> ClassLoss:
        return class_loss(self)

    def length(self, given: Any) -> int:
        return len(self.source.tokens([given])[0]) + 1

    def given(self, example: Example) -> Any:
        """Return the model's input of an example."""
        return example.source or ""

    def read(self, inputs: Sequence[Any]) -> tuple[Batch, list[Side]]:
        """Return the batch of some inputs, and for each input the side that attention is over."""
        encoded = self.source.encode_all(inputs)
        sides = [read_side(self.source, text, part) for text, part in zip(inputs, encoded, strict=True)]
        return self._to_batch([[*part.tokens, EOS] for part in encoded]), sides

    @torch.no_grad()
    def predict(
        self,
        inputs: Sequence[Any],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
        stop: Stop | None = None,
    ) -> list[Prediction]:
        if prefix is not None:
            raise ConfigError("a label cannot be given a prefix: leave the prefix out.")
        batch, sides = self.read(inputs)
        tape = Tape(detach=True) if attention else None
        training = self.model.training
        logits = self.model.eval()(batch, tape=tape)
        self.model.train(training)
        best = torch.log_softmax(logits.float(), -1).sort(-1, descending=True)
        weights = {site: tape[site].float().cpu().numpy() for site in tape or ()} if tape is not None else {}
        # the site of attention pooling has a single query
        pooling = tuple(site for site, part in weights.items() if part.shape[-2] == 1)
        between = {site: ("target" if site in pooling else "source", "source") for site in weights}
        found = []
        for row, (given, side) in enumerate(zip(inputs, sides, strict=True)):
            size, name = len(side.tokens), name_of(given)
            own = {site: values[row][:, :size, :size] for site, values in weights.items()}
            labels = [self.labels[place] for place in best.indices[row].tolist()]
            targets = [Side([label], [label], [0]) for label in labels]
            maps = [AttentionMaps(side, target, own, pooling, between, model=self.model_name) for target in targets]
            first, *alternatives = [
                Prediction(label, score, [label], attention, name)
                for label, score, attention in zip(labels, best.values[row].tolist(), maps, strict=True)
            ][: max(1, search.nbest)]
            found.append(Prediction(first.text, first.score, first.tokens, first.attention, name, alternatives))
        return found

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        if options.force or options.block or options.pull:
            raise ConfigError("a label is not generated token by token, so there is nothing to force, block or pull.")
        every = search.model_copy(update={"nbest": len(self.labels)})
        (best,) = self.predict([self.opened(given)], every)
        attention, ranked = best.attention, [best, *best.alternatives]
        source = plain_side(attention.source, best.source or " ".join(attention.source.words))
        sides = {"source": source, "target": plain_side(attention.target, best.text)}
        sites = describe_sites(
            self.model, attention.weights, {}, sides, attention.target, attention.between.__getitem__
        )
        candidates = [(self.labels.index(each.text), each.text, each.score) for each in ranked]
        step = Step(token=candidates[0][0], text=best.text, log_probability=best.score, candidates=candidates)
        seen: dict[str, Any] = {"text": best.text, "score": best.score, "sides": sides, "sites": sites, "steps": [step]}
        return Trace(**begin(self, options, search), **seen)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        inputs, gold = [self.given(example) for example in examples], [example.label or "" for example in examples]
        predictions = in_batches(self, inputs, search)
        predicted = [prediction.text or self.labels[0] for prediction in predictions]
        labels = sorted({*self.labels, *gold})
        score = classification_score(predicted, gold, labels)
        counts = classification_statistics(predicted, gold, labels)
        statistics = {"accuracy": Statistics(counts, accuracy), "macro_f1": Statistics(counts, macro_f1)}
        metrics = {name: part.value for name, part in statistics.items()}
        details = {
            "examples": score.examples,
            "classes": {
                part.label: {"precision": part.precision, "recall": part.recall, "f1": part.f1, "gold": part.gold}
                for part in score.classes
            },
            "confusion": score.confusion,
        }
        return Evaluation(metrics, details, statistics, self.sizes(inputs), predictions)

    def sizes(self, inputs: Sequence[Any]) -> list[int]:
        """Return the lengths of inputs for quality against length: words."""
        return [len(words_of(text)) for text in inputs]

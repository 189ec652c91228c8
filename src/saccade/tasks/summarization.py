"""Summarization: write a short text that says what matters in a long one, with attention to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saccade.batch import UNK
from saccade.config import Fault
from saccade.data.example import Example, Links
from saccade.data.features import CopiedTarget, Feature
from saccade.data.forms import SUMMARIES
from saccade.data.summary_targets import AskedCopies, AskedTokens, SummaryConfig, WordLinks
from saccade.data.tokenizer import words_of
from saccade.metrics import (
    ROUGE,
    centroid,
    lead,
    link_statistics,
    novelty,
    repeated_trigrams,
    rouge,
    split_sentences,
    summary_length,
    word_frequency,
)
from saccade.prediction import Prediction
from saccade.search import SearchConfig
from saccade.tasks.base import Evaluation, Split, Statistics
from saccade.tasks.batching import in_batches
from saccade.tasks.text_to_text import TextToText

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Summarization"]


class Summarization(TextToText):
    """Summarization with any sequence-to-sequence model."""

    name = "summarization"
    form = SUMMARIES
    metrics = (*ROUGE, "unknown_words", "pointing")

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        if recipe.summary.writes in recipe.summary.also:
            yield Fault(("summary", "also"), f"the model writes {recipe.summary.writes} already. Leave it out")
        if len(set(recipe.summary.also)) < len(recipe.summary.also):
            yield Fault(("summary", "also"), "a target is named twice")
        if recipe.summary.links == "words" and recipe.output.kind != "pointer":
            yield Fault(("summary", "links"), "words are linked for copies of them: set output: pointer")

    def features(self, split: Split) -> list[Feature]:
        found = super().features(split)
        config = self.recipe.summary
        if split.name != "train" or config == SummaryConfig():
            return found
        found[0] = AskedTokens(self.source, config, split_sentences)
        if self.copies:
            copying = AskedCopies(self.target)
            target = CopiedTarget(self.target, copying)
            found[1:3] = [target, copying]
            if config.links == "words" and self._guided is not None:
                found[-1] = WordLinks(self.tokenizers, target, copying)
        return found

    def positions(self, tokens: int) -> tuple[int, int]:
        return tokens, min(2 * tokens, _LONGEST) + 20

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        sources = [example.source or "" for example in examples]
        references = [example.references or (example.target or "",) for example in examples]
        predictions = in_batches(self, sources, search, attention=self.copies)
        texts = [prediction.text for prediction in predictions]
        scores = rouge(texts, references)
        others = {
            "novel_words": novelty(texts, sources, size=1),
            "novel_bigrams": novelty(texts, sources, size=2),
            "repeated_trigrams": repeated_trigrams(texts),
            "summary_length": summary_length(texts),
        }
        signatures = {name: part.signature for name, part in {**scores, **others}.items()}
        statistics = {name: Statistics(part.counts, part.score) for name, part in {**scores, **others}.items()}
        statistics |= self._copy_statistics(predictions, texts, examples)
        details: dict[str, Any] = {"texts": len(examples), "signatures": signatures}
        details["baselines"] = {name: _scores(made, references) for name, made in _baselines(sources).items()}
        if self.model.source_sites and any(example.links and example.links.possible for example in examples):
            statistics["pointing"] = Statistics(self._pointing(examples), _share)
        metrics = {name: part.value for name, part in statistics.items()}
        return Evaluation(metrics, details, statistics, [len(words_of(text)) for text in sources], predictions)

    def _copy_statistics(
        self, predictions: Sequence[Prediction], texts: Sequence[str], examples: Sequence[Example]
    ) -> dict[str, Statistics]:
        """Return the share of copied tokens, and the share of the references' unknown words that were written."""
        found = {}
        if self.copies:
            shares = [prediction.copied or [] for prediction in predictions]
            found["copied"] = Statistics(np.array([[sum(part), len(part)] for part in shares]), _share)
        rows = []
        for text, example in zip(texts, examples, strict=True):
            wanted = self.target.unknown(example.target or "") if self._has_unknown(example.target or "") else []
            written = set(words_of(text.lower()))
            rows.append([sum(word.lower() in written for word in wanted), len(wanted)])
        if any(total for _, total in rows):
            found["unknown_words"] = Statistics(np.array(rows, np.float64), _share)
        return found

    def _has_unknown(self, text: str) -> bool:
        return UNK in self.target.tokens([text])[0]

    def _pointing(self, examples: Sequence[Example]) -> NDArray[np.float64]:
        """Compare the attention peaks of linked words with their gold links, under teacher forcing."""
        found = self.attend(examples)
        matrices = [attention.matrix(*self.pointing_site)[:, : len(attention.source.words)] for attention in found]
        return link_statistics(matrices, [example.links or Links(frozenset()) for example in examples])


_LONGEST = 300
"""Approximate maximum tokens of a summary."""


def _baselines(sources: Sequence[str]) -> dict[str, list[str]]:
    """Summarize without a model: by the first sentences, and by those nearest to the centroid of the text."""
    frequency = word_frequency(sources)
    return {
        "lead-1": [lead(text, 1) for text in sources],
        "lead-3": [lead(text, 3) for text in sources],
        "centroid": [centroid(text, frequency) for text in sources],
    }


def _scores(texts: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    return {name: part.total().value for name, part in rouge(texts, references).items()}


def _share(sums: NDArray[np.float64]) -> float:
    return float(sums[0] / sums[1]) if sums[1] else 0.0

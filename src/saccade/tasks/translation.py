"""Translation: translate sentences, with attention to the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from saccade.batch import EOS
from saccade.config import Fault
from saccade.data.example import Example, Links
from saccade.data.features import Feature, text_features
from saccade.data.forms import PAIRS
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers, words_of
from saccade.metrics import (
    align,
    alignment_statistics,
    attention_statistics,
    best_shift,
    complaints,
    error_rate,
    text_statistics,
)
from saccade.models import build_head
from saccade.models.base import Seq2Seq
from saccade.search import SearchConfig
from saccade.tasks.base import Evaluation, Split, Statistics
from saccade.tasks.batching import in_batches
from saccade.tasks.generation import GenerationTask, ModelInput
from saccade.tasks.postprocess import read_side, texts_of
from saccade.train.terms import GuidedAlignment

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Translation", "score_texts"]

_HEALTH_EXAMPLES = 64
"""Validation examples whose attention is measured for the log."""

SHORT_ANSWERS = "no answer has four tokens, so BLEU is 0 by its definition; chrF is a fair measure of short answers."


def score_texts(
    texts: Sequence[str], references: Sequence[str]
) -> tuple[dict[str, Statistics], dict[str, str], list[str]]:
    """Compute BLEU, chrF and TER: statistics and sacrebleu signatures by metric, and notes for the user."""
    statistics, signatures = {}, {}
    for metric in ("bleu", "chrf", "ter"):
        part = text_statistics(metric, texts, references)
        statistics[metric], signatures[metric] = Statistics(part.counts, part.score), part.signature
    # Standard BLEU is 0 if no answer has four tokens, as may happen in a length bin of short sentences.
    fair = text_statistics("bleu", texts, references, effective_order=True)
    statistics["bleu"] = replace(statistics["bleu"], bin_score=fair.score)
    signatures["bleu_by_length"] = fair.signature
    if statistics["bleu"].value == 0 < fair.total().value:
        return statistics, signatures, [SHORT_ANSWERS]
    return statistics, signatures, []


class Translation(GenerationTask):
    """Translation with any sequence-to-sequence model."""

    name = "translation"
    form = PAIRS
    head = "sequence_to_sequence"
    parts = ("source", "target")
    metrics = ("bleu", "chrf", "ter", "aer")
    offers = frozenset({"words to write", "attention to a source", "gold alignments"})
    takes_many = True

    @property
    def source(self) -> Tokenizer:
        """The source's tokenizer."""
        assert self.tokenizers.source is not None
        return self.tokenizers.source

    def _build(self) -> Seq2Seq:
        made: Seq2Seq = build_head(self.head, self.recipe.model_settings(), len(self.source), len(self.target))
        return made

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        if config.shared:
            both = Tokenizer.train(config, texts_of(examples(), "source", "target"), "source and target")
            return Tokenizers(both, both)
        source, target = (Tokenizer.train(config, texts_of(examples(), side), side) for side in ("source", "target"))
        return Tokenizers(source, target)

    @classmethod
    def faults(cls, recipe: Recipe) -> Iterator[Fault]:
        yield from super().faults(recipe)
        model = recipe.model
        tied = model.get("tied") and "heads" in (model.get("attention") or {}) and "feed_forward" in model
        if tied and not recipe.tokenizer.shared:
            why = "one matrix for both sides needs tokenizer.shared: true, or set tied to false"
            yield Fault(("model", "tied"), why)

    @property
    def _guided(self) -> GuidedAlignment | None:
        """The guided alignment term, or None if its weight is 0."""
        found = (term for term in self.terms.values() if isinstance(term, GuidedAlignment) and term.weight)
        return next(found, None)

    def features(self, split: Split) -> list[Feature]:
        return text_features(self.tokenizers, links=split.name == "train" and self._guided is not None)

    def length(self, text: str) -> int:
        return len(self.source.tokens([text])[0]) + 1

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens) + 1 for tokens in self.source.tokens(texts)]

    def read(self, inputs: Sequence[str], *, sides: bool = True) -> ModelInput:
        encoded = self.source.encode_all(inputs)
        pairs = zip(inputs, encoded, strict=True) if sides else ()
        shown = [{"source": read_side(self.source, text, part)} for text, part in pairs]
        rows = [[*part.tokens, EOS] for part in encoded]
        return ModelInput(self._to_batch(rows), list(map(len, rows)), shown)

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        sources, references = [e.source or "" for e in examples], [e.target or "" for e in examples]
        predictions = in_batches(self, sources, search)
        texts = [prediction.text for prediction in predictions]
        statistics, signatures, notes = score_texts(texts, references)
        details: dict[str, Any] = {"sentences": len(examples), "signatures": signatures}
        aligned = all(example.links is not None for example in examples)
        if self.model.source_sites and aligned and any(example.links.possible for example in examples if example.links):
            self._score_alignments(examples, details, statistics, notes)
        metrics = {name: part.value for name, part in statistics.items()}
        lengths = [len(words_of(source)) for source in sources]
        return Evaluation(metrics, details, statistics, lengths, predictions, notes)

    def _score_alignments(
        self,
        examples: Sequence[Example],
        details: dict[str, Any],
        statistics: dict[str, Statistics],
        notes: list[str],
    ) -> None:
        """Score attention against gold links, under teacher forcing of the references."""
        gold = [example.links or Links(frozenset()) for example in examples]
        attentions = self.attend(examples)
        # with guided alignment, read alignments from the site and head that it trains
        site, head = (None, None) if self._guided is None else (self._guided.site, self._guided.head)
        matrices = [attention.matrix(site, head)[:, : len(attention.source.words)] for attention in attentions]
        report = best_shift(matrices, gold)
        score = report.scores[0]
        details["alignment"] = {
            "precision": score.precision,
            "recall": score.recall,
            "links": score.links,
            "by_shift": {str(shift): part.error_rate for shift, part in report.scores.items()},
        }
        links = [align(matrix, words=len(matrix) - 1) for matrix in matrices]
        statistics["aer"] = Statistics(alignment_statistics(links, gold), error_rate)
        if (warning := report.warning()) is not None:
            notes.append(warning)

    def health(self, examples: Sequence[Example]) -> tuple[dict[str, float], list[str]]:
        if not self.model.source_sites:
            return {}, []
        attentions = self.attend([each for each in examples if each.source and each.target][:_HEALTH_EXAMPLES])
        numbers: dict[str, float] = {}
        notes: list[str] = []
        for site in self.model.source_sites:
            part = attention_statistics([a.weights[site] for a in attentions], site=site, end_column=-1)
            numbers |= {f"{site}/entropy": part.entropy, f"{site}/coverage": part.coverage}
            numbers |= {} if part.end_share is None else {f"{site}/end_share": part.end_share}
            notes += complaints(part)
        return numbers, notes

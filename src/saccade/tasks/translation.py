"""Translation: translate sentences, with attention to the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from saccade.data.example import Example, Links
from saccade.data.forms import PAIRS
from saccade.data.tokenizer import words_of
from saccade.metrics import (
    align,
    alignment_statistics,
    best_shift,
    error_rate,
    text_statistics,
)
from saccade.search import SearchConfig
from saccade.tasks.base import Evaluation, Statistics
from saccade.tasks.batching import in_batches
from saccade.tasks.text_to_text import TextToText

__all__ = ["Translation", "score_texts"]

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


class Translation(TextToText):
    """Translation with any sequence-to-sequence model."""

    name = "translation"
    form = PAIRS
    metrics = ("bleu", "chrf", "ter", "aer")

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

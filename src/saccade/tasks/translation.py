"""Translation: a sentence in, a sentence out, and where its words came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade.attention import Tape
from saccade.batch import EOS, Batch
from saccade.config import Fault
from saccade.data.example import Example, Links
from saccade.data.features import Feature, text_features
from saccade.data.forms import PAIRS
from saccade.data.tokenizer import Encoded, Spelling, Tokenizer, TokenizerConfig, Tokenizers, words_of
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
from saccade.prediction import NOTHING, Attention, Prediction
from saccade.search import SearchConfig, Stop, decode
from saccade.tasks.base import Evaluation, Split, Statistics, Task
from saccade.tasks.batching import in_batches
from saccade.tasks.objectives import word_loss
from saccade.tasks.tracing import Wishes, begin, plain_side, trace_writing
from saccade.tasks.words import answers, read_side, texts_of, written_side
from saccade.trace import Trace
from saccade.train.objective import WordLoss
from saccade.train.terms import GuidedAlignment

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["Translation", "score_texts"]

Matrix = NDArray[np.float32]
_HEALTH_EXAMPLES = 64
"""Validation examples whose attention is measured for the log."""

SHORT_ANSWERS = "no answer has four tokens, so BLEU is 0 by its definition; chrF is a fair measure of short answers."


def score_texts(
    texts: Sequence[str], references: Sequence[str]
) -> tuple[dict[str, Statistics], dict[str, str], list[str]]:
    """BLEU, chrF and TER of some answers: statistics and sacrebleu's signatures by metric, and notes for the user."""
    statistics, signatures = {}, {}
    for metric in ("bleu", "chrf", "ter"):
        part = text_statistics(metric, texts, references)
        statistics[metric], signatures[metric] = Statistics(part.counts, part.score), part.signature
    # Standard BLEU is 0 where no answer has four tokens, which a length bin of short sentences may well be.
    fair = text_statistics("bleu", texts, references, effective_order=True)
    statistics["bleu"] = replace(statistics["bleu"], bin_score=fair.score)
    signatures["bleu_by_length"] = fair.signature
    if statistics["bleu"].value == 0 < fair.total().value:
        return statistics, signatures, [SHORT_ANSWERS]
    return statistics, signatures, []


class Translation(Task):
    """Any sequence-to-sequence model between two texts.

    A subclass whose model reads more than tokens writes `read`; one that may answer with more words than the target's
    tokenizer has writes `spelling`.
    """

    name = "translation"
    form = PAIRS
    head = "sequence_to_sequence"
    parts = ("source", "target")
    metrics = ("bleu", "chrf", "ter", "aer")
    offers = frozenset({"words to write", "attention to a source", "gold alignments"})
    takes_many = True
    model: Seq2Seq

    @property
    def source(self) -> Tokenizer:
        """The source's tokenizer."""
        assert self.tokenizers.source is not None
        return self.tokenizers.source

    @property
    def target(self) -> Tokenizer:
        """The target's tokenizer."""
        assert self.tokenizers.target is not None
        return self.tokenizers.target

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
        """The term that teaches attention from gold alignments."""
        found = (term for term in self.terms.values() if isinstance(term, GuidedAlignment) and term.weight)
        return next(found, None)

    def features(self, split: Split) -> list[Feature]:
        return text_features(self.tokenizers, links=split.name == "train" and self._guided is not None)

    def objective(self) -> WordLoss:
        return word_loss(self)

    def length(self, text: str) -> int:
        return len(self.source.tokens([text])[0]) + 1

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens) + 1 for tokens in self.source.tokens(texts)]

    def read(self, texts: Sequence[str]) -> tuple[Batch, list[Encoded]]:
        """Return texts as the model reads them, and their tokens without the end."""
        encoded = self.source.encode_all(texts)
        return self._to_batch([[*part.tokens, EOS] for part in encoded]), encoded

    def spelling(self, text: str) -> Spelling:
        """Return what the tokens of an answer to a text stand for."""
        return self.target

    def predict(
        self,
        texts: Sequence[str],
        search: SearchConfig,
        *,
        attention: bool = True,
        prefix: str | None = None,
        stop: Stop | None = None,
    ) -> list[Prediction]:
        batch, encoded = self.read(texts)
        limits: dict[str, Any] = {"attention": attention, "stop": stop}
        if prefix is not None:
            limits["prefix"] = [self.spelling(text).encode(prefix).tokens for text in texts]
        lengths = [search.max_length or 2 * (len(part.tokens) + 1) + 20 for part in encoded]
        found = decode(self.model, batch, search, lengths=lengths, room=self.room, **limits)
        read = [
            read_side(self.source, text, part) if attention else NOTHING
            for text, part in zip(texts, encoded, strict=True)
        ]
        return [
            answers(self.model, self.spelling(text), hypotheses, source, text, words=attention)
            for hypotheses, source, text in zip(found, read, texts, strict=True)
        ]

    def trace(self, text: str, search: SearchConfig, wishes: Wishes, *, stop: Stop | None = None) -> Trace:
        batch, (encoded,) = self.read([text])
        places = len(encoded.tokens) + 1
        steering = wishes.steering(self.model.source_sites, places)
        length = search.max_length or 2 * places + 20
        limits: dict[str, Any] = {"attention": False, "beams": True, "steering": steering, "prefix": [wishes.force]}
        limits["stop"] = stop
        ((best, *_),) = decode(self.model, batch, search, lengths=[length], room=self.room, **limits)
        source = batch, plain_side(read_side(self.source, text, encoded), text)
        spelling = self.spelling(text)
        target = written_side(spelling, best.tokens, ends=best.finished)
        seen = trace_writing(self.model, spelling, best, source, target, steering, wishes)
        return Trace(**begin(self, wishes, search), **seen)

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
        """Attention against gold links, the reference being forced on the decoder."""
        gold = [example.links or Links(frozenset()) for example in examples]
        attentions = self.attend(examples)
        # where the attention was taught, that is what to read alignments from
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

    @torch.no_grad()
    def attend(self, examples: Sequence[Example], batch_size: int = 64) -> list[Attention]:
        """Where the model looks while it is made to write the reference."""
        found: list[Attention] = []
        order = sorted(range(len(examples)), key=lambda number: len(examples[number].source or ""))
        for start in range(0, len(order), batch_size):
            rows = [examples[number] for number in order[start : start + batch_size]]
            found += self._attend(rows)
        places = np.argsort(order)
        return [found[place] for place in places]

    def _attend(self, examples: list[Example]) -> list[Attention]:
        batch, sources = self.read([example.source or "" for example in examples])
        targets = [self.spelling(example.source or "").encode(example.target or "") for example in examples]
        written = Batch.of(targets=[part.tokens or [EOS] for part in targets]).to(self.device)
        tape = Tape(detach=True)
        training = self.model.training
        self.model.eval().force(replace(batch, target=written.target, target_mask=written.target_mask), tape=tape)
        self.model.train(training)
        sites = {site: tape[site].float().cpu().numpy() for site in self.model.source_sites}
        return [
            self._attention(example, source, target, {site: part[row] for site, part in sites.items()})
            for row, (example, source, target) in enumerate(zip(examples, sources, targets, strict=True))
        ]

    def _attention(self, example: Example, source: Encoded, target: Encoded, sites: dict[str, Matrix]) -> Attention:
        rows, columns = len(target.tokens) + 1, len(source.tokens) + 1
        cut = {site: part[:, :rows, :columns] for site, part in sites.items()}
        read = read_side(self.source, example.source or "", source)
        # words as they stand in the reference, which gold links count; decoding may join them in another way
        written = read_side(self.spelling(example.source or ""), example.target or "", target)
        return Attention(read, written, cut, tuple(self.model.source_sites))

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

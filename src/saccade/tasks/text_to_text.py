"""Text to text: the base of tasks that read a text and generate another, such as translation and summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from saccade.batch import EOS
from saccade.config import Fault
from saccade.data.example import Example
from saccade.data.familiar import Familiar, familiar
from saccade.data.features import Feature, text_features
from saccade.data.open_vocabulary import OpenVocabulary, padded_copies
from saccade.data.tokenizer import Spelling, Tokenizer, TokenizerConfig, Tokenizers
from saccade.metrics import attention_statistics, complaints
from saccade.models import build_head
from saccade.models.base import Seq2Seq
from saccade.models.pointer import build_pointer
from saccade.prediction import Prediction
from saccade.search import Hypothesis, SearchConfig, Stop
from saccade.tasks.base import Split
from saccade.tasks.generation import GenerationTask, ModelInput, Sides
from saccade.tasks.postprocess import read_side, texts_of
from saccade.tasks.tracing import TraceOptions
from saccade.trace import Trace

if TYPE_CHECKING:
    from saccade.recipes.schema import Recipe

__all__ = ["TextToText"]

_HEALTH_EXAMPLES = 64
"""Validation examples whose attention is measured for the log."""


class TextToText(GenerationTask):
    """A task with any sequence-to-sequence model from text to text."""

    head = "sequence_to_sequence"
    parts = ("source", "target")
    offers = frozenset({"words to write", "attention to a source", "gold alignments", "source words to copy"})
    takes_many = True

    @property
    def source(self) -> Tokenizer:
        """The source's tokenizer."""
        assert self.tokenizers.source is not None
        return self.tokenizers.source

    @property
    def copies(self) -> bool:
        """Whether the model can copy source words."""
        return self.recipe.output.kind == "pointer"

    def _build(self) -> Seq2Seq:
        if self.copies:
            return build_pointer(self.recipe.model_settings(), len(self.target), self.recipe.output)
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
    def pointing_site(self) -> tuple[str | None, int | None]:
        """The site and head that point at the source: those that gold links train, else those that copy."""
        part = self._guided or self.recipe.output
        return part.site, part.head

    def features(self, split: Split) -> list[Feature]:
        links = split.name == "train" and self._guided is not None
        return text_features(self.tokenizers, links=links, copies=self.copies)

    def spelling(self, given: str) -> Spelling:
        return OpenVocabulary(self.target, given) if self.copies else self.target

    def length(self, text: str) -> int:
        return len(self.source.tokens([text])[0]) + 1

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(tokens) + 1 for tokens in self.source.tokens(texts)]

    def read(self, inputs: Sequence[str], *, sides: bool = True) -> ModelInput:
        encoded = self.source.encode_all([self.familiar(text).text for text in inputs])
        pairs = zip(inputs, encoded, strict=True) if sides else ()
        shown = [{"source": read_side(self.source, text, part)} for text, part in pairs]
        return self._input(inputs, [part.tokens for part in encoded], shown)

    def familiar(self, text: str) -> Familiar:
        """Return the text in the case that the vocabulary has, and its unknown words; a model that copies has none."""
        return Familiar(text, []) if self.copies else familiar(self.source, text)

    def _answer(self, given: Any, found: list[Hypothesis], sides: Sides, *, words: bool) -> Prediction:
        made = super()._answer(given, found, sides, words=words)
        return replace(made, notes=self.familiar(given).notes) if isinstance(given, str) else made

    def trace(self, given: Any, search: SearchConfig, options: TraceOptions, *, stop: Stop | None = None) -> Trace:
        trace = super().trace(given, search, options, stop=stop)
        notes = self.familiar(given).notes if isinstance(given, str) else []
        return trace.model_copy(update={"left_out": [*notes, *trace.left_out]}) if notes else trace

    def _input(
        self, texts: Sequence[str | Sequence[str]], tokens: Sequence[list[int]], sides: Sequence[Sides]
    ) -> ModelInput:
        """Batch the tokens of some sources; `texts`: the text of each, or several that follow each other."""
        rows = [[*part, EOS] for part in tokens]
        batch = self._to_batch(rows)
        if self.copies:
            pairs = zip(texts, tokens, strict=True)
            own = [OpenVocabulary(self.target, *pair).copies for pair in pairs]
            assert batch.source_mask is not None
            batch = replace(batch, copies=padded_copies(own, batch.source_mask).to(self.device))
        return ModelInput(batch, list(map(len, rows)), sides)

    def health(self, examples: Sequence[Example]) -> tuple[dict[str, float], list[str]]:
        if not self.model.source_sites:
            return {}, []
        attentions = self.attend([each for each in examples if self.given(each) and each.target][:_HEALTH_EXAMPLES])
        numbers: dict[str, float] = {}
        notes: list[str] = []
        for site in self.model.source_sites:
            part = attention_statistics([a.weights[site] for a in attentions], site=site, end_column=-1)
            numbers |= {f"{site}/entropy": part.entropy, f"{site}/coverage": part.coverage}
            numbers |= {} if part.end_share is None else {f"{site}/end_share": part.end_share}
            notes += complaints(part)
        return numbers, notes

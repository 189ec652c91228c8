"""Answering: write the answer to a question on a passage, instead of pointing at it as `questions` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from saccade.data.example import Example, Span
from saccade.data.features import Feature, LinkFeature, TokenFeature, texts_of
from saccade.data.forms import QUESTIONS
from saccade.data.store import Numbered
from saccade.data.tokenizer import Offsets, Tokenizer, TokenizerConfig, Tokenizers
from saccade.search import SearchConfig
from saccade.tasks.base import Evaluation, Split
from saccade.tasks.batching import in_batches
from saccade.tasks.inputs import QUESTION
from saccade.tasks.passages import Asked
from saccade.tasks.question_scores import evaluated
from saccade.tasks.text_to_text import TextToText

__all__ = ["Answering"]

_LONGEST = 50
"""Maximum tokens of an answer, unless the search has another limit."""


class Answering(TextToText):
    """Generative question answering: a sequence-to-sequence model reads the question and the passage as one text.

    Questions without an answer are left out of training. Guided alignment pulls attention towards the answer's place.
    """

    name = "answering"
    reads = QUESTION
    form = QUESTIONS
    metrics = ("f1", "exact")

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return super().learn_tokenizers(config, lambda: _joined(examples()))

    def features(self, split: Split) -> list[Feature]:
        others = super().features(split)[1:]
        linked = [_SpanLinks(self.tokenizers) if isinstance(one, LinkFeature) else one for one in others]
        return [_JoinedTokens(self.source), *linked]

    def positions(self, tokens: int) -> tuple[int, int]:
        return tokens, _LONGEST

    def given(self, example: Example) -> dict[str, str]:
        return {"question": example.question or "", "passage": example.source or ""}

    def opened(self, given: Any, **limits: Any) -> str:
        return given if isinstance(given, str) else Asked.of(given).joined

    def length(self, given: Any) -> int:
        return super().length(self.opened(given))

    def lengths(self, inputs: Sequence[Any]) -> list[int]:
        return super().lengths([self.opened(given) for given in inputs])

    def evaluate(self, examples: Sequence[Example], search: SearchConfig) -> Evaluation:
        predictions = in_batches(self, [self.given(example) for example in examples], search)
        return evaluated(examples, predictions, pointed=False)


class _JoinedTokens(TokenFeature):
    """The tokens of a question and its passage; the features after it see both as the source of the example, too."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__("source", tokenizer)

    def keep(self, examples: Iterable[Example]) -> Iterator[Example]:
        return _joined(examples)


class _SpanLinks(LinkFeature):
    """Gold links from the tokens of an answer's first span to the tokens of the answer."""

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        assert self.tokenizers.source is not None
        assert self.tokenizers.target is not None
        places = self.tokenizers.source.offsets(texts_of(chunk, "source"))
        written = self.tokenizers.target.encode_all(texts_of(chunk, "target"))
        rows = zip(chunk, places, written, strict=True)
        return [_links(example.spans[:1], offsets, len(answer.tokens)) for (_, example), offsets, answer in rows]


def _links(spans: Sequence[Span], offsets: Offsets, count: int) -> list[int]:
    """Link a span's tokens to the `count` tokens of an answer, s0, t0, s1, t1, …: one each, or all if counts differ."""
    places = [n for n, (first, last) in enumerate(offsets) for begin, end in spans if first < end and last > begin]
    alike = len(places) == count
    return [n for k, s in enumerate(places) for t in range(count) if not alike or k == t for n in (s, t)]


def _joined(examples: Iterable[Example]) -> Iterator[Example]:
    for example in examples:
        passage = example.source or ""
        joined = Asked(example.question or "", passage).joined
        before = len(joined) - len(passage)
        spans = tuple((begin + before, end + before) for begin, end in example.spans)
        yield replace(example, source=joined, spans=spans)

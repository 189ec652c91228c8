"""Answering: write the answer to a question on a passage, instead of pointing at it as `questions` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from saccade.data.example import Example
from saccade.data.features import Feature, TokenFeature
from saccade.data.forms import QUESTIONS
from saccade.data.tokenizer import Tokenizer, TokenizerConfig, Tokenizers
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

    Questions without an answer are left out of training.
    """

    name = "answering"
    reads = QUESTION
    form = QUESTIONS
    metrics = ("f1", "exact")

    @classmethod
    def learn_tokenizers(cls, config: TokenizerConfig, examples: Callable[[], Iterator[Example]]) -> Tokenizers:
        return super().learn_tokenizers(config, lambda: _joined(examples()))

    def features(self, split: Split) -> list[Feature]:
        return [_JoinedTokens(self.source), *super().features(split)[1:]]

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


def _joined(examples: Iterable[Example]) -> Iterator[Example]:
    for example in examples:
        yield replace(example, source=Asked(example.question or "", example.source or "").joined)

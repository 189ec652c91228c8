"""Features of questions: the question's tokens, matches between both texts, and the spans of the answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade.data.batch_sampler import Rows
from saccade.data.example import Example
from saccade.data.features import Feature, TokenFeature, texts_of
from saccade.data.store import Column, Numbered
from saccade.data.tokenizer import Offsets, Tokenizer

__all__ = [
    "MATCHES",
    "SENTENCE_MATCHES",
    "MatchFeature",
    "SpanFeature",
    "matches",
    "padded_matches",
    "question_features",
    "token_spans",
]

MATCHES, SENTENCE_MATCHES = 8, 2
"""Features of a token, and of its sentence, see `matches`."""
_STEM = 5
"""Letters of a word's beginning that stand for its stem."""
_ENDS = frozenset(".!?")
_NEAR = 8
"""Tokens to each side that count as near."""


def matches(passage: Sequence[str], question: Sequence[str], *, sentences: bool = False) -> NDArray[np.float32]:
    """Compare the tokens of a passage with those of a question: features (S, MATCHES), each from 0 to 1.

    With `sentences`, SENTENCE_MATCHES more, see `_sentence_matches`.
    The features: whether the token is in the question exactly, in lower case, or by its stem; the lower-case match
    divided by the token's count in the passage; the share of the question's words near it; whether it is capitalized,
    has a digit, is punctuation.
    """
    lower, asked = [word.lower() for word in passage], {word.lower() for word in question if _is_word(word)}
    exact, stems = set(question), {word[:_STEM] for word in asked if len(word) >= _STEM}
    counts = Counter(lower)
    rows = [
        (
            word in exact,
            small in asked,
            small[:_STEM] in stems,
            (small in asked) / counts[small],
            0.0,
            word[:1].isupper(),
            any(letter.isdigit() for letter in word),
            not _is_word(word),
        )
        for word, small in zip(passage, lower, strict=True)
    ]
    found = np.array(rows, np.float32).reshape(-1, MATCHES)
    if len(found):
        weight = np.convolve(found[:, 3], np.ones(2 * _NEAR + 1), "full")[_NEAR : _NEAR + len(found)]
        found[:, 4] = np.minimum(weight / max(len(asked), 1), 1)
    return np.concatenate([found, _sentence_matches(lower, asked)], 1) if sentences else found


def _sentence_matches(passage: Sequence[str], asked: set[str]) -> NDArray[np.float32]:
    """Compare the sentences of a passage with the words of a question: features (S, SENTENCE_MATCHES) of their tokens.

    A sentence has the weight Σ log((n + 1) / n_w) over the question's words w in it, by their stems; n_w of the n
    sentences have the word. The features: the weight divided by the largest one, and by its greatest possible value.
    """
    ends = np.array([word in _ENDS for word in passage], np.int64)
    places = (np.cumsum(ends) - ends).tolist()  # the number of each token's sentence
    words: list[set[str]] = [set() for _ in range(places[-1] + 1)] if places else []
    stems = {word[:_STEM] for word in asked}
    for word, place in zip(passage, places, strict=True):
        words[place] |= {word[:_STEM]} & stems
    having = Counter(word for own in words for word in own)
    weights = [sum(math.log((len(words) + 1) / having[word]) for word in own) for own in words]
    largest, most = max(weights, default=0.0), len(stems) * math.log(len(words) + 1)
    rows = [(weights[place] / (largest or 1.0), weights[place] / (most or 1.0)) for place in places]
    return np.array(rows, np.float32).reshape(-1, SENTENCE_MATCHES)


def _is_word(token: str) -> bool:
    return any(letter.isalnum() for letter in token)


def token_spans(offsets: Offsets, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the first and last token of each span of characters; leave out spans without a token."""
    found = []
    for begin, end in spans:
        inside = [place for place, (first, last) in enumerate(offsets) if first < end and last > begin]
        if inside:
            found.append((inside[0], inside[-1]))
    return list(dict.fromkeys(found))


def padded_matches(rows: Sequence[NDArray[np.float32]], mask: Tensor) -> Tensor:
    """Pad the matches of some passages to the shape of their mask."""
    found = torch.zeros(*mask.shape, rows[0].shape[-1])
    for row, part in enumerate(rows):
        found[row, : len(part)] = torch.from_numpy(part)
    return found


class QuestionTokens(TokenFeature):
    """The tokens of the question."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__("question", tokenizer)


class SpanFeature(Feature):
    """First and last token of each acceptable answer; the passage's EOS for a question without answer."""

    name = "spans"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        offsets = self.tokenizer.offsets(texts_of(chunk, "source"))
        pairs = zip(chunk, offsets, strict=True)
        return [[place for span in self._spans(example, own)[:_MOST] for place in span] for (_, example), own in pairs]

    def _spans(self, example: Example, offsets: Offsets) -> list[tuple[int, int]]:
        return token_spans(offsets, example.spans) if example.spans else [(len(offsets), len(offsets))]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        parts = np.split(values.reshape(-1, 2), np.cumsum(sizes // 2)[:-1])
        spans = torch.full((count, _MOST, 2), -1)
        for row, part in enumerate(parts):
            spans[row, : len(part)] = torch.from_numpy(part)
        return {self.name: spans}


_MOST = 4
"""Maximum acceptable answers, and sentences, to learn from; a fixed number, so that batches have few shapes."""


class EvidenceFeature(SpanFeature):
    """First and last token of each sentence that the answer follows from."""

    name = "evidence"

    def _spans(self, example: Example, offsets: Offsets) -> list[tuple[int, int]]:
        return token_spans(offsets, example.evidence)


class MatchFeature(Feature):
    """How the passage's tokens match the question, in 255ths; see `matches`."""

    name, dtype = "matches", np.uint8

    def __init__(self, tokenizer: Tokenizer, *, sentences: bool = False) -> None:
        self.tokenizer, self.sentences = tokenizer, sentences
        self.width = MATCHES + sentences * SENTENCE_MATCHES

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[Any]:
        sides = [_words(self.tokenizer, texts_of(chunk, name)) for name in ("source", "question")]
        return [
            np.rint(matches(*pair, sentences=self.sentences).ravel() * 255).astype(np.uint8)
            for pair in zip(*sides, strict=True)
        ]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        parts = np.split(
            (values.astype(np.float32) / np.float32(255)).reshape(-1, self.width), np.cumsum(sizes // self.width)[:-1]
        )
        return {"matches": padded_matches(parts, made["source_mask"])}

    def fingerprint(self) -> Any:
        return [self.name, self.width]


def _words(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[str]]:
    """Return the text of each token."""
    offsets = tokenizer.offsets(texts)
    return [[text[begin:end] for begin, end in own] for text, own in zip(texts, offsets, strict=True)]


def question_features(
    tokenizer: Tokenizer, *, with_matches: bool, sentences: bool = False, with_evidence: bool = False
) -> list[Feature]:
    """Return the features of questions on passages."""
    found: list[Feature] = [TokenFeature("source", tokenizer), QuestionTokens(tokenizer), SpanFeature(tokenizer)]
    if with_evidence:
        found.append(EvidenceFeature(tokenizer))
    return [*found, MatchFeature(tokenizer, sentences=sentences)] if with_matches else found

"""Features of questions: the question's tokens, matches between both texts, and the spans of the answers."""

from __future__ import annotations

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

__all__ = ["MATCHES", "MatchFeature", "SpanFeature", "matches", "padded_matches", "question_features", "token_spans"]

MATCHES = 8
"""Features of a token, see `matches`."""
_STEM = 5
"""Letters of a word's beginning that stand for its stem."""
_NEAR = 8
"""Tokens to each side that count as near."""


def matches(passage: Sequence[str], question: Sequence[str]) -> NDArray[np.float32]:
    """Compare the tokens of a passage with those of a question: features (S, MATCHES), each from 0 to 1.

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
    return found


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
    found = torch.zeros(*mask.shape, MATCHES)
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

    name, dtype, width = "matches", np.uint8, MATCHES

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[Any]:
        sides = [_words(self.tokenizer, texts_of(chunk, name)) for name in ("source", "question")]
        return [np.rint(matches(*pair).ravel() * 255).astype(np.uint8) for pair in zip(*sides, strict=True)]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        parts = np.split(
            (values.astype(np.float32) / np.float32(255)).reshape(-1, MATCHES), np.cumsum(sizes // MATCHES)[:-1]
        )
        return {"matches": padded_matches(parts, made["source_mask"])}


def _words(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[str]]:
    """Return the text of each token."""
    offsets = tokenizer.offsets(texts)
    return [[text[begin:end] for begin, end in own] for text, own in zip(texts, offsets, strict=True)]


def question_features(tokenizer: Tokenizer, *, with_matches: bool, with_evidence: bool = False) -> list[Feature]:
    """Return the features of questions on passages."""
    found: list[Feature] = [TokenFeature("source", tokenizer), QuestionTokens(tokenizer), SpanFeature(tokenizer)]
    if with_evidence:
        found.append(EvidenceFeature(tokenizer))
    return [*found, MatchFeature(tokenizer)] if with_matches else found

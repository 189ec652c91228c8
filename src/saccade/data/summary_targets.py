"""Further targets for summarizers: with few summaries, a model also learns to write titles and to copy sentences.

Control tokens before the source ask for such a target, as in CATTS (Cachola et al. 2020). They are BOS and EOS, which
no text becomes; a source without them asks for what the task writes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from saccade.batch import BOS, EOS
from saccade.config import Config
from saccade.data.example import Example
from saccade.data.features import CopiedTarget, CopyFeature, LinkFeature, TokenFeature
from saccade.data.open_vocabulary import OpenVocabulary
from saccade.data.store import Numbered
from saccade.data.tokenizer import Tokenizer, Tokenizers

__all__ = ["AskedCopies", "AskedTokens", "SummaryConfig", "WordLinks", "key_sentence", "same_words"]

Target = Literal["summary", "title", "key-sentence", "sentence"]


class SummaryConfig(Config):
    """For summarization: what the model learns to write."""

    writes: Target = "summary"
    """What the model writes. key-sentence: the sentence of the text that is most like its summary."""
    also: list[Target] = Field(default_factory=list)
    """What it also learns to write, after control tokens that only training sets.

    title: the field `title` of JSON lines. sentence: one sentence of each text.
    """
    links: Literal["data", "words"] = "data"
    """Gold links for `objective.guided_alignment`. words: from each word of a target to the same word of the text,
    where the words around it are the same too; a word that stands alone only if the text has it once."""


class AskedTokens(TokenFeature):
    """Source tokens. Each training example is repeated for each target, after the control tokens of that target."""

    def __init__(self, tokenizer: Tokenizer, config: SummaryConfig, sentences: Callable[[str], list[str]]) -> None:
        super().__init__("source", tokenizer)
        self._config, self._sentences = config, sentences

    def keep(self, examples: Iterable[Example]) -> Iterator[Example]:
        for number, example in enumerate(examples):
            yield from self._targets(number, example)

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [[*_mark(one), *tokens] for (_, one), tokens in zip(chunk, super().encode(chunk), strict=True)]

    def fingerprint(self) -> Any:
        return [self.name, self._config.model_dump()]

    def _targets(self, number: int, example: Example) -> Iterator[Example]:
        sentences = self._sentences(example.source or "")
        found = {
            "summary": example.target,
            "title": example.title,
            "key-sentence": key_sentence(sentences, example.target or ""),
        }
        place = number % max(len(sentences), 1)
        for name in (self._config.writes, *self._config.also):
            target = sentences[place] if name == "sentence" and sentences else found.get(name)
            if target is None:
                continue
            if name == self._config.writes:
                yield example if name == "summary" else replace(example, target=target, links=None)
            else:
                asked = f"sentence {place}" if name == "sentence" else name
                yield replace(example, target=target, links=None, asked=asked)


class AskedCopies(CopyFeature):
    """The extended-vocabulary number of each source token; copies of control tokens write nothing."""

    def vocabularies(self, chunk: Sequence[Numbered]) -> Iterable[OpenVocabulary]:
        texts = [one.source or "" for _, one in chunk]
        rows = zip(chunk, texts, self.tokenizer.tokens(texts), strict=True)
        return (OpenVocabulary(self.tokenizer, text, [*_mark(one), *tokens]) for (_, one), text, tokens in rows)


class WordLinks(LinkFeature):
    """Gold links by identity: from each token of a target to the places of the text that it may be copied from."""

    def __init__(self, tokenizers: Tokenizers, target: CopiedTarget, copies: CopyFeature) -> None:
        super().__init__(tokenizers)
        self._target, self._copies = target, copies

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        pairs = zip(self._copies.encode(chunk), self._target.encode(chunk), strict=True)
        return [[number for link in same_words(*pair) for number in link] for pair in pairs]

    def fingerprint(self) -> Any:
        return [self.name, "words"]


def same_words(source: Sequence[int], target: Sequence[int]) -> list[tuple[int, int]]:
    """Link each target token to the same token of the source; return (source, target) places.

    Of several places, the longest run of equal tokens around it decides; equal runs all count. A token without equal
    neighbors is linked only if the source has it once.
    """
    if not source or not target:
        return []
    same = np.array(target)[:, None] == np.array(source)[None]
    runs = _runs(same) + _runs(same[::-1, ::-1])[::-1, ::-1] - same
    best = runs.max(1, keepdims=True)
    clear = (best > 1) | (same.sum(1, keepdims=True) == 1)
    places, words = np.nonzero(((runs == best) & same & clear).T)
    return list(zip(places.tolist(), words.tolist(), strict=True))


def _runs(same: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return for each pair of places how many pairs in a row, up to it, are the same."""
    runs = same.astype(np.int64)
    for row in range(1, len(runs)):
        runs[row, 1:] += runs[row - 1, :-1] * same[row, 1:]
    return runs


def key_sentence(sentences: Sequence[str], summary: str) -> str | None:
    """Return the sentence that shares most words and bigrams with the summary (F1); the first among equals."""
    wanted = _grams(summary)
    return max(sentences, key=lambda sentence: _f1(_grams(sentence), wanted), default=None)


def _mark(example: Example) -> list[int]:
    """Return the control tokens that ask for the target of an example."""
    if example.asked is None:
        return []
    if example.asked.startswith("sentence "):
        return [BOS] * (int(example.asked.split()[1]) + 2) + [EOS]
    return {"title": [BOS], "key-sentence": [EOS], "summary": [BOS, EOS]}[example.asked]


def _grams(text: str) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return Counter([(word,) for word in words] + list(pairwise(words)))


def _f1(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
    size = one.total() + other.total()
    return 2 * (one & other).total() / size if size else 0.0

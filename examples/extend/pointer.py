# %% [markdown]
# A custom output layer: a translator that can copy source words, including words outside the vocabulary.
#
# An out-of-vocabulary word has the index vocabulary size + its position in the source. So the size of the output
# distribution differs from batch to batch. Search, server, traces and the page need no change.
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saccade import pytree
from saccade.attention import Tape
from saccade.batch import EOS, PAD, UNK, Batch, read
from saccade.config import Fault
from saccade.data.batch_sampler import Rows
from saccade.data.features import Feature, TokenFeature
from saccade.data.store import Column, Numbered
from saccade.data.tokenizer import Encoded, Spelling, Tokenizer, words_of
from saccade.models import build_head
from saccade.models.base import Seq2Seq
from saccade.tasks.base import Split
from saccade.tasks.generation import ModelInput
from saccade.tasks.translation import Translation


# %% The extended vocabulary of one source: the vocabulary, then the source words outside it.
class WithSource:
    def __init__(self, tokenizer: Tokenizer, source: str) -> None:
        self.tokenizer, self.size = tokenizer, len(tokenizer)
        self.words = words_of(source)
        self.first = {word: place for place, word in reversed(list(enumerate(self.words)))}

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the index of each word: in the vocabulary, else vocabulary size + its first position in the source."""
        known = (tokens[0] for tokens in self.tokenizer.tokens(words))
        return [
            self.size + self.first[word] if token == UNK and word in self.first else token
            for word, token in zip(words, known, strict=True)
        ]

    def encode(self, text: str) -> Encoded:
        words = words_of(text)
        return Encoded(self.numbers(words), list(range(len(words))))

    def decode(self, tokens: Sequence[int]) -> str:
        return self.spelled(tokens)[0]

    def spelled(self, tokens: Sequence[int], *, words: bool = True) -> tuple[str, Encoded]:
        ends = tokens.index(EOS) if EOS in tokens else len(tokens)
        kept = [token for token in tokens[:ends] if token > UNK]
        return " ".join(self.pieces(kept)), Encoded(kept, list(range(len(kept))) if words else [])

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        own = dict(enumerate(self.words, self.size))  # higher indices occur: other sources of the batch may be longer
        return [own.get(token) or self.tokenizer.pieces([token if token < self.size else UNK])[0] for token in tokens]


# %% A further field of the batch: the index in the extended vocabulary of each source word.
@pytree.node
class CopyBatch(Batch):
    copies: Tensor | None = read("source")


class CopyFeature(Feature):
    name = "copies"

    def __init__(self, target: Tokenizer) -> None:
        self.target = target

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [copies_of(WithSource(self.target, example.source or "")) for _, example in chunk]

    def collate(
        self, column: Column, rows: Rows, count: int, positions: int, made: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        values, sizes = column.rows(rows)
        return {"copies": padded(np.split(values, np.cumsum(sizes)[:-1]), made["source_mask"])}


class CopiedTarget(TokenFeature):
    """The target tokens, with copy indices for out-of-vocabulary words that occur in the source."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__("target", tokenizer)
        self.dtype = np.int32  # copy indices exceed the vocabulary

    def encode(self, chunk: Sequence[Numbered]) -> Sequence[list[int]]:
        return [
            WithSource(self.tokenizer, example.source or "").encode(example.target or "").tokens for _, example in chunk
        ]

    def fingerprint(self) -> Any:
        return [self.name, "copied"]


def copies_of(words: WithSource) -> list[int]:
    return [*words.numbers(words.words), EOS]


def padded(rows: Sequence[Sequence[int]], mask: Tensor) -> Tensor:
    copies = torch.full(mask.shape, PAD)
    for row, numbers in enumerate(rows):
        copies[row, : len(numbers)] = torch.as_tensor(numbers)
    return copies


# %% The output layer: wraps any translator with attention, whose vocabulary gets one more token, "copy".
@pytree.node
class Memory:
    inner: Any
    copies: Tensor


class Pointer(Seq2Seq):
    """p(y) = p_inner(y) + p_inner(copy) · Σ a[s] over the source positions s of the word y.

    a is the attention of the step, the mean over heads and layers. Paper: See et al. 2017, arXiv:1704.04368, which uses
    a separate gate to choose between generating and copying.
    """

    def __init__(self, inner: Seq2Seq) -> None:
        super().__init__()
        self.inner, self.vocabulary = inner, inner.vocabulary - 1

    @property
    def source_sites(self) -> list[str]:
        return self.inner.source_sites

    def choices(self, batch: Batch) -> int:
        return self.vocabulary + batch.copies.shape[1]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        return Memory(self.inner.encode(batch, tape=tape), batch.copies)

    def init_state(self, memory: Memory, max_length: int) -> Any:
        return self.inner.init_state(memory.inner, max_length)

    def step(self, memory: Memory, state: Any, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        tape = Tape() if tape is None else tape
        logits, state = self.inner.step(memory.inner, state, self.known(tokens), tape=tape)
        copies = memory.copies.repeat_interleave(len(tokens) // len(memory.copies), 0)
        return self.mixed(logits[:, None], copies, tape)[:, 0], state

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        tape = Tape() if tape is None else tape
        return self.mixed(self.inner(replace(batch, target=self.known(batch.target)), tape=tape), batch.copies, tape)

    def known(self, tokens: Tensor) -> Tensor:
        """Replace copy indices by UNK, because the decoder has no embedding for them."""
        return tokens.masked_fill(tokens >= self.vocabulary, UNK)

    def mixed(self, logits: Tensor, copies: Tensor, tape: Tape) -> Tensor:
        """Mix logits (B, T, V + 1) of the inner model with copies to log-probabilities (B, T, V + S)."""
        write, copy = torch.softmax(logits.float(), -1).split([self.vocabulary, 1], -1)
        steps = logits.shape[1]
        weights = torch.stack([tape[site][:, :, -steps:].float().mean(1) for site in self.source_sites]).mean(0)
        places = copies[:, None].expand(-1, steps, -1)
        both = torch.cat([write, torch.zeros_like(weights)], -1).scatter_add(-1, places, copy * weights)
        return both.clamp_min(1e-9).log()


# %% The task: translation with this output layer.
class Copying(Translation):
    name = "copying"
    batch = CopyBatch

    @classmethod
    def faults(cls, recipe: Any) -> Iterator[Fault]:
        yield from super().faults(recipe)
        if (recipe.tokenizer.kind, recipe.tokenizer.punctuation, recipe.tokenizer.lowercase) != ("word", "keep", False):
            yield Fault(("tokenizer",), "whole words are copied: set kind: word, punctuation: keep, lowercase: false")

    def _build(self) -> Pointer:
        sizes = len(self.source), len(self.target) + 1
        return Pointer(build_head(self.head, self.recipe.model_settings(), *sizes))

    def features(self, split: Split) -> list[Feature]:
        source, _, *others = super().features(split)
        return [source, CopiedTarget(self.target), CopyFeature(self.target), *others]

    def read(self, inputs: Sequence[str], *, sides: bool = True) -> ModelInput:
        found = super().read(inputs, sides=sides)
        rows = [copies_of(WithSource(self.target, text)) for text in inputs]
        copies = padded(rows, found.batch.source_mask).to(self.device)
        return replace(found, batch=CopyBatch(**{**vars(found.batch), "copies": copies}))

    def spelling(self, text: str) -> Spelling:
        return WithSource(self.target, text)

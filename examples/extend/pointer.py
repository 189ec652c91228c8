# %% [markdown]
# A custom output layer: the vocabulary has one more word, "copy", whose probability goes to the attended source words.
#
# An out-of-vocabulary word has the index vocabulary size + its position in the source. So the size of the output
# distribution differs from batch to batch. Search, server, traces and the page need no change.
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from saccade import pytree
from saccade.attention import Tape
from saccade.batch import UNK, Batch
from saccade.config import Fault
from saccade.models import build_head
from saccade.models.base import Seq2Seq
from saccade.tasks.translation import Translation


# %% The output layer: wraps any translator with attention.
@pytree.node
class Memory:
    inner: Any
    copies: Tensor


class Sentinel(Seq2Seq):
    """p(y) = p_inner(y) + p_inner(copy) · Σ a[s] over the source positions s of the word y.

    a is the attention of the step, the mean over heads and layers. After Merity et al. 2017, arXiv:1609.07843. The
    package's own `output: pointer` has a gate instead, which is computed apart from the words (See et al. 2017).
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
        tape = Tape(only=self.source_sites) if tape is None else tape
        logits, state = self.inner.step(memory.inner, state, self.known(tokens), tape=tape)
        copies = memory.copies.repeat_interleave(len(tokens) // len(memory.copies), 0)
        return self.mixed(logits[:, None], copies, tape)[:, 0], state

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        tape = Tape(only=self.source_sites) if tape is None else tape
        return self.mixed(self.inner(replace(batch, target=self.known(batch.target)), tape=tape), batch.copies, tape)

    def known(self, tokens: Tensor) -> Tensor:
        """Replace copy indices by UNK, because the decoder has no embedding for them."""
        return tokens.masked_fill(tokens >= self.vocabulary, UNK)

    def mixed(self, logits: Tensor, copies: Tensor, tape: Tape) -> Tensor:
        """Mix logits (B, T, V + 1) of the inner model with copies to log-probabilities (B, T, V + S)."""
        write, copy = torch.softmax(logits.float(), -1).split([self.vocabulary, 1], -1)
        steps = logits.shape[1]
        weights = tape.mean(self.source_sites)[:, -steps:]
        places = copies[:, None].expand(-1, steps, -1)
        both = torch.cat([write, torch.zeros_like(weights)], -1).scatter_add(-1, places, copy * weights)
        return both.clamp_min(1e-9).log()


# %% The task: translation with this output layer. `copies` asks for the indices of source words in each batch.
class Copying(Translation):
    name = "copying"
    copies = True

    @classmethod
    def faults(cls, recipe: Any) -> Iterator[Fault]:
        yield from super().faults(recipe)
        if not recipe.tokenizer.shared:
            yield Fault(("tokenizer", "shared"), "source words are copied as they are: set it to true")

    def _build(self) -> Sentinel:
        size = len(self.target) + 1
        return Sentinel(build_head(self.head, self.recipe.model_settings(), size, size))

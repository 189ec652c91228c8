"""What training and search may assume of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from saccade import tree
from saccade.attention.tape import DISTRIBUTION, Tape
from saccade.batch import Batch
from saccade.errors import ConfigError, DataError, ShapeError

__all__ = ["Classifying", "Seq2Seq", "check_fed", "inputs_of", "source_of", "tie"]


class Seq2Seq(nn.Module, ABC):
    """A model that writes a sequence, a word at a time; a language model is one without a source.

        memory = model.encode(batch)                          once per source
        state = model.start(memory, max_length)               everything a step needs, allocated
        logits, state = model.step(memory, state, tokens)     tokens (N,) -> logits (N, V)
        logits = model(batch)                                 teacher forcing: (B, T, V) for the whole target

    Memory and State are trees of tensors (see `saccade.tree`) with the batch axis first. A memory of B
    sentences serves the states of N = B·K hypotheses, K of each sentence in a run. A state keeps its shapes
    from start to end, and a step uses it up: never read the old one, clone it to branch.
    """

    vocabulary: int
    """The size of the target's vocabulary."""
    output: nn.Linear
    """The layer that predicts words from `vectors`; a model that predicts in another way has none."""
    retired_weights: ClassVar[frozenset[str]] = frozenset()
    """Names of weights that older versions saved and this one has no use for; loading leaves them out."""

    @property
    def source_sites(self) -> list[str]:
        """The attention sites of a Tape whose keys are positions of the source, or of the first of several sources."""
        return []

    def sides(self, site: str) -> tuple[str, str]:
        """Return the names of what the rows and the columns of a site's attention stand for.

        "target" is the answer and "written" what the decoder has seen of it; every other name is a source. A model
        that reads more than the one called "source" says here which of them a site attends to.
        """
        site = site.removesuffix(DISTRIBUTION)
        if site in self.source_sites:
            return "target", "source"
        return ("source", "source") if site.startswith("encoder") else ("target", "written")

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        """Return by name which positions (B, S) of a source are real, for each source that has padding.

        These are the keys that decoders attend to. A model with an encoder that shortens its input says so here.
        """
        return {} if batch.source_mask is None else {"source": batch.source_mask}

    def choices(self, batch: Batch) -> int:
        """Return V, how many words there are to choose from; more than the vocabulary where source words are copied.

        It may differ from batch to batch. A search takes V from the logits of each step.
        """
        return self.vocabulary

    @abstractmethod
    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Any:
        """Read the sources."""

    @abstractmethod
    def start(self, memory: Any, max_length: int) -> Any:
        """The state before the first of at most `max_length` words, one row a sentence."""

    @abstractmethod
    def step(self, memory: Any, state: Any, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        """Feed one word (N,) to each hypothesis: logits (N, V) of the next, and the state after it."""

    def extend(self, memory: Any, state: Any, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        """Feed several words (N, T): logits (N, T, V), state."""
        check_fed(tokens, memory, state, rank=2)
        logits = []
        for t in range(tokens.shape[1]):
            scores, state = self.step(memory, state, tokens[:, t], tape=tape)
            logits.append(scores)
        return torch.stack(logits, 1), state

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        """Logits (B, T, V) for `batch.expected`, given all the words before each."""
        if "output" in self._modules:
            out: Tensor = self.output(self.vectors(batch, tape=tape))
            return out
        inputs = inputs_of(batch)
        memory = self.encode(batch, tape=tape)
        return self.extend(memory, self.start(memory, inputs.shape[1]), inputs, tape=tape)[0]

    def force(self, batch: Batch, *, tape: Tape) -> None:
        """Feed the target, for what the tape records; logits are computed only where there is no way around them."""
        if "output" in self._modules:
            self.vectors(batch, tape=tape)
        else:
            self(batch, tape=tape)

    def vectors(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        """(B, T, D): what the output layer predicts each word of `batch.expected` from.

        Training computes its loss from these, a few rows at a time, and never holds the logits of a whole batch.
        """
        raise TypeError(f"{type(self).__name__} has an output layer, but does not say what it reads: write vectors()")


class Classifying(nn.Module, ABC):
    """A model that answers a whole input with one of several classes."""

    classes: int

    @abstractmethod
    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        """Logits (B, classes)."""


def source_of(batch: Batch) -> tuple[Tensor, Tensor]:
    """Source tokens (B, S) and mask of a batch that must have them."""
    _check_batch(batch)
    if batch.source is None or batch.source_mask is None:
        raise DataError("this model reads a source, but the Batch has none. Pass sources to Batch.of.")
    if batch.source.dim() != 2:
        raise ShapeError(
            f"source is {tuple(batch.source.shape)}, but this model reads tokens (B, S). Batch.of pads lists of them."
        )
    return batch.source, batch.source_mask


def inputs_of(batch: Batch) -> Tensor:
    """The words (B, T) a teacher-forced decoder is fed, of a batch that must have some."""
    _check_batch(batch)
    if batch.inputs.shape[1] == 0:
        raise DataError(
            f"target is {(batch.size, 1)}: after its first token no word is left to predict. Batch.of adds BOS and EOS."
        )
    return batch.inputs


def _check_batch(batch: object) -> None:
    if not isinstance(batch, Batch):
        raise DataError(f"a model reads a Batch, but was given a {type(batch).__name__}. Batch.of makes one.")


def check_fed(tokens: Tensor, memory: Any, state: Any, *, rank: int = 1) -> None:
    """Refuse what is not one word for every row of the state (or, at rank 2, some words for every row)."""
    if torch.compiler.is_compiling():
        return
    sentences, rows = tree.row_count(memory), tree.row_count(state)
    if rows % sentences:
        raise ShapeError(
            f"the state has {rows} rows, but the memory {sentences}: there must be as many hypotheses of every "
            "sentence. Repeat the start's rows with tree.repeat_rows."
        )
    words = tokens.dtype in (torch.int64, torch.int32)
    if not words or tokens.dim() != rank or tokens.shape[0] != rows or 0 in tokens.shape:
        raise ShapeError(
            f"tokens are {tuple(tokens.shape)} of {tokens.dtype}, but the state has {rows} rows, so they must be "
            + (
                f"({rows},) of torch.int64: one word each."
                if rank == 1
                else f"({rows}, T) of torch.int64, T at least 1."
            )
        )


def tie(output: nn.Linear, embedding: nn.Embedding) -> None:
    """Let the output layer predict with the embedding's own matrix."""
    if output.weight.shape != embedding.weight.shape:
        raise ConfigError(
            f"tied embeddings need one shape, but the output layer is {tuple(output.weight.shape)} and the embedding "
            f"{tuple(embedding.weight.shape)} (words, width). Make the read-out as wide as the embedding and share "
            "the vocabulary, or set tied to false."
        )
    output.weight = embedding.weight

"""The model interfaces that training and search rely on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.attention.tape import DISTRIBUTION, Tape
from saccade.batch import Batch
from saccade.deprecated import warn_renamed
from saccade.errors import ConfigError, DataError, ShapeError

__all__ = ["Classifying", "Seq2Seq", "check_fed", "inputs_of", "source_of", "tie"]


class Seq2Seq(nn.Module, ABC):
    """A model that generates a sequence token by token; a language model is one without a source.

        memory = model.encode(batch)                          once per source
        state = model.init_state(memory, max_length)          allocates all that the steps need
        logits, state = model.step(memory, state, tokens)     tokens (N,) -> logits (N, V)
        logits = model(batch)                                 teacher forcing: (B, T, V) for the whole target

    Memory and State are pytrees of tensors (see `saccade.pytree`) with the batch axis first. A memory of B
    sentences serves the states of N = B·K hypotheses; the K hypotheses of a sentence are adjacent rows. A state
    keeps its shapes during decoding. `step` may overwrite the state it gets: read only the returned one, and
    clone a state to branch from it.
    """

    vocabulary: int
    """Size of the target vocabulary."""
    output: nn.Linear
    """The output layer over `hidden_states`; a model that predicts in another way has none."""
    attends_afterwards: bool = False
    """Whether some of its attention depends on the chosen word: searches then record attention by `force` at the end.
    """
    sums_scores: bool = False
    """Whether `step` returns scores that a search adds up, instead of logits that it normalizes first."""
    retired_weights: ClassVar[frozenset[str]] = frozenset()
    """Names of weights that older versions saved and this one does not use; loading skips them."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for old, new in (("start", "init_state"), ("vectors", "hidden_states")):
            if old in cls.__dict__ and new not in cls.__dict__:
                warn_renamed(f"{cls.__name__}.{old}", f"{cls.__name__}.{new}")
                setattr(cls, new, cls.__dict__[old])

    @property
    def source_sites(self) -> list[str]:
        """Attention sites on a Tape whose keys are source positions; with several sources, those of the first."""
        return []

    def sides(self, site: str) -> tuple[str, str]:
        """Return which sequences the rows and the columns of a site's attention stand for.

        "target" is the output and "written" the part of it fed to the decoder so far; any other name is a source.
        A model with several sources overrides this to name the source of each site.
        """
        site = site.removesuffix(DISTRIBUTION)
        if site in self.source_sites:
            return "target", "source"
        return ("source", "source") if site.startswith("encoder") else ("target", "written")

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        """Return the mask (B, S) of real positions by name, for each source that has padding.

        The positions are the keys that decoders attend to. A model whose encoder shortens its input overrides this.
        """
        return {} if batch.source_mask is None else {"source": batch.source_mask}

    def linked(self, batch: Batch) -> Tensor:
        """Return the gold attention (B, T, keys) of a batch that has `links`, for the keys that decoders attend to."""
        assert batch.links is not None
        return batch.links

    def choices(self, batch: Batch) -> int:
        """Return V, the number of words to choose from; above the vocabulary size if source words can be copied.

        V may differ between batches. A search takes it from the logits of each step.
        """
        return self.vocabulary

    @abstractmethod
    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Any:
        """Encode the sources."""

    @abstractmethod
    def init_state(self, memory: Any, max_length: int) -> Any:
        """Return the state before the first of at most `max_length` words, one row per sentence."""

    @abstractmethod
    def step(self, memory: Any, state: Any, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        """Feed one word (N,) to each hypothesis; return logits (N, V) for the next word, and the new state."""

    def extend(self, memory: Any, state: Any, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        """Feed several words (N, T); return logits (N, T, V) and the new state."""
        check_fed(tokens, memory, state, rank=2)
        logits = []
        for t in range(tokens.shape[1]):
            scores, state = self.step(memory, state, tokens[:, t], tape=tape)
            logits.append(scores)
        return torch.stack(logits, 1), state

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        """Return logits (B, T, V) for `batch.expected` by teacher forcing."""
        if "output" in self._modules:
            out: Tensor = self.output(self.hidden_states(batch, tape=tape))
            return out
        inputs = inputs_of(batch)
        memory = self.encode(batch, tape=tape)
        return self.extend(memory, self.init_state(memory, inputs.shape[1]), inputs, tape=tape)[0]

    def force(self, batch: Batch, *, tape: Tape) -> None:
        """Run teacher forcing to record attention on the tape; skip the logits where the model allows it."""
        if "output" in self._modules:
            self.hidden_states(batch, tape=tape)
        else:
            self(batch, tape=tape)

    def hidden_states(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        """Return (B, T, D), the input of the output layer for each word of `batch.expected`.

        Training computes the loss from it in chunks, so the logits of a whole batch are never in memory.
        """
        raise TypeError(
            f"{type(self).__name__} has an output layer, but does not compute its input: write hidden_states()"
        )

    def start(self, memory: Any, max_length: int) -> Any:
        """Call `init_state`, the new name of this method."""
        warn_renamed("Seq2Seq.start", "Seq2Seq.init_state")
        return self.init_state(memory, max_length)

    def vectors(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        """Call `hidden_states`, the new name of this method."""
        warn_renamed("Seq2Seq.vectors", "Seq2Seq.hidden_states")
        return self.hidden_states(batch, tape=tape)


class Classifying(nn.Module, ABC):
    """A model that classifies a whole input."""

    classes: int

    @abstractmethod
    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        """Return logits (B, classes)."""


def source_of(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return source tokens (B, S) and their mask; raise an error if the batch has no source tokens."""
    _check_batch(batch)
    if batch.source is None or batch.source_mask is None:
        raise DataError("this model reads a source, but the Batch has none. Pass sources to Batch.from_lists.")
    if batch.source.dim() != 2:
        raise ShapeError(
            f"source is {tuple(batch.source.shape)}, but this model reads tokens (B, S). Batch.from_lists pads lists "
            "of them."
        )
    return batch.source, batch.source_mask


def inputs_of(batch: Batch) -> Tensor:
    """Return the decoder inputs (B, T) for teacher forcing; raise DataError if T is 0."""
    _check_batch(batch)
    if batch.inputs.shape[1] == 0:
        raise DataError(
            f"target is {(batch.size, 1)}: after its first token no word is left to predict. Batch.from_lists adds BOS "
            "and EOS."
        )
    return batch.inputs


def _check_batch(batch: object) -> None:
    if not isinstance(batch, Batch):
        raise DataError(f"a model reads a Batch, but was given a {type(batch).__name__}. Batch.from_lists makes one.")


def check_fed(tokens: Tensor, memory: Any, state: Any, *, rank: int = 1) -> None:
    """Raise ShapeError unless every row of the state gets one word, or at rank 2 at least one word."""
    if torch.compiler.is_compiling():
        return
    sentences, rows = pytree.row_count(memory), pytree.row_count(state)
    if rows % sentences:
        raise ShapeError(
            f"the state has {rows} rows, but the memory {sentences}: every sentence needs the same number of "
            "hypotheses. Repeat the rows of the initial state with pytree.repeat_rows."
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
    """Share the embedding matrix with the output layer."""
    if output.weight.shape != embedding.weight.shape:
        raise ConfigError(
            f"tied embeddings need one shape, but the output layer is {tuple(output.weight.shape)} and the embedding "
            f"{tuple(embedding.weight.shape)} (words, width). Make the read-out as wide as the embedding and share "
            "the vocabulary, or set tied to false."
        )
    output.weight = embedding.weight

"""Pointer: an output that writes words of the vocabulary or copies words of the source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import torch
from pydantic import model_validator
from torch import Tensor

from saccade import pytree
from saccade.attention.tape import Tape
from saccade.batch import COPY, UNK, Batch
from saccade.config import Config, Index
from saccade.errors import ConfigError, DataError, unknown_name
from saccade.kernels.mixture import mixture
from saccade.models.base import Seq2Seq
from saccade.models.heads import build_head

__all__ = ["Memory", "OutputConfig", "Pointer", "build_pointer"]


class OutputConfig(Config):
    """How a sequence-to-sequence model predicts. `output: pointer` is short for `output: {kind: pointer}`."""

    kind: Literal["words", "pointer"] = "words"
    """words: words of the vocabulary. pointer: also copies of source words, with unknown words among them."""
    site: str | None = None
    """Attention site to copy from, such as decoder.layers.1.cross; default: the mean over all cross-attention sites."""
    head: Index | None = None
    """Head to copy from, from 0; default: the mean over all heads."""

    @model_validator(mode="before")
    @classmethod
    def _spell_out(cls, data: Any) -> Any:
        return {"kind": data} if isinstance(data, str) else data


@pytree.node
class Memory:
    """The memory of the inner model, and what a copy of each source token writes."""

    inner: Any
    copies: Tensor


class Pointer(Seq2Seq):
    """A pointer-generator around any sequence-to-sequence model with attention to its source.

        P(y) = p_gen · softmax(z)[y] + (1 - p_gen) · Σ a[s] over the source positions s that hold y
        p_gen = σ(z_gate)

    z are the inner model's logits and a its attention: of one site and head, or the mean over all, scaled to sum to 1
    where an align or a window leaves less. Unknown words of the source extend the vocabulary of their sentence, see
    `Batch.copies`. The inner model has one word more than the vocabulary. Its logit is z_gate, so the gate reads what
    the output layer reads: in recurrent models the state and the context, but not always the word, as in the paper.

    Paper: See et al. 2017, arXiv:1704.04368.
    """

    attends_afterwards = True

    def __init__(self, inner: Seq2Seq, *, site: str | None = None, head: int | None = None) -> None:
        super().__init__()
        if not inner.source_sites:
            raise ConfigError("output: pointer copies by attention to the source, but this model has none.")
        if site is not None and site not in inner.source_sites:
            raise unknown_name("output.site", site, inner.source_sites)
        self.inner, self.vocabulary = inner, inner.vocabulary - 1
        self.sites, self.head = inner.source_sites if site is None else [site], head

    @property
    def source_sites(self) -> list[str]:
        return self.inner.source_sites

    def sides(self, site: str) -> tuple[str, str]:
        return ("target", "source") if site == COPY else self.inner.sides(site)

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        return self.inner.visible(batch)

    def choices(self, batch: Batch) -> int:
        return self.vocabulary + _copies(batch).shape[1]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        return Memory(self.inner.encode(batch, tape=tape), _copies(batch))

    def init_state(self, memory: Memory, max_length: int) -> Any:
        return self.inner.init_state(memory.inner, max_length)

    def step(self, memory: Memory, state: Any, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        tape = self.recorder() if tape is None else tape
        logits, state = self.inner.step(memory.inner, state, self.known(tokens), tape=tape)
        return self.mixed(logits[:, None], memory.copies, tape)[:, 0], state

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        inner = self.recorder() if tape is None else tape
        logits = self.inner(replace(batch, target=self.known(batch.target)), tape=inner)
        logs = self.mixed(logits, _copies(batch), inner)
        if inner.finished:
            inner.write(COPY, self.copied(batch, logits, logs, inner)[:, None], owner=self)
        return logs

    def recorder(self) -> Tape:
        """Return a tape for the attention that copies."""
        return Tape(only=self.sites)

    def known(self, tokens: Tensor | None) -> Tensor:
        """Replace words outside the vocabulary by UNK, since the inner model has no embedding for them."""
        assert tokens is not None
        return tokens.masked_fill(tokens >= self.vocabulary, UNK)

    def mixed(self, logits: Tensor, copies: Tensor, tape: Tape) -> Tensor:
        """Mix the inner model's logits (N, T, V + 1) with copies to log-probabilities (N, T, V + S).

        copies (B, S); K·B = N rows of hypotheses share them.
        """
        return mixture(logits, tape.mean(self.sites, self.head)[:, -logits.shape[1] :], copies)

    @torch.no_grad()
    def copied(self, batch: Batch, logits: Tensor, logs: Tensor, tape: Tape) -> Tensor:
        """Return the probability (B, T, S) that each expected word was copied from each source position.

        A row sums to 1 if the word can only have been copied, and to 0 if it is not in the source.
        """
        expected = batch.expected[..., None]
        weights = torch.sigmoid(-logits[..., -1:].float()) * self._weights(tape, logits.shape[1])
        copies = _copies(batch)[:, None]
        return weights * (copies == expected) / logs.gather(-1, expected.clamp_max(logs.shape[-1] - 1)).exp()

    def _weights(self, tape: Tape, steps: int) -> Tensor:
        """Return the attention (N, T, S) of the last steps; each row sums to 1."""
        weights = tape.mean(self.sites, self.head)[:, -steps:]
        return weights / weights.sum(-1, keepdim=True).clamp_min(torch.finfo(weights.dtype).tiny)


def build_pointer(family: Config, vocabulary: int, output: OutputConfig) -> Pointer:
    """Build a pointer around a sequence-to-sequence model of a family; both sides have one vocabulary."""
    inner = build_head("sequence_to_sequence", family, vocabulary + 1, vocabulary + 1)
    return Pointer(inner, site=output.site, head=output.head)


def _copies(batch: Batch) -> Tensor:
    if batch.copies is None:
        raise DataError("a model with output: pointer needs Batch.copies. OpenVocabulary(tokenizer, text) has them.")
    return batch.copies

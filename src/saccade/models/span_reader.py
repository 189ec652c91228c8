"""Span reader: answers a question by pointing at the first and at the last word of the answer in a passage."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from saccade import masks
from saccade.attention import Attention, AttentionOutput, General, Tape, build_attention, name_sites
from saccade.batch import AskedBatch, check_tokens
from saccade.config import Config, Count, Share
from saccade.errors import DataError
from saccade.kernels.dropout import Dropout
from saccade.layers.comparing import Flow, WordHops
from saccade.layers.encoder import Encoder, EncoderOutput
from saccade.layers.pooling import AttentionPooling
from saccade.layers.stack import Layers
from saccade.models.base import source_of
from saccade.models.family import WordNetwork

__all__ = ["SpanReader", "SpanReaderConfig"]


class SpanReaderConfig(Config):
    """For questions: how the reader compares a question with its passage."""

    matches: bool = True
    """Whether the reader sees which words of the passage occur in the question, and how rare they are."""
    sentences: bool = False
    """Whether the reader also sees how many of the question's words each sentence has, weighted by their rarity."""
    align: bool = True
    """Whether each word of the passage attends to similar words of the question."""
    joint: bool = False
    """Whether one encoder reads the question and the passage as one sequence, as Transformers do."""
    flow: bool = False
    """Whether an attention flow and a second encoder follow the encoder (BiDAF)."""
    every_word: bool = False
    """Whether the reader attends to the passage once for every word of the question (impatient reader)."""
    hops: int = Field(0, ge=0, le=8)
    """Number of times that the reader attends to the passage before it points at the answer."""
    cell: Literal["gru", "lstm"] = "gru"
    """Cell of the second encoder."""
    dropout: Share = 0.0
    """Dropout of embeddings and of encoded words."""
    longest: Count = 15
    """Maximum tokens of an answer."""
    window: Count = 400
    """Tokens of a window; a longer passage is read in windows that overlap by half."""


class SpanReader(nn.Module):
    """A reader over any encoder. Its last attention is the answer: its first step the start, its second the end.

        h = encoder(x + F f + A aligned)        the passage; f: its matches
        u = encoder(question)                   q = Σ_t b[t] u[t], b the softmax for a learned query
        q ← GRU(Σ_s a[s] h[s], q)               for each hop, an attention a to the passage
        start = softmax_s(h W q)                end = softmax_s(h W q'), q' = tanh(V [q ; Σ_s start[s] h[s]])

    Papers: Hermann et al. 2015, arXiv:1506.03340; Chen et al. 2017, arXiv:1704.00051 (`align` and `matches`).
    """

    def __init__(
        self, passage: WordNetwork[Encoder], question: Encoder | None, matches: int, config: SpanReaderConfig
    ) -> None:
        """Join an embedding and its encoder of passages, an encoder of questions unless `joint`, and the settings."""
        super().__init__()
        width, embedded = passage.network.width, passage.embedding.embedding_dim
        self.embedding, self.encoder, self.scale = passage.embedding, passage.network, passage.scale
        self.question_encoder, self.config = question, config
        self.word_dropout, self.dropout = passage.dropout or Dropout(config.dropout), Dropout(config.dropout)
        self.from_matches = nn.Linear(matches, embedded, bias=False) if config.matches else None
        self.aligned = build_attention("projected-dot", embedded, embedded) if config.align else None
        self.from_aligned = nn.Linear(embedded, embedded, bias=False) if config.align else None
        self.segments = nn.Embedding(2, embedded) if question is None else None
        self.flow = Flow(width, config.cell) if config.flow else None
        self.summary = AttentionPooling(width)
        self.words = WordHops(width) if config.every_word else None
        self.hops: Layers[Attention] = Layers(Attention(General(width, width)) for _ in range(config.hops))
        self.hop_cell = nn.GRUCell(width, width) if config.hops else None
        self.answer = Attention(General(width, width))
        self.to_end = nn.Linear(2 * width, width)
        name_sites(self)

    source_sites = ("answer",)
    """The sites whose weights are the answer."""

    def sides(self, site: str) -> tuple[str, str]:
        """Return what the rows and the columns of a site stand for; "summary" is a single row."""
        part = site.split(".")[0]
        sides = {
            "answer": ("target", "source"),
            "aligned": ("source", "question"),
            "flow": ("source", "question"),
            "words": ("question", "source"),
            "hops": ("summary", "source"),
            "summary": ("summary", "question"),
            "question_encoder": ("question", "question"),
        }
        return sides.get(part, ("source", "source"))

    def forward(self, batch: AskedBatch, *, start: Tensor | None = None, tape: Tape | None = None) -> Tensor:
        """Return log-probabilities (B, 2, S) of the first and of the last token of the answer.

        With `start` (B,), the end is the end of an answer that starts there.
        """
        passage, mask, question, question_mask = self._encoded(batch, tape)
        if self.flow is not None:
            passage = self.flow(passage, mask, question, question_mask, tape=tape)
        query = self.summary(EncoderOutput(question, question[:, 0]), question_mask, tape=tape)
        if self.words is not None:
            query = query + self.words(passage, mask, question, question_mask, tape=tape)
        for hop in self.hops:
            assert self.hop_cell is not None
            found = hop(query[:, None], hop.bank(passage, mask=mask), tape=tape).context[:, 0]
            query = self.hop_cell(found, query)
        bank, tape = self.answer.bank(passage, mask=mask), Tape() if tape is None else tape  # a tape asks for weights
        first = self.answer(query[:, None], bank, tape=tape)
        context = first.context[:, 0] if start is None else passage[torch.arange(len(start)), start]
        ending = torch.tanh(self.to_end(torch.cat([query, context], -1)))
        return torch.cat([_logs(first), _logs(self.answer(ending[:, None], bank, tape=tape))], 1)

    def _encoded(self, batch: AskedBatch, tape: Tape | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the encoded passage (B, S, D) and question (B, Q, D), each with its mask."""
        tokens, mask = source_of(batch)
        if batch.question is None or batch.question_mask is None:
            raise DataError("this model reads a question and a passage, but the Batch has no question.")
        check_tokens("source", tokens, self.embedding.num_embeddings)
        check_tokens("question", batch.question, self.embedding.num_embeddings)
        words, asked = (self.word_dropout(self.embedding(part) * self.scale) for part in (tokens, batch.question))
        passage = words
        if self.from_matches is not None:
            assert batch.matches is not None
            passage = passage + self.from_matches(batch.matches.to(words.dtype))
        if self.aligned is not None and self.from_aligned is not None:
            found = self.aligned(words, self.aligned.bank(asked, mask=batch.question_mask), tape=tape).context
            passage = passage + self.from_aligned(found)
        if self.question_encoder is None:
            passage, question = self._jointly(passage, mask, asked, batch.question_mask)
        else:
            passage = self.encoder(passage, mask, tape=tape).annotations
            question = self.question_encoder(asked, batch.question_mask, tape=tape).annotations
        return self.dropout(passage), mask, self.dropout(question), batch.question_mask

    def _jointly(self, passage: Tensor, mask: Tensor, question: Tensor, question_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Encode the question and the passage as one sequence, without the padding between them."""
        assert self.segments is not None
        asked, size = question.shape[1], passage.shape[1]
        both = torch.cat([question + self.segments.weight[0], passage + self.segments.weight[1]], 1)
        begin = masks.lengths_of(question_mask)[:, None]  # of the passage
        places = torch.arange(asked + size, device=passage.device)
        moved = torch.where(places < begin, places, (places - begin + asked).clamp_max(asked + size - 1))
        encoded = self.encoder(_gathered(both, moved), places < begin + masks.lengths_of(mask)[:, None]).annotations
        return _gathered(encoded, begin + places[:size]), encoded[:, :asked]


def _gathered(sequences: Tensor, places: Tensor) -> Tensor:
    return sequences.gather(1, places[..., None].expand(-1, -1, sequences.shape[-1]))


def _logs(step: AttentionOutput) -> Tensor:
    assert step.weights is not None
    weights = step.weights.float()
    return weights.clamp_min(torch.finfo(weights.dtype).tiny).log()

"""The hierarchical encoder-decoder for dialogues: a recurrent encoder over words, another over turns."""

from __future__ import annotations

from pydantic import model_validator
from torch import Tensor, nn

from saccade.attention import ALIGNS, Attention, MultiHead, Tape
from saccade.attention.turns import TurnAttention, Turns
from saccade.batch import BOS, EOS, Batch, DialogueBatch, check_tokens
from saccade.config import Width
from saccade.layers.turn_encoder import TurnEncoder
from saccade.models.base import source_of, tie
from saccade.models.model_config import AttentionConfig, EncoderConfig
from saccade.models.recurrent import Memory, RecurrentConfig, RecurrentSeq2Seq, attach_decoder

__all__ = ["HierarchicalConfig", "HierarchicalSeq2Seq", "turns_of"]


class HierarchicalSeq2Seq(RecurrentSeq2Seq):
    """A recurrent encoder-decoder whose encoder reads a dialogue turn by turn.

    BOS and EOS in the source, the marks before turns, begin a turn (`saccade.data.turns`). A source without them is one
    turn. Attention, if any, is a TurnAttention; its weights are one distribution over all words, as in any other model.
    """

    encoder: TurnEncoder

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        tokens, mask = source_of(batch)
        assert self.source_embedding is not None
        check_tokens("source", tokens, self.source_embedding.num_embeddings)
        room = batch.turns if isinstance(batch, DialogueBatch) else None
        where = turns_of(tokens, mask, None if room is None else (room.shape[1], room.shape[2]))
        encoded = self.encoder(self.source_dropout(self.source_embedding(tokens)), mask, where=where, tape=tape)
        bank = None
        if self.attention is not None:
            assert isinstance(self.attention, TurnAttention)
            bank = self.attention.bank_of_turns(encoded.annotations, encoded.turns, mask, where)
        return Memory(self.first_state(encoded, mask), bank, encoded.last if self.summary else None)


def turns_of(tokens: Tensor, mask: Tensor, room: tuple[int, int] | None = None) -> Turns:
    """Return the turns of sources (B, S): each mark, BOS or EOS, begins one. For `room` see `Turns.starting`."""
    return Turns.starting((tokens == BOS) | (tokens == EOS), mask, room)


class _TurnAttentionConfig(AttentionConfig):
    """The settings of an attention over words, used for turns of this width too."""

    turn_width: Width

    def build(
        self, query_width: int, key_width: int, value_width: int | None = None, **more: object
    ) -> Attention | MultiHead:
        words, turns = (
            super(_TurnAttentionConfig, self).build(query_width, width) for width in (key_width, self.turn_width)
        )
        assert isinstance(words, Attention)
        assert isinstance(turns, Attention)
        return TurnAttention(words.score, turns.score, words.align, dropout=self.dropout)


class HierarchicalConfig(RecurrentConfig):
    """The hierarchical family for dialogues: `encoder` reads the words of each turn, `turns` the turns in order.

    Classifiers and language models of this family are those of the recurrent family: they do not use `turns`.
    """

    turns: EncoderConfig = EncoderConfig()
    """The recurrent layers over turns; their dropout applies to turn vectors and between layers."""

    @model_validator(mode="after")
    def _check_attention(self) -> HierarchicalConfig:
        attention = self.attention
        if attention is None:
            return self
        if attention.heads is not None or attention.window != "global":
            raise ValueError("attention over turns has one head and the window 'global': leave heads and window out")
        align = ALIGNS.get(attention.align)
        if align is not None and (align.sequential or align.samples):
            raise ValueError(
                f"attention over turns needs softmax, sparsemax or entmax as its align, not {attention.align!r}"
            )
        return self

    def sequence_to_sequence(self, source_vocabulary: int, target_vocabulary: int) -> RecurrentSeq2Seq:
        """Build an encoder-decoder for dialogues."""
        words = self.encoder.build(self.embedding)
        encoder = TurnEncoder(words, self.turns.build(words.width))
        attention = None
        if self.attention is not None:
            attention = _TurnAttentionConfig(**self.attention.model_dump(), turn_width=encoder.turns.width)
        model = attach_decoder(
            nn.Embedding(source_vocabulary, self.embedding),
            encoder,
            target_vocabulary,
            self.embedding,
            self.decoder,
            attention,
            self.encoder.drops(),
            HierarchicalSeq2Seq,
        )
        if self.tied:
            tie(model.output, model.target_embedding)
        self.init.apply(model)
        return model

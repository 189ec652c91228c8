"""The self-attentive RNN as encoder, language model and classifier."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator
from torch import nn

from saccade.layers.causal import CausalLayer, StackedReader
from saccade.layers.encoder import ReaderEncoder
from saccade.layers.self_attentive import SelfAttentiveRNN
from saccade.models.base import tie
from saccade.models.model_config import AttentionConfig, CellName, DecoderConfig, SelfAttentionConfig
from saccade.models.reading import ReaderConfig
from saccade.models.recurrent import RecurrentSeq2Seq, attach_decoder

__all__ = ["SelfAttentiveConfig"]


class SelfAttentiveConfig(ReaderConfig):
    """Settings of RNNs with self-attention over their own states."""

    cell: CellName = "tanh"
    keep_state: bool = False
    """Whether a step reads the previous state as well as the context."""
    output: Literal["state", "context", "both"] = "both"
    attention: SelfAttentionConfig = SelfAttentionConfig(score="concat")
    """Self-attention over the states so far."""
    decoder: DecoderConfig = DecoderConfig(attend_from="current", input_feeding=True)
    """For sequence-to-sequence: the recurrent decoder."""
    cross: AttentionConfig = AttentionConfig()
    """For sequence-to-sequence: the decoder's attention to the encoder's states."""

    @model_validator(mode="after")
    def _check_combination(self) -> SelfAttentiveConfig:
        self.decoder.check_attending()
        return self

    def reader(self) -> CausalLayer:
        """Build the causal network."""
        layers: list[CausalLayer] = []
        for number in range(self.layers):
            layers.append(
                SelfAttentiveRNN(
                    self.attention.build(self.width, self.width),
                    self.embedding if number == 0 else layers[-1].width,
                    self.width,
                    cell=self.cell,
                    keep_state=self.keep_state,
                    output=self.output,
                )
            )
        return layers[0] if self.layers == 1 else StackedReader(layers, dropout=self.drops())

    def sequence_to_sequence(self, source_vocabulary: int, target_vocabulary: int) -> RecurrentSeq2Seq:
        """Build an encoder-decoder with the self-attentive RNN as encoder and a recurrent decoder."""
        source = nn.Embedding(source_vocabulary, self.embedding)
        encoder = ReaderEncoder(self.reader())
        model = attach_decoder(
            source, encoder, target_vocabulary, self.embedding, self.decoder, self.cross, self.drops()
        )
        if self.tied:
            tie(model.output, model.target_embedding)
        self.init.apply(model)
        return model

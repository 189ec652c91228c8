"""The self-attentive RNN as encoder, language model and classifier."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator
from torch import nn

from saccade.layers.encoder import ReaderEncoder
from saccade.layers.reader import Reader, StackedReader
from saccade.layers.self_attentive import SelfAttentiveRNN
from saccade.models.base import tie
from saccade.models.reading import ReaderConfig
from saccade.models.recurrent import RecurrentSeq2Seq, attach_decoder
from saccade.models.settings import AttentionConfig, CellName, DecoderConfig, SelfAttentionConfig

__all__ = ["SelfAttentiveConfig"]


class SelfAttentiveConfig(ReaderConfig):
    """SimpleRNN + self-attention."""

    cell: CellName = "tanh"
    keep_state: bool = False
    """Whether the last state enters beside the context."""
    output: Literal["state", "context", "both"] = "both"
    attention: SelfAttentionConfig = SelfAttentionConfig(score="concat")
    """How a state looks back over the states so far."""
    decoder: DecoderConfig = DecoderConfig(attend_from="current", input_feeding=True)
    """For sequence-to-sequence: the decoder that reads the states."""
    cross: AttentionConfig = AttentionConfig()
    """For sequence-to-sequence: how that decoder looks at them."""

    @model_validator(mode="after")
    def _combines(self) -> SelfAttentiveConfig:
        self.decoder.check_attending()
        return self

    def reader(self) -> Reader:
        """The recurrent network itself."""
        layers: list[Reader] = []
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
        """The self-attentive RNN as encoder of a recurrent decoder."""
        source = nn.Embedding(source_vocabulary, self.embedding)
        encoder = ReaderEncoder(self.reader())
        model = attach_decoder(
            source, encoder, target_vocabulary, self.embedding, self.decoder, self.cross, self.drops()
        )
        if self.tied:
            tie(model.output, model.target_embedding)
        self.init.apply(model)
        return model

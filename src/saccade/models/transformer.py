"""The Transformer: encoder, decoder, and both with the three attention sites."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import field_validator, model_validator
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Bank, MultiHead, Tape, name_sites, site_of
from saccade.batch import Batch, check_tokens
from saccade.config import Depth, Share, Width, merge
from saccade.errors import ConfigError
from saccade.layers.causal import CausalLayer
from saccade.layers.conformer import ConformerEncoder
from saccade.layers.encoder import Encoder, EncoderOutput
from saccade.layers.positions import Learned, Rotary, Sinusoidal
from saccade.layers.transformer import (
    LayerState,
    PlacedEmbedding,
    TransformerDecoder,
    TransformerEncoder,
    TransformerReader,
)
from saccade.models.base import Seq2Seq, check_fed, inputs_of, source_of, tie
from saccade.models.family import Family, WordNetwork
from saccade.models.model_config import OF_SELF_ATTENTION, AttentionConfig, SelfAttentionConfig

__all__ = ["Memory", "State", "Transformer", "TransformerConfig"]


@pytree.node
class Memory:
    """An encoded source: the bank of each decoder layer's cross-attention."""

    banks: tuple[Bank, ...]


@pytree.node
class State:
    """The state of each decoder layer, with its KV cache."""

    layers: tuple[LayerState, ...]


class Transformer(Seq2Seq):
    """Self-attention over the source, masked self-attention over the target, and cross-attention between them.

    Embeddings are multiplied by √width, the output layer is not. With `tied`, both embeddings and the output layer
    share one matrix.
    Paper: Vaswani et al. 2017, arXiv:1706.03762.
    """

    def __init__(
        self,
        source_embedding: nn.Embedding,
        target_embedding: nn.Embedding,
        encoder: TransformerEncoder,
        decoder: TransformerDecoder,
        source_place: PlacedEmbedding,
        target_place: PlacedEmbedding,
        *,
        tied: bool = False,
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding = source_embedding, target_embedding
        self.encoder, self.decoder = encoder, decoder
        self.source_place, self.target_place = source_place, target_place
        self.vocabulary = target_embedding.num_embeddings
        self.output = nn.Linear(encoder.width, self.vocabulary)
        self.scale = math.sqrt(encoder.width)
        if tied:
            tie(self.output, target_embedding)
        name_sites(self)

    @property
    def source_sites(self) -> list[str]:
        return [site_of(layer.cross) for layer in self.decoder.layers if layer.cross is not None]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        tokens, mask = source_of(batch)
        check_tokens("source", tokens, self.source_embedding.num_embeddings)
        words = self.source_place(self.source_embedding(tokens) * self.scale)
        return Memory(self.decoder.banks(self.encoder(words, mask, tape=tape).annotations, mask))

    def init_state(self, memory: Memory, max_length: int) -> State:
        self.target_place.check_length(max_length)
        values = memory.banks[0].values
        return State(self.decoder.start(values.shape[0], max_length, values, memory.banks))

    def step(self, memory: Memory, state: State, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, State]:
        check_fed(tokens, memory, state)
        positions = state.layers[0].cache.count[:, None]
        x, layers = self.decoder.step(self._embed(tokens[:, None], positions), state.layers, memory.banks, tape=tape)
        return self.output(x[:, 0]), State(layers)

    def hidden_states(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        inputs = inputs_of(batch)
        memory = self.encode(batch, tape=tape)
        out: Tensor = self.decoder(self._embed(inputs), memory.banks, tape=tape)
        return out

    def _embed(self, tokens: Tensor, positions: Tensor | None = None) -> Tensor:
        check_tokens("target", tokens, self.vocabulary)
        out: Tensor = self.target_place(self.target_embedding(tokens) * self.scale, positions)
        return out


class PlacedEncoder(Encoder):
    """A Transformer encoder that adds positions to its inputs."""

    def __init__(self, place: PlacedEmbedding, encoder: TransformerEncoder) -> None:
        super().__init__()
        self.place, self.encoder, self.width = place, encoder, encoder.width

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> EncoderOutput:
        encoded: EncoderOutput = self.encoder(self.place(inputs), mask, tape=tape)
        return encoded


class TransformerConfig(Family):
    """The Transformer family; the defaults are the base model."""

    width: Width = 512
    feed_forward: Width = 2048
    layers: Depth = 6
    decoder_layers: Depth | None = None
    """Default: as many as the encoder's."""
    dropout: Share = 0.1
    norm: Literal["post", "pre"] = "post"
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    max_length: Width = 1024
    """Size of the table of learned positions."""
    attention: SelfAttentionConfig = SelfAttentionConfig(score="scaled-dot", heads=8)
    cross: AttentionConfig | None = None
    """Cross-attention settings that differ from `attention`, whose `project` and `itself` do not apply."""
    tied: bool = True
    """Whether both embeddings and the output layer share one matrix."""

    @model_validator(mode="before")
    @classmethod
    def _complete_cross(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("cross"), dict):
            return data
        base = data.get("attention", cls.model_fields["attention"].default)
        base = base.model_dump() if isinstance(base, AttentionConfig) else base
        if not isinstance(base, dict):
            return data
        base = {name: value for name, value in base.items() if name not in OF_SELF_ATTENTION}
        return {**data, "cross": merge(base, data["cross"])}

    @field_validator("attention", "cross")
    @classmethod
    def _has_heads(cls, value: AttentionConfig | None) -> AttentionConfig | None:
        if value is not None and value.heads is None:
            raise ValueError("a Transformer's attention projects its queries, keys and values: set heads to 1 or more")
        return value

    def sequence_to_sequence(self, source_vocabulary: int, target_vocabulary: int) -> Transformer:
        """Build an encoder-decoder."""
        target = self._embedding(target_vocabulary)
        if self.tied and source_vocabulary != target_vocabulary:
            raise ConfigError(
                f"tied embeddings need one vocabulary, but the source has {source_vocabulary} words and the target "
                f"{target_vocabulary}. Share the tokenizer, or set tied to false."
            )
        source = target if self.tied else self._embedding(source_vocabulary)
        return Transformer(
            source,
            target,
            self._encoder(),
            self._decoder(cross=True),
            self._place(),
            self._place(),
            tied=self.tied,
        )

    def reader_of_words(self, vocabulary: int) -> WordNetwork[CausalLayer]:
        """Build the decoder without cross-attention, as a causal network."""
        reader = TransformerReader(self._decoder(cross=False), self._place(), self.width)
        return WordNetwork(self._embedding(vocabulary), reader, scale=math.sqrt(self.width))

    def encoder_of_words(self, vocabulary: int) -> WordNetwork[Encoder]:
        encoder = self.encoder_of_vectors()  # first, so that a seed gives the same weights as ever
        return WordNetwork(self._embedding(vocabulary), encoder, scale=math.sqrt(self.width))

    def encoder_of_vectors(self) -> Encoder:
        """Build the encoder without embeddings, for inputs of the model's width."""
        return PlacedEncoder(self._place(), self._encoder())

    def conformer_of_vectors(self, kernel: int) -> Encoder:
        """Build a Conformer encoder with this kernel of its convolutions, for inputs of the model's width."""
        sizes = self.width, self.feed_forward, self.layers
        return ConformerEncoder(self._self_attention, *sizes, kernel=kernel, dropout=self.dropout)

    def _embedding(self, vocabulary: int) -> nn.Embedding:
        embedding = nn.Embedding(vocabulary, self.width)
        nn.init.normal_(embedding.weight, std=self.width**-0.5)
        return embedding

    def _place(self) -> PlacedEmbedding:
        if self.positions == "rotary":
            return PlacedEmbedding(None, self.dropout)
        code = Learned(self.width, self.max_length) if self.positions == "learned" else Sinusoidal(self.width)
        return PlacedEmbedding(code, self.dropout)

    def _self_attention(self) -> MultiHead:
        rotate = None
        if self.positions == "rotary":
            assert self.attention.heads is not None
            rotate = Rotary(self.width // self.attention.heads)
        attention = self.attention.build(self.width, self.width, rotate=rotate)
        assert isinstance(attention, MultiHead)
        return attention

    def _cross_attention(self) -> MultiHead:
        attention = (self.cross or self.attention.between()).build(self.width, self.width)
        assert isinstance(attention, MultiHead)
        return attention

    def _encoder(self) -> TransformerEncoder:
        return TransformerEncoder(
            self._self_attention, self.width, self.feed_forward, self.layers, norm=self.norm, dropout=self.dropout
        )

    def _decoder(self, *, cross: bool) -> TransformerDecoder:
        return TransformerDecoder(
            self._self_attention,
            self._cross_attention if cross else None,
            self.width,
            self.feed_forward,
            self.decoder_layers or self.layers,
            norm=self.norm,
            dropout=self.dropout,
        )

"""The LSTMN as encoder, language model and classifier, and two LSTMNs joined by shallow or deep fusion."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from saccade import masks, pytree
from saccade.attention import Attention, AttentionState, Bank, MultiHead, Tape, name_sites, site_of
from saccade.batch import Batch, check_tokens
from saccade.config import Width
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import CausalLayer, StackedReader
from saccade.layers.lstmn import LSTMN, DeepFusion, LSTMNState
from saccade.layers.readout import TanhReadout
from saccade.layers.stack import Layers
from saccade.models.base import Seq2Seq, check_fed, inputs_of, source_of, tie
from saccade.models.model_config import AttentionConfig
from saccade.models.reading import ReaderConfig

__all__ = ["FusedLSTMN", "LSTMNConfig", "Memory", "State"]


@pytree.node
class Memory:
    """An encoded source: the last [h ; c] (B, 2D) of each encoder layer, and the banks to attend to.

    deep: for each decoder layer's fusion, a bank with the hidden tape as keys and [h ; c] as values. shallow: a bank
    of the top layer's hidden tape. One of the two is None.
    """

    seeds: tuple[Tensor, ...]
    deep: tuple[Bank, ...] | None
    shallow: Bank | None


@pytree.node
class State:
    """The decoder layers' states and, with shallow fusion, the attention state."""

    layers: tuple[LSTMNState, ...]
    position: Tensor
    past: AttentionState | None


class FusedLSTMN(Seq2Seq):
    """Two LSTMNs: one encodes the source, the other decodes the target.

    Deep fusion: in every step each decoder layer attends to the source's tapes and adds the result to its memory
    through a gate (`DeepFusion`); the read-out is the top state.
    Shallow fusion: the decoder attends to the source from its current top state, and the result does not enter the
    cell; the read-out is tanh(W [context ; state]).
    The first entry of the decoder's tapes is the encoder's last state.
    Paper: Cheng et al. 2016, arXiv:1601.06733, section 3.2.
    """

    def __init__(
        self,
        source_embedding: nn.Embedding,
        target_embedding: nn.Embedding,
        encoder: list[LSTMN],
        decoder: list[LSTMN],
        attention: Attention | MultiHead | None,
        *,
        skip: bool = False,
        dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding = source_embedding, target_embedding
        self.encoder: Layers[LSTMN] = Layers(encoder)
        self.decoder: Layers[LSTMN] = Layers(decoder)
        self.attention = attention
        width = decoder[-1].width
        self.readout = None if attention is None else TanhReadout(width, width, 0)
        self.vocabulary = target_embedding.num_embeddings
        self.output = nn.Linear(width, self.vocabulary)
        self.skip, self.dropout = skip, dropout or Dropout(0.0)
        name_sites(self)

    @property
    def source_sites(self) -> list[str]:
        if self.attention is not None:
            return [site_of(self.attention)]
        return [site_of(layer.fusion.attention) for layer in self.decoder if layer.fusion is not None]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        tokens, mask = source_of(batch)
        check_tokens("source", tokens, self.source_embedding.num_embeddings)
        words = self._drop(self.source_embedding(tokens))
        tapes: list[Tensor] = []
        for number, layer in enumerate(self.encoder):
            below = words if number == 0 else self._enter(tapes[-1][..., : layer.width], words)
            tapes.append(layer.read(below, tape=tape))
        seeds = tuple(masks.last(both, mask) for both in tapes)
        if self.attention is not None:
            return Memory(seeds, None, self.attention.bank(tapes[-1].chunk(2, -1)[0], mask=mask))
        banks = [
            layer.fusion.attention.bank(both.chunk(2, -1)[0], both, mask)
            for layer, both in zip(self.decoder, tapes, strict=True)
            if layer.fusion is not None
        ]
        return Memory(seeds, tuple(banks), None)

    def init_state(self, memory: Memory, max_length: int) -> State:
        rows = memory.seeds[0].shape[0]
        banks = memory.deep or (None,) * len(self.decoder)
        layers = tuple(
            layer.start(rows, max_length, seed, seed=seed, source=bank)
            for layer, seed, bank in zip(self.decoder, memory.seeds, banks, strict=True)
        )
        past = None if self.attention is None or memory.shallow is None else self.attention.start(memory.shallow)
        position = torch.zeros(rows, dtype=torch.long, device=memory.seeds[0].device)
        return State(layers, position, past)

    def step(self, memory: Memory, state: State, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, State]:
        check_fed(tokens, memory, state)
        logits, state = self.extend(memory, state, tokens[:, None], tape=tape)
        return logits[:, 0], state

    def extend(self, memory: Memory, state: State, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, State]:
        vectors, state = self._extend(memory, state, tokens, tape)
        return self.output(vectors), state

    def hidden_states(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        inputs = inputs_of(batch)
        memory = self.encode(batch, tape=tape)
        return self._extend(memory, self.init_state(memory, inputs.shape[1]), inputs, tape)[0]

    def _extend(self, memory: Memory, state: State, tokens: Tensor, tape: Tape | None) -> tuple[Tensor, State]:
        check_fed(tokens, memory, state, rank=2)
        check_tokens("target", tokens, self.vocabulary)
        words = self._drop(self.target_embedding(tokens))  # (N, T, E)
        outputs = words
        banks = memory.deep or (None,) * len(self.decoder)
        layers = []
        for number, (layer, before, bank) in enumerate(zip(self.decoder, state.layers, banks, strict=True)):
            inputs = words if number == 0 else self._enter(outputs, words)
            both, after = layer.extend(inputs, before, source=bank, tape=tape)
            outputs = both.chunk(2, -1)[0]
            layers.append(after)
        past = state.past
        if self.attention is not None and self.readout is not None and memory.shallow is not None:
            positions = state.position[:, None] + torch.arange(tokens.shape[1], device=tokens.device)
            attended = self.attention(outputs, memory.shallow, positions=positions, past=past, tape=tape)
            outputs, past = self.readout(outputs, attended.context, None), attended.past
        return self._drop(outputs), State(tuple(layers), state.position + tokens.shape[1], past)

    def _enter(self, below: Tensor, words: Tensor) -> Tensor:
        below = self._drop(below)
        return torch.cat([below, words], -1) if self.skip else below

    def _drop(self, x: Tensor) -> Tensor:
        dropped: Tensor = self.dropout(x)
        return dropped


class LSTMNConfig(ReaderConfig):
    """The LSTMN family."""

    embedding: Width = 150
    width: Width = 300
    skip: bool = True
    """Whether upper layers also read the words."""
    fusion: Literal["deep", "shallow"] = "deep"
    """How the decoder takes in the source."""
    attention: AttentionConfig = AttentionConfig()
    """Self-attention of a step over the tapes."""
    cross: AttentionConfig = AttentionConfig()
    """Attention to the source."""

    def layer_inputs(self) -> list[int]:
        """Return the input width of each layer."""
        upper = self.width + self.embedding * self.skip
        return [self.embedding, *[upper] * (self.layers - 1)]

    def layer(self, input_width: int, *, fused: bool = False) -> LSTMN:
        """Build one LSTMN layer; `fused` adds deep fusion with a source."""
        fusion = None
        if fused:
            cross = self.cross.build(input_width + self.width, self.width, 2 * self.width)
            fusion = DeepFusion(cross, input_width, self.width)
        attention = self.attention.build(input_width + self.width, self.width, 2 * self.width)
        return LSTMN(attention, input_width, self.width, fusion=fusion)

    def reader(self) -> CausalLayer:
        """Build the stack of layers for one sequence."""
        layers: list[CausalLayer] = [self.layer(width) for width in self.layer_inputs()]
        return layers[0] if self.layers == 1 else StackedReader(layers, skip=self.skip, dropout=self.drops())

    def sequence_to_sequence(self, source_vocabulary: int, target_vocabulary: int) -> FusedLSTMN:
        """Build an encoder and a decoder, joined by fusion."""
        deep = self.fusion == "deep"
        model = FusedLSTMN(
            nn.Embedding(source_vocabulary, self.embedding),
            nn.Embedding(target_vocabulary, self.embedding),
            [self.layer(width) for width in self.layer_inputs()],
            [self.layer(width, fused=deep) for width in self.layer_inputs()],
            None if deep else self.cross.build(self.width, self.width),
            skip=self.skip,
            dropout=self.drops(),
        )
        if self.tied:
            tie(model.output, model.target_embedding)
        self.init.apply(model)
        return model

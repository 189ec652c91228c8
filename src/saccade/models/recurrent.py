"""The recurrent encoder-decoder, with or without attention; presets.py has the settings of the papers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from pydantic import model_validator
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Attention, AttentionState, Bank, MultiHead, Tape, name_sites, site_of
from saccade.batch import Batch, check_tokens
from saccade.config import Width
from saccade.errors import ConfigError
from saccade.kernels.deferred_weight_grad import deferred_gradients
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import CausalLayer, PlainReader
from saccade.layers.cells import CellStack, Layered, StackAdvance
from saccade.layers.encoder import Encoder, EncoderOutput
from saccade.layers.initial_state import InitialState, build_initial_state
from saccade.layers.readout import Readout, build_readout
from saccade.models.base import Seq2Seq, check_fed, inputs_of, source_of, tie
from saccade.models.family import Family, WordNetwork
from saccade.models.model_config import AttentionConfig, DecoderConfig, EncoderConfig, InitConfig

__all__ = ["Memory", "RecurrentConfig", "RecurrentSeq2Seq", "State", "attach_decoder"]


@pytree.node
class Memory:
    """An encoded source: the initial decoder state (B, L, W), the bank to attend to, the summary vector (B, D)."""

    start: Tensor
    bank: Bank | None
    summary: Tensor | None


@pytree.node
class State:
    """State between steps: cells (N, L, W); fed (N, R), the last read-out; position (N,); the attention state."""

    cells: Tensor
    fed: Tensor | None
    position: Tensor
    past: AttentionState | None


class Now(NamedTuple):
    """A State inside the loop over steps, with its cells split into layers and parts."""

    cells: Layered
    fed: Tensor | None
    position: Tensor
    past: AttentionState | None


Read = Callable[[Tensor, Tensor | None, Tensor | None], Tensor]
"""A read-out function: (state, context, word) -> vector."""


class Loop(NamedTuple):
    """The functions of a step, prepared once for many steps: the model's own, or packed ones of `saccade.runtime`.

    add: adds the contribution of inputs other than the word to the gates. advance: computes the new state from the
    gates. attend and read: replacements of the model's attention and read-out; None uses the model's own.
    """

    add: Callable[[Tensor, Tensor], Tensor]
    advance: StackAdvance
    attend: Callable[[Tensor, Bank, Tape | None], Tensor] | None = None
    read: Read | None = None


class RecurrentSeq2Seq(Seq2Seq):
    """A recurrent encoder-decoder; encoder, attention, cells and read-out are exchangeable.

    One step, from the word y[t-1] and the state s[t-1]:

        attend_from previous (Bahdanau)               attend_from current (Luong)
        c = attention(s[t-1])                         s[t] = cells([y ; fed], s[t-1])
        s[t] = cells([y ; c ; fed], s[t-1])           c = attention(s[t])
        vector = readout(s, c, y)                     vector = readout(s, c, y)

    then logits = W_o vector. By default the query is the state of the top layer, and the bottom layer reads c.
    With attend_from previous there are three more options, all used by GNMT (Wu et al. 2016): the bottom layer's
    state is the query (`query_layer`), all layers read c (`beside_width` of the cells), and the read-out omits c
    (`read_context`). With `gated`, c is multiplied by σ(w · s), where s is the query. Without attention, c is
    absent, or is the same summary in every step (Cho).

    If `parallel`, teacher forcing is one recurrent call and one attention call. Otherwise it loops over the steps,
    but computes the words' contribution to the gates and the logits for all steps at once, and without input
    feeding also the read-outs.
    """

    def __init__(
        self,
        source_embedding: nn.Embedding | None,
        target_embedding: nn.Embedding,
        encoder: Encoder,
        start: InitialState,
        cells: CellStack,
        attention: Attention | MultiHead | None,
        readout: Readout,
        *,
        attend_from: Literal["previous", "current"] = "previous",
        query_layer: Literal["top", "bottom"] = "top",
        input_feeding: bool = False,
        feed: Literal["readout", "context"] = "readout",
        summary: bool = False,
        read_state: Literal["previous", "current"] = "current",
        read_word: bool = False,
        read_context: bool = True,
        gated: bool = False,
        source_dropout: Dropout | None = None,
        target_dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding = source_embedding, target_embedding
        self.encoder, self.first_state, self.cells = encoder, start, cells
        self.attention, self.readout = attention, readout
        self.vocabulary = target_embedding.num_embeddings
        self.output = nn.Linear(readout.width, self.vocabulary)
        self.from_previous = attention is not None and attend_from == "previous"
        self.query_bottom = query_layer == "bottom"
        self.input_feeding, self.summary = input_feeding, summary
        self.feeds_context = input_feeding and feed == "context"
        self.read_word, self.read_context, self.read_previous = read_word, read_context, read_state == "previous"
        self.gate = nn.Linear(cells.width, 1) if gated else None
        self.source_dropout, self.target_dropout = source_dropout or Dropout(0.0), target_dropout or Dropout(0.0)
        name_sites(self)

    @property
    def parallel(self) -> bool:
        """Whether teacher forcing can run the cells over the whole target before the attention."""
        return not self.from_previous and not self.input_feeding and not self.read_previous

    @property
    def source_sites(self) -> list[str]:
        return [] if self.attention is None else [site_of(self.attention)]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        encoded, mask = self.read_source(batch, tape)
        bank = None if self.attention is None else self.attention.bank(encoded.annotations, mask=mask)
        summary = encoded.last if self.summary else None
        return Memory(self.first_state(encoded, mask), bank, summary)

    def read_source(self, batch: Batch, tape: Tape | None) -> tuple[EncoderOutput, Tensor]:
        """Encode the source; return its annotations and the mask (B, S)."""
        tokens, mask = source_of(batch)
        assert self.source_embedding is not None
        check_tokens("source", tokens, self.source_embedding.num_embeddings)
        words = self.source_dropout(self.source_embedding(tokens))
        return self.encoder(words, mask, tape=tape), mask

    def init_state(self, memory: Memory, max_length: int) -> State:
        rows = memory.start.shape[0]
        width = self.encoder.width if self.feeds_context else self.readout.width
        fed = memory.start.new_zeros(rows, width) if self.input_feeding else None
        past = None if self.attention is None or memory.bank is None else self.attention.start(memory.bank)
        position = torch.zeros(rows, dtype=torch.long, device=memory.start.device)
        return State(memory.start.clone(), fed, position, past)

    def step(self, memory: Memory, state: State, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, State]:
        check_fed(tokens, memory, state)
        word = self._embed(tokens)
        vector, state = self.advance(memory, state, word, self.cells.first.project(word), self._loop(), tape)
        return self.output(self.target_dropout(vector)), state

    def advance(
        self,
        memory: Memory,
        state: State,
        word: Tensor,
        gates: Tensor,
        loop: Loop,
        tape: Tape | None,
    ) -> tuple[Tensor, State]:
        """Run a step from an embedded word and its share of the gates; return the read-out (N, R) and new state."""
        read, context, now = self._advance(memory, self._open(state), gates, tape, loop)
        vector = self._read(read, context, word, loop.read)
        # keep the dtype of the initial state: under autocast some parts are in half precision
        # clone what is fed: a read-out may be a view of the cells
        cells = self.cells.join(tuple(tuple(part.to(memory.start.dtype) for part in parts) for parts in now.cells))
        fed = None
        if self.input_feeding:
            new = now.fed if self.feeds_context else vector
            assert new is not None
            fed = new.to(memory.start.dtype).clone(memory_format=torch.contiguous_format)
        return vector, State(cells, fed, now.position, now.past)

    def hidden_states(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        memory = self.encode(batch, tape=tape)
        words = self._embed(inputs_of(batch))  # (B, T, E)
        vectors = self._all_at_once(memory, words, tape) if self.parallel else self._one_by_one(memory, words, tape)
        dropped: Tensor = self.target_dropout(vectors)
        return dropped

    def _all_at_once(self, memory: Memory, words: Tensor, tape: Tape | None) -> Tensor:
        inputs, context = words, None
        if memory.summary is not None:
            context = memory.summary[:, None].expand(-1, words.shape[1], -1)
            inputs = torch.cat([words, context], -1)
        outputs, _ = self.cells.sequence(inputs, memory.start, context)
        if self.attention is not None and memory.bank is not None:
            context = self._gated(self.attention(outputs, memory.bank, tape=tape).context, outputs)
        _note(tape, outputs, context)
        return self._read(outputs, context, words)

    def _one_by_one(self, memory: Memory, words: Tensor, tape: Tape | None) -> Tensor:
        gates = self.cells.first.project(words)  # the words' share for all steps in one matmul
        now, loop = self._open(self.init_state(memory, words.shape[1])), self._loop()
        reads, contexts, vectors = [], [], []
        with deferred_gradients(words.device):
            for word, gates_now in zip(words.unbind(1), gates.unbind(1), strict=True):
                read, context, now = self._advance(memory, now, gates_now, tape, loop)
                reads.append(read)
                contexts.append(context)
                if self.input_feeding and not self.feeds_context:
                    vectors.append(self._read(read, context, word))
                    now = now._replace(fed=vectors[-1])
        context = None if contexts[0] is None else torch.stack(contexts, 1)  # type: ignore[arg-type]
        _note(tape, torch.stack(reads, 1), context)
        if vectors:
            return torch.stack(vectors, 1)
        return self._read(torch.stack(reads, 1), context, words)

    def _open(self, state: State) -> Now:
        return Now(self.cells.split(state.cells), state.fed, state.position, state.past)

    def _advance(
        self, memory: Memory, now: Now, gates: Tensor, tape: Tape | None, loop: Loop
    ) -> tuple[Tensor, Tensor | None, Now]:
        """Run a step up to the read-out; return the state it reads (N, D), the context (N, Dc) and the new state."""
        before, past = now.cells[-1][0], now.past
        context = None
        if self.from_previous:
            query = now.cells[0][0] if self.query_bottom else before
            context, past = self._attend(query, memory, now, tape, loop)
        elif memory.summary is not None:
            context = memory.summary.repeat_interleave(gates.shape[0] // memory.summary.shape[0], 0)
        late = [part for part in (context, now.fed) if part is not None]
        if late:
            gates = loop.add(gates, late[0] if len(late) == 1 else torch.cat(late, -1))
        output, cells = loop.advance(gates, now.cells, context)
        if self.attention is not None and not self.from_previous:
            context, past = self._attend(output, memory, now, tape, loop)
        fed = context if self.feeds_context else now.fed
        return before if self.read_previous else output, context, Now(cells, fed, now.position + 1, past)

    def _loop(self) -> Loop:
        """Prepare the functions of a step from the cells' weights."""
        project = self.cells.first.projection(self.target_embedding.embedding_dim)
        return Loop(lambda gates, late: gates + project(late), self.cells.recurrence())

    def _attend(
        self, query: Tensor, memory: Memory, now: Now, tape: Tape | None, loop: Loop
    ) -> tuple[Tensor, AttentionState | None]:
        assert self.attention is not None
        assert memory.bank is not None
        if loop.attend is not None:
            return self._gated(loop.attend(query, memory.bank, tape), query), None
        attended = self.attention(
            query[:, None], memory.bank, positions=now.position[:, None], past=now.past, sight="some", tape=tape
        )
        return self._gated(attended.context[:, 0], query), attended.past

    def _gated(self, context: Tensor, query: Tensor) -> Tensor:
        return context if self.gate is None else context * torch.sigmoid(self.gate(query))

    def _embed(self, tokens: Tensor) -> Tensor:
        check_tokens("target", tokens, self.vocabulary)
        embedded: Tensor = self.target_dropout(self.target_embedding(tokens))
        return embedded

    def _read(self, state: Tensor, context: Tensor | None, words: Tensor, read: Read | None = None) -> Tensor:
        out: Tensor = (read or self.readout)(
            state, context if self.read_context else None, words if self.read_word else None
        )
        return out


def _note(tape: Tape | None, states: Tensor, contexts: Tensor | None) -> None:
    if tape is not None:
        tape.note("state", states)
        if contexts is not None:
            tape.note("context", contexts)


class RecurrentConfig(Family):
    """The recurrent family: sutskever, cho, bahdanau, luong, gnmt and their combinations."""

    embedding: Width = 256
    encoder: EncoderConfig = EncoderConfig(bidirectional=True)
    decoder: DecoderConfig = DecoderConfig()
    attention: AttentionConfig | None = AttentionConfig()
    tied: bool = False
    """Whether the output layer shares the target embedding matrix."""
    init: InitConfig = InitConfig()

    @model_validator(mode="after")
    def _check_combination(self) -> RecurrentConfig:
        if self.encoder.bidirectional and self.encoder.reverse:
            raise ValueError("encoder: bidirectional reads both ways already, so leave reverse out")
        if self.attention is not None:
            self.decoder.check_attending()
        return self

    def sequence_to_sequence(self, source_vocabulary: int, target_vocabulary: int) -> RecurrentSeq2Seq:
        """Build an encoder-decoder."""
        encoder = self.encoder.build(self.embedding)
        source = nn.Embedding(source_vocabulary, self.embedding)
        model = attach_decoder(
            source, encoder, target_vocabulary, self.embedding, self.decoder, self.attention, self.encoder.drops()
        )
        if self.tied:
            tie(model.output, model.target_embedding)
        self.init.apply(model)
        return model

    def reader_of_words(self, vocabulary: int) -> WordNetwork[CausalLayer]:
        """Build the decoder's cells as a causal network, without attention."""
        settings = self.decoder
        reader = PlainReader(
            settings.cell,
            self.embedding,
            settings.width,
            settings.layers,
            residual=settings.residual,
            residual_from=settings.residual_from,
            dropout=settings.drops(),
        )
        return WordNetwork(nn.Embedding(vocabulary, self.embedding), reader, settings.drops())

    def encoder_of_words(self, vocabulary: int) -> WordNetwork[Encoder]:
        encoder = self.encoder.build(self.embedding)
        return WordNetwork(nn.Embedding(vocabulary, self.embedding), encoder, self.encoder.drops())

    def initialize(self, model: nn.Module) -> None:
        self.init.apply(model)


def attach_decoder(
    source_embedding: nn.Embedding | None,
    encoder: Encoder,
    target_vocabulary: int,
    embedding: int,
    settings: DecoderConfig,
    attention: AttentionConfig | None,
    source_dropout: Dropout,
    family: type[RecurrentSeq2Seq] = RecurrentSeq2Seq,
) -> RecurrentSeq2Seq:
    """Build a recurrent decoder on any encoder."""
    if attention is None and settings.feed == "context":
        raise ConfigError("decoder.feed 'context' needs attention. Set attention, or leave feed out.")
    attended = 0 if attention is None else encoder.width
    fixed = encoder.width if settings.fixed_context else 0
    readout = build_readout(
        settings.output,
        settings.width,
        attended + fixed if settings.read_context else 0,
        embedding if settings.read_word else 0,
        settings.output_width,
    )
    early = attended if settings.attend_from == "previous" else 0
    fed = 0
    if settings.input_feeding:
        fed = attended if settings.feed == "context" else readout.width
    cells = CellStack(
        settings.cell,
        embedding + early + fixed + fed,
        settings.width,
        settings.layers,
        residual=settings.residual,
        residual_from=settings.residual_from,
        beside_width=early + fixed if settings.context_layers == "all" else 0,
        dropout=settings.drops(),
    )
    return family(
        source_embedding,
        nn.Embedding(target_vocabulary, embedding),
        encoder,
        build_initial_state(settings.initial_state, encoder, cells),
        cells,
        None if attention is None else attention.build(settings.width, encoder.width),
        readout,
        attend_from=settings.attend_from,
        query_layer=settings.query_layer,
        input_feeding=settings.input_feeding,
        feed=settings.feed,
        summary=settings.fixed_context,
        read_state=settings.read_state,
        read_word=settings.read_word,
        read_context=settings.read_context,
        gated=settings.gated,
        source_dropout=source_dropout,
        target_dropout=settings.drops(),
    )

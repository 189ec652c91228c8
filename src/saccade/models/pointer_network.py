"""Pointer network: a model whose attention is its output, a sequence of positions of its input."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import AfterValidator, Field
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Attention, Bank, Tape, name_sites, site_of
from saccade.batch import EOS, SPECIALS, Batch
from saccade.config import Config, Depth, Share, Width
from saccade.errors import ConfigError, DataError
from saccade.kernels.dropout import Dropout
from saccade.layers.cells import CellStack
from saccade.layers.encoder import Encoder, RecurrentEncoder
from saccade.layers.initial_state import build_initial_state
from saccade.models.base import Seq2Seq, check_fed, inputs_of
from saccade.models.family import Family
from saccade.models.model_config import AttentionConfig, CellName, InitConfig, SelfAttentionConfig
from saccade.models.transformer import TransformerConfig

__all__ = ["FIRST", "Choice", "Memory", "PointerNetwork", "PointerNetworkConfig", "State"]

FIRST = len(SPECIALS)
"""The token of position 0; the position s has the token FIRST + s."""
Choice = Literal["any", "once", "every"]
"""How often an answer may have a position: any number of times, at most once, or exactly once."""


@pytree.node
class Memory:
    """An encoded input: the first state, the keys, the embedded points (B, S, E), their mask and where the end is."""

    start: Tensor
    bank: Bank
    points: Tensor
    mask: Tensor
    end: Tensor


@pytree.node
class State:
    """The cells' state (N, layers, W), and the positions chosen so far (N, S)."""

    cells: Tensor
    chosen: Tensor


class PointerNetwork(Seq2Seq):
    """An encoder-decoder that writes positions of its input.

        e[s] = encoder(x)[s]     d[t] = decoder(x[y[t-1]], d[t-1])     P(y[t] = s) = a[t, s] = align(score(d[t], e[s]))

    x (B, S, D) are embedded points, and y[t-1] is the position chosen last: the decoder reads the point itself. The
    attention is not blended to a context. The last position of every input is the end; pointing at it ends the answer.
    A recurrent encoder's last state is the decoder's first; after another encoder that is tanh(W · the mean of e).
    Under teacher forcing y is known, so the decoder runs over all steps in one call, and so does the attention.

    `choose`: with "once" a position can be chosen only once. With "every", the end in addition only after all others.
    Paper: Vinyals et al. 2015, arXiv:1506.03134. There, the end has an own symbol in the output, and an answer may
    repeat positions.
    """

    def __init__(
        self,
        encoder: Encoder,
        cells: CellStack,
        attention: Attention,
        dimensions: int,
        *,
        choose: Choice = "any",
        dropout: Dropout,
    ) -> None:
        super().__init__()
        if attention.sequential:
            raise ConfigError(
                f"the score {type(attention.score).__name__} reads earlier attention, which a pointer network does not "
                "keep. Choose another one, such as additive."
            )
        self.embedding = nn.Linear(dimensions, cells.input_width)
        self.special = nn.Embedding(2, cells.input_width)  # vectors of BOS and of the end position
        self.encoder, self.cells, self.attention = encoder, cells, attention
        self.first_state = build_initial_state(
            "final" if isinstance(encoder, RecurrentEncoder) else "mean", encoder, cells
        )
        self.vocabulary, self.choose, self.dropout = FIRST, choose, dropout
        name_sites(self)

    @property
    def source_sites(self) -> list[str]:
        return [site_of(self.attention)]

    def choices(self, batch: Batch) -> int:
        return FIRST + self._read(batch)[1].shape[1]

    def encode(self, batch: Batch, *, tape: Tape | None = None) -> Memory:
        numbers, mask = self._read(batch)
        end = mask.sum(1) - 1
        points = torch.where(_at(end, mask)[..., None], self.special.weight[1], self.embedding(numbers))
        encoded = self.encoder(self.dropout(points), mask, tape=tape)
        bank = self.attention.bank(encoded.annotations, mask=mask)
        return Memory(self.first_state(encoded, mask), bank, points, mask, end)

    def init_state(self, memory: Memory, max_length: int) -> State:
        return State(memory.start.clone(), torch.zeros_like(memory.mask))

    def step(self, memory: Memory, state: State, tokens: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, State]:
        check_fed(tokens, memory, state)
        gates = self.cells.first.project(self._fed(memory, tokens[:, None])[:, 0])
        output, cells = self.cells.advance(gates, state.cells)
        chosen = state.chosen | _hot(tokens, state.chosen.shape[1])
        shares = self._point(memory, self.dropout(output)[:, None], chosen[:, None], tape)[:, 0]
        logs = _log(shares).masked_fill(shares == 0, -torch.inf)  # a search drops what is impossible
        return logs, State(cells.to(memory.start.dtype, memory_format=torch.contiguous_format, copy=True), chosen)

    def forward(self, batch: Batch, *, tape: Tape | None = None) -> Tensor:
        tokens = inputs_of(batch)
        memory = self.encode(batch, tape=tape)
        outputs, _ = self.cells.sequence(self._fed(memory, tokens), memory.start)
        chosen = _hot(tokens, memory.mask.shape[1]).cumsum(1) > 0
        return _log(self._point(memory, self.dropout(outputs), chosen, tape))

    def _read(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return points (B, S, D) and their mask."""
        points, mask, width = batch.source, batch.source_mask, self.embedding.in_features
        if points is None or mask is None or points.dim() != 3 or points.shape[-1] != width:
            was = "missing" if points is None else str(tuple(points.shape))
            raise DataError(f"source is {was}, but this model reads points (B, S, {width}).")
        return points, mask

    def _fed(self, memory: Memory, tokens: Tensor) -> Tensor:
        """Embed the decoder's input (N, T): the points of positions, and one vector for special tokens."""
        sentences, size, width = memory.points.shape
        places = (tokens - FIRST).clamp(0, size - 1).view(sentences, -1, 1)
        found = memory.points.gather(1, places.expand(-1, -1, width)).view(*tokens.shape, width)
        fed: Tensor = self.dropout(torch.where((tokens >= FIRST)[..., None], found, self.special.weight[0]))
        return fed

    def _point(self, memory: Memory, query: Tensor, chosen: Tensor, tape: Tape | None) -> Tensor:
        """Return the probabilities (N, T, FIRST + S) of positions and the end; chosen (N, T, S)."""
        bank, beams = memory.bank, len(query) // len(memory.mask)
        mask, end = (part.repeat_interleave(beams, 0) for part in (memory.mask, memory.end))
        if self.choose != "any":
            bank = Bank(*pytree.repeat_rows((bank.keys, bank.values), beams), self._visible(mask, end, chosen))
        tape = Tape() if tape is None or tape.at(self.attention.site) is None else tape
        weights = self.attention(query, bank, tape=tape).weights
        assert weights is not None, "a recorded step keeps its weights"
        places = F.pad(weights.to(torch.promote_types(weights.dtype, torch.float32)), (FIRST, 0))
        last = (end + FIRST)[:, None, None].expand(-1, query.shape[1], 1)
        ends = places.gather(-1, last)
        places = places.scatter(-1, last, 0.0)
        return torch.cat([places[..., :EOS], ends, places[..., EOS + 1 :]], -1)

    def _visible(self, mask: Tensor, end: Tensor, chosen: Tensor) -> Tensor:
        """Return the positions (N, T, S) that can be chosen now."""
        last = _at(end, mask)[:, None]
        free = mask[:, None] & ~last & ~chosen
        if self.choose == "once":
            return free | last
        return free | (last & ~free.any(-1, keepdim=True))


def _log(shares: Tensor) -> Tensor:
    """Return finite logarithms, so that the loss is finite."""
    return shares.clamp_min(torch.finfo(shares.dtype).tiny).log()


def _at(places: Tensor, mask: Tensor) -> Tensor:
    """Return (B, S), True at one place of each row."""
    return torch.arange(mask.shape[1], device=mask.device) == places[:, None]


def _hot(tokens: Tensor, size: int) -> Tensor:
    """Return (..., S), True at the position that a token names; False everywhere for a special token."""
    return torch.arange(FIRST, FIRST + size, device=tokens.device) == tokens[..., None]


class PointerNetworkConfig(Family):
    """The settings of pointer networks."""

    reads: ClassVar[str] = "point"

    embedding: Width = 128
    cell: CellName = "lstm"
    width: Width = 256
    """Width of the decoder; the directions of a bidirectional encoder have half of it each."""
    layers: Depth = 1
    encoder: Literal["recurrent", "transformer"] = "recurrent"
    """recurrent: the paper's; transformer: self-attention between the points, pre-norm."""
    encoder_layers: Depth | None = None
    """For a Transformer encoder; default: `layers`."""
    heads: Width = 8
    """For a Transformer encoder."""
    bidirectional: bool = False
    """Whether a recurrent encoder reads in both directions; the paper's does not."""
    dropout: Share = 0.0
    """Dropout of the embedded points, between layers and of the query."""
    score: Annotated[str, AfterValidator(lambda name: AttentionConfig(score=name).score)] = "additive"
    score_options: dict[str, Any] = Field(default_factory=dict)
    init: InitConfig = InitConfig()

    def pointer_network(self, points: PointsConfig) -> PointerNetwork:
        """Build a model that reads points and writes their positions."""
        drops = Dropout(self.dropout)
        encoder = self._recurrent(drops) if self.encoder == "recurrent" else self._transformer()
        cells = CellStack(self.cell, self.embedding, self.width, self.layers, dropout=drops)
        attention = AttentionConfig(score=self.score, score_options=self.score_options).build(self.width, encoder.width)
        assert isinstance(attention, Attention)
        model = PointerNetwork(encoder, cells, attention, points.dimensions, choose=points.choose, dropout=drops)
        self.init.apply(model)
        return model

    def _recurrent(self, drops: Dropout) -> RecurrentEncoder:
        if self.bidirectional and self.width % 2:
            raise ConfigError(f"model.width is {self.width}, but two directions need an even one.")
        own = self.width // (1 + self.bidirectional)
        return RecurrentEncoder(
            self.cell, self.embedding, own, self.layers, bidirectional=self.bidirectional, dropout=drops
        )

    def _transformer(self) -> Encoder:
        if self.embedding != self.width:
            raise ConfigError(
                f"model.embedding is {self.embedding}, but a Transformer encoder needs model.width, {self.width}."
            )
        return TransformerConfig(
            width=self.width,
            feed_forward=4 * self.width,
            layers=self.encoder_layers or self.layers,
            dropout=self.dropout,
            norm="pre",
            attention=SelfAttentionConfig(score="scaled-dot", heads=self.heads),
        ).encoder_of_vectors()


class PointsConfig(Config):
    """For ordering: what the points are, and what an answer is."""

    dimensions: Width = 2
    """Numbers of a point: 1 for numbers, 2 for points in the plane."""
    choose: Choice = "any"
    """How often an answer may have a position: any number of times, at most once, or every position exactly once."""
    answer: Literal["sequence", "hull", "tour"] = "sequence"
    """What an answer is in evaluation: positions in their order, the corners of a convex hull, or a round trip."""

"""Transformer layers: attention, feed-forward, and the sum around each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from saccade import masks, tree
from saccade.attention import Bank, Cache, MultiHead, Past, Tape
from saccade.errors import ShapeError
from saccade.kernels.dropout import dropout
from saccade.kernels.feed_forward import feed_forward
from saccade.kernels.residual import layer_norm, residual, residual_and_norm, residual_norm, residual_norm_twice
from saccade.layers.encoder import Encoder, Reading
from saccade.layers.positions import Learned, Sinusoidal
from saccade.layers.reader import Reader
from saccade.layers.stack import Layers

__all__ = [
    "DecoderLayer",
    "EncoderLayer",
    "LayerState",
    "PlacedEmbedding",
    "TransformerDecoder",
    "TransformerEncoder",
    "TransformerReader",
]

Norm = Literal["post", "pre"]
MakeAttention = Callable[[], MultiHead]


class FeedForward(nn.Sequential):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, at every position alike."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) -> (..., width)."""
        first, between, second = self
        if isinstance(first, nn.Linear) and isinstance(between, nn.ReLU) and isinstance(second, nn.Linear):
            return feed_forward(first, between, second, x)
        out: Tensor = second(between(first(x)))  # somebody put other modules in their place
        return out


class Residual(nn.Module):
    """The sum and the norm around a sub-layer.

    post: LayerNorm(x + Dropout(f(x)))  (the paper)        pre: x + Dropout(f(LayerNorm(x)))
    """

    def __init__(self, width: int, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.norm, self.pre, self.dropout = nn.LayerNorm(width), norm == "pre", dropout

    def enter(self, x: Tensor) -> Tensor:
        """What the sub-layer is given."""
        return normed(self.norm, x) if self.pre else x

    def leave(self, x: Tensor, out: Tensor) -> Tensor:
        """What its output becomes."""
        if self.pre:
            return residual(x, out, self.dropout, self.training)
        norm = self.norm
        if not _bare(norm):
            return norm(residual(x, out, self.dropout, self.training))  # type: ignore[no-any-return]
        return residual_norm(x, out, norm.weight, norm.bias, norm.eps, self.dropout, self.training)

    def go_on(self, x: Tensor, out: Tensor, following: Residual) -> tuple[Tensor, Tensor]:
        """What its output becomes, and what the sub-layer of the `following` is then given."""
        norm, both = (following.norm, residual_and_norm) if self.pre else (self.norm, residual_norm_twice)
        if not _bare(norm):
            x = self.leave(x, out)
            return x, following.enter(x)
        return both(x, out, norm.weight, norm.bias, norm.eps, self.dropout, self.training)


def normed(norm: nn.Module, x: Tensor) -> Tensor:
    """A norm's output, by our kernels where they can do it."""
    out: Tensor = layer_norm(x, norm.weight, norm.bias, norm.eps) if _bare(norm) else norm(x)  # type: ignore[arg-type]
    return out


def _bare(norm: nn.Module) -> bool:
    """Whether a norm is a LayerNorm and nothing else: one that was exchanged, or hooked into, wants to be called."""
    return type(norm) is nn.LayerNorm and not norm._forward_hooks and not norm._forward_pre_hooks


class EncoderLayer(nn.Module):
    """Self-attention over the whole source, then feed-forward."""

    def __init__(self, attention: MultiHead, width: int, inner: int, *, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.self_attention = attention
        self.around_self = Residual(width, norm, dropout)
        self.feed_forward = FeedForward(width, inner)
        self.around_feed = Residual(width, norm, dropout)

    def forward(self, x: Tensor, mask: Tensor, tape: Tape | None = None) -> Tensor:
        """(B, S, width) -> (B, S, width); the mask (B, S) shows some of each sentence, as a Batch makes sure."""
        y = self.around_self.enter(x)
        attended = self.self_attention.over(y, mask, sight="some", tape=tape)
        x, y = self.around_self.go_on(x, attended.context, self.around_feed)
        return self.around_feed.leave(x, self.feed_forward(y))


@tree.node
class LayerState:
    """What a decoder layer keeps between steps: its cache, and the pasts of attentions that have one."""

    cache: Cache
    self_past: Past | None
    cross_past: Past | None


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source (`cross`, where there is one), then feed-forward.

    One body for whole targets and for single steps: it is handed a function that turns its self-attention's
    input into a bank, causal over the target or the cache of what was written so far.
    """

    def __init__(
        self, attention: MultiHead, cross: MultiHead | None, width: int, inner: int, *, norm: Norm, dropout: float
    ) -> None:
        super().__init__()
        self.self_attention = attention
        self.around_self = Residual(width, norm, dropout)
        self.cross = cross
        self.around_cross = None if cross is None else Residual(width, norm, dropout)
        self.feed_forward = FeedForward(width, inner)
        self.around_feed = Residual(width, norm, dropout)
        self.width = width

    def start(self, rows: int, max_length: int, like: Tensor, source: Bank | None) -> LayerState:
        """Nothing written yet."""
        cache = Cache.empty(self.self_attention, rows, max_length, self.width, like)
        cross = None if self.cross is None or source is None else self.cross.start(source, rows)
        return LayerState(cache, self.self_attention.start(cache.bank(ahead=1)), cross)

    def forward(self, x: Tensor, source: Bank | None, *, tape: Tape | None = None) -> Tensor:
        """Whole targets: (B, T, width) -> (B, T, width)."""
        y = self.around_self.enter(x)
        attended = self.self_attention.over(y, masks.causal(x.shape[1], device=x.device), sight="causal", tape=tape)
        x, _ = self._rest(x, attended.context, source, None, None, tape)
        return x

    def step(
        self, x: Tensor, state: LayerState, source: Bank | None, *, tape: Tape | None = None
    ) -> tuple[Tensor, LayerState]:
        """One word: (N, 1, width) -> (N, 1, width), state."""
        positions = state.cache.count[:, None]
        y = self.around_self.enter(x)
        cache = state.cache.add(*self.self_attention.project(y, positions=positions))
        attended = self.self_attention(y, cache.bank(), positions=positions, past=state.self_past, tape=tape)
        x, past = self._rest(x, attended.context, source, positions, state.cross_past, tape)
        return x, LayerState(cache, attended.past, past)

    def _rest(
        self,
        x: Tensor,
        own: Tensor,
        source: Bank | None,
        positions: Tensor | None,
        past: Past | None,
        tape: Tape | None,
    ) -> tuple[Tensor, Past | None]:
        if self.cross is not None and self.around_cross is not None and source is not None:
            x, y = self.around_self.go_on(x, own, self.around_cross)
            attended = self.cross(y, source, positions=positions, past=past, sight="some", tape=tape)
            own, past, before = attended.context, attended.past, self.around_cross
        else:
            before = self.around_self
        x, y = before.go_on(x, own, self.around_feed)
        return self.around_feed.leave(x, self.feed_forward(y)), past


class TransformerEncoder(Encoder):
    """A stack of encoder layers; pre-norm stacks end with a norm of their own."""

    def __init__(
        self, make_attention: MakeAttention, width: int, inner: int, layers: int, *, norm: Norm, dropout: float
    ) -> None:
        super().__init__()
        self.layers: Layers[EncoderLayer] = Layers(
            EncoderLayer(make_attention(), width, inner, norm=norm, dropout=dropout) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width) if norm == "pre" else nn.Identity()
        self.width = width

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> Reading:
        for layer in self.layers:
            inputs = layer(inputs, mask, tape)
        annotations = normed(self.norm, inputs)
        return Reading(annotations, masks.last(annotations, mask))


class TransformerDecoder(nn.Module):
    """A stack of decoder layers, with attention to a source or without."""

    def __init__(
        self,
        make_attention: MakeAttention,
        make_cross: MakeAttention | None,
        width: int,
        inner: int,
        layers: int,
        *,
        norm: Norm,
        dropout: float,
    ) -> None:
        super().__init__()
        self.layers: Layers[DecoderLayer] = Layers(
            DecoderLayer(
                make_attention(), make_cross() if make_cross else None, width, inner, norm=norm, dropout=dropout
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width) if norm == "pre" else nn.Identity()

    def banks(self, annotations: Tensor, mask: Tensor) -> tuple[Bank, ...]:
        """The source as each layer's cross attention wants it, projected once."""
        return tuple(layer.cross.bank(annotations, mask=mask) for layer in self.layers if layer.cross is not None)

    def start(
        self, rows: int, max_length: int, like: Tensor, sources: tuple[Bank, ...] | None
    ) -> tuple[LayerState, ...]:
        """The states of all layers before the first word."""
        return tuple(
            layer.start(rows, max_length, like, source)
            for layer, source in zip(self.layers, sources or [None] * len(self.layers), strict=True)
        )

    def forward(self, x: Tensor, sources: tuple[Bank, ...] | None, *, tape: Tape | None = None) -> Tensor:
        """Whole targets: (B, T, width) -> (B, T, width)."""
        for layer, source in zip(self.layers, sources or [None] * len(self.layers), strict=True):
            x = layer(x, source, tape=tape)
        return normed(self.norm, x)

    def step(
        self,
        x: Tensor,
        states: tuple[LayerState, ...],
        sources: tuple[Bank, ...] | None,
        *,
        tape: Tape | None = None,
    ) -> tuple[Tensor, tuple[LayerState, ...]]:
        """One word: (N, 1, width) -> (N, 1, width), states."""
        after = []
        for layer, state, source in zip(self.layers, states, sources or [None] * len(self.layers), strict=True):
            x, state = layer.step(x, state, source, tape=tape)
            after.append(state)
        return normed(self.norm, x), tuple(after)


class TransformerReader(Reader):
    """A Transformer decoder without a source, as a reader: what a Transformer language model reads with."""

    def __init__(self, decoder: TransformerDecoder, place: PlacedEmbedding, width: int) -> None:
        super().__init__()
        self.decoder, self.place = decoder, place
        self.input_width = self.width = width

    def start(self, rows: int, max_length: int, like: Tensor) -> tuple[LayerState, ...]:
        self.place.check_length(max_length)
        return self.decoder.start(rows, max_length, like, None)

    def step(
        self, inputs: Tensor, state: tuple[LayerState, ...], *, tape: Tape | None = None
    ) -> tuple[Tensor, tuple[LayerState, ...]]:
        positions = state[0].cache.count[:, None]
        x, state = self.decoder.step(self.place(inputs[:, None], positions), state, None, tape=tape)
        return x[:, 0], state

    def forward(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        out: Tensor = self.decoder(self.place(inputs, None), None, tape=tape)
        return out


class PlacedEmbedding(nn.Module):
    """Embeddings with their position code added, and dropout on the sum."""

    def __init__(self, positions: Learned | Sinusoidal | None, dropout: float) -> None:
        super().__init__()
        self.positions, self.dropout = positions, dropout

    def check_length(self, length: int) -> None:
        """Refuse what the position table has no row for."""
        limit = None if self.positions is None else self.positions.max_length
        if limit is not None and length > limit:
            raise ShapeError(
                f"the sequence is {length} long, but the learned positions end at {limit}. Build the model with a "
                "larger max_length, split the input, search with a smaller max_length, or use other positions."
            )

    def forward(self, embedded: Tensor, positions: Tensor | None = None) -> Tensor:
        """Embedded (N, T, width) at positions (N, T), by default 0..T-1."""
        if self.positions is not None:
            if positions is None:
                self.check_length(embedded.shape[1])
                positions = torch.arange(embedded.shape[1], device=embedded.device)[None]
            embedded = embedded + self.positions(positions).to(embedded.dtype)
        return dropout(embedded, self.dropout, self.training)

"""Transformer layers: attention and feed-forward sub-layers, each with a residual connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from saccade import masks, pytree
from saccade.attention import AttentionState, Bank, Cache, MultiHead, Tape
from saccade.errors import ShapeError
from saccade.kernels.dropout import dropout
from saccade.kernels.feed_forward import feed_forward
from saccade.kernels.residual import layer_norm, residual, residual_and_norm, residual_norm, residual_norm_twice
from saccade.layers.causal import CausalLayer
from saccade.layers.encoder import Encoder, EncoderOutput
from saccade.layers.positions import Learned, Sinusoidal
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
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, the same at every position."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., width) to (..., width)."""
        first, between, second = self
        if isinstance(first, nn.Linear) and isinstance(between, nn.ReLU) and isinstance(second, nn.Linear):
            return feed_forward(first, between, second, x)
        out: Tensor = second(between(first(x)))  # the modules were replaced
        return out


class Residual(nn.Module):
    """Residual connection and layer norm around a sub-layer.

    post: LayerNorm(x + Dropout(f(x)))  (the paper)        pre: x + Dropout(f(LayerNorm(x)))
    """

    def __init__(self, width: int, norm: Norm, dropout: float) -> None:
        super().__init__()
        self.norm, self.pre, self.dropout = nn.LayerNorm(width), norm == "pre", dropout

    def enter(self, x: Tensor) -> Tensor:
        """Return the sub-layer's input."""
        return normed(self.norm, x) if self.pre else x

    def leave(self, x: Tensor, out: Tensor) -> Tensor:
        """Add x to the sub-layer's output; post-norm also normalizes the sum."""
        if self.pre:
            return residual(x, out, self.dropout, self.training)
        norm = self.norm
        if not _is_plain(norm):
            return norm(residual(x, out, self.dropout, self.training))  # type: ignore[no-any-return]
        return residual_norm(x, out, norm.weight, norm.bias, norm.eps, self.dropout, self.training)

    def go_on(self, x: Tensor, out: Tensor, following: Residual) -> tuple[Tensor, Tensor]:
        """Return `leave(x, out)` and the input of the `following` sub-layer, in one kernel if possible."""
        norm, both = (following.norm, residual_and_norm) if self.pre else (self.norm, residual_norm_twice)
        if not _is_plain(norm):
            x = self.leave(x, out)
            return x, following.enter(x)
        return both(x, out, norm.weight, norm.bias, norm.eps, self.dropout, self.training)


def normed(norm: nn.Module, x: Tensor) -> Tensor:
    """Apply a norm, with our kernels if it is a plain LayerNorm."""
    out: Tensor = layer_norm(x, norm.weight, norm.bias, norm.eps) if _is_plain(norm) else norm(x)  # type: ignore[arg-type]
    return out


def _is_plain(norm: nn.Module) -> bool:
    """Return whether a norm is exactly nn.LayerNorm without hooks, which a kernel would not call."""
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
        """Map (B, S, width) to the same shape; the mask (B, S) keeps a word of each sentence, as Batch ensures."""
        y = self.around_self.enter(x)
        attended = self.self_attention.over(y, mask, sight="some", tape=tape)
        x, y = self.around_self.go_on(x, attended.context, self.around_feed)
        return self.around_feed.leave(x, self.feed_forward(y))


@pytree.node
class LayerState:
    """A decoder layer's state between steps: its KV cache, and the states of attentions that keep one."""

    cache: Cache
    self_past: AttentionState | None
    cross_past: AttentionState | None


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the source (`cross`, if there is one), then feed-forward.

    `forward` processes whole targets with a causal mask, `step` one word with a cache of the words before it.
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
        """Return the state before the first word."""
        cache = Cache.empty(self.self_attention, rows, max_length, self.width, like)
        cross = None if self.cross is None or source is None else self.cross.start(source, rows)
        return LayerState(cache, self.self_attention.start(cache.bank(ahead=1)), cross)

    def forward(self, x: Tensor, source: Bank | None, *, tape: Tape | None = None) -> Tensor:
        """Process whole targets: (B, T, width) -> (B, T, width)."""
        y = self.around_self.enter(x)
        attended = self.self_attention.over(y, masks.causal(x.shape[1], device=x.device), sight="causal", tape=tape)
        x, _ = self._after_self(x, attended.context, source, None, None, tape)
        return x

    def step(
        self, x: Tensor, state: LayerState, source: Bank | None, *, tape: Tape | None = None
    ) -> tuple[Tensor, LayerState]:
        """Process one word: (N, 1, width) -> (N, 1, width), state."""
        positions = state.cache.count[:, None]
        y = self.around_self.enter(x)
        cache = state.cache.add(*self.self_attention.project(y, positions=positions))
        attended = self.self_attention(y, cache.bank(), positions=positions, past=state.self_past, tape=tape)
        x, past = self._after_self(x, attended.context, source, positions, state.cross_past, tape)
        return x, LayerState(cache, attended.past, past)

    def _after_self(
        self,
        x: Tensor,
        own: Tensor,
        source: Bank | None,
        positions: Tensor | None,
        past: AttentionState | None,
        tape: Tape | None,
    ) -> tuple[Tensor, AttentionState | None]:
        if self.cross is not None and self.around_cross is not None and source is not None:
            x, y = self.around_self.go_on(x, own, self.around_cross)
            attended = self.cross(y, source, positions=positions, past=past, sight="some", tape=tape)
            own, past, before = attended.context, attended.past, self.around_cross
        else:
            before = self.around_self
        x, y = before.go_on(x, own, self.around_feed)
        return self.around_feed.leave(x, self.feed_forward(y)), past


class TransformerEncoder(Encoder):
    """A stack of encoder layers; pre-norm stacks end with one more norm."""

    def __init__(
        self, make_attention: MakeAttention, width: int, inner: int, layers: int, *, norm: Norm, dropout: float
    ) -> None:
        super().__init__()
        self.layers: Layers[EncoderLayer] = Layers(
            EncoderLayer(make_attention(), width, inner, norm=norm, dropout=dropout) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width) if norm == "pre" else nn.Identity()
        self.width = width

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> EncoderOutput:
        for layer in self.layers:
            inputs = layer(inputs, mask, tape)
        annotations = normed(self.norm, inputs)
        return EncoderOutput(annotations, masks.last(annotations, mask))


class TransformerDecoder(nn.Module):
    """A stack of decoder layers, with or without attention to a source."""

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
        """Project the source once for the cross-attention of each layer."""
        return tuple(layer.cross.bank(annotations, mask=mask) for layer in self.layers if layer.cross is not None)

    def start(
        self, rows: int, max_length: int, like: Tensor, sources: tuple[Bank, ...] | None
    ) -> tuple[LayerState, ...]:
        """Return the states of all layers before the first word."""
        return tuple(
            layer.start(rows, max_length, like, source)
            for layer, source in zip(self.layers, sources or [None] * len(self.layers), strict=True)
        )

    def forward(self, x: Tensor, sources: tuple[Bank, ...] | None, *, tape: Tape | None = None) -> Tensor:
        """Process whole targets: (B, T, width) -> (B, T, width)."""
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
        """Process one word: (N, 1, width) -> (N, 1, width), states."""
        after = []
        for layer, state, source in zip(self.layers, states, sources or [None] * len(self.layers), strict=True):
            x, state = layer.step(x, state, source, tape=tape)
            after.append(state)
        return normed(self.norm, x), tuple(after)


class TransformerReader(CausalLayer):
    """A Transformer decoder without a source, as the causal layer of a Transformer language model."""

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
    """Embeddings plus positional encodings, with dropout on the sum."""

    def __init__(self, positions: Learned | Sinusoidal | None, dropout: float) -> None:
        super().__init__()
        self.positions, self.dropout = positions, dropout

    def check_length(self, length: int) -> None:
        """Raise if the learned positions end before `length`."""
        limit = None if self.positions is None else self.positions.max_length
        if limit is not None and length > limit:
            raise ShapeError(
                f"the sequence is {length} long, but the learned positions end at {limit}. Build the model with a "
                "larger max_length, split the input, search with a smaller max_length, or use other positions."
            )

    def forward(self, embedded: Tensor, positions: Tensor | None = None) -> Tensor:
        """Add the encodings of positions (N, T), by default 0..T-1, to embeddings (N, T, width)."""
        if self.positions is not None:
            if positions is None:
                self.check_length(embedded.shape[1])
                positions = torch.arange(embedded.shape[1], device=embedded.device)[None]
            embedded = embedded + self.positions(positions).to(embedded.dtype)
        return dropout(embedded, self.dropout, self.training)

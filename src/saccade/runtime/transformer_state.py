"""The decoding state of a Transformer: growing KV caches, and keys and values of the source."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention import Tape
from saccade.attention.multihead import Rotate
from saccade.kernels.dispatch import fusable
from saccade.kernels.native.transformer import Desk, NativeDecoder, Progress
from saccade.kernels.packed import Product
from saccade.runtime.engine import DecodingState, rows_of
from saccade.runtime.transformer_packed import Norm, PackedDecoderLayer, Words, close

__all__ = ["PackedDecoder", "TransformerDecodingState"]

_FIRST_ROOM = 16
"""Initial capacity of a KV cache, in words."""


@dataclass(frozen=True)
class PackedDecoder:
    """The packed decoder of a Transformer."""

    words: Words
    layers: list[PackedDecoderLayer]
    norm: Norm
    output: Product
    native: NativeDecoder | None
    """The whole decoder in native code, if supported."""


class TransformerDecodingState(DecodingState):
    """KV caches (T, N, W) of the target, with time first so that the filled part is contiguous; banks of the source.

    A bank has keys (B·H, D, S) and values (B·H, S, D); the K hypotheses of a sentence are K queries of its row.
    Sentences that replaced others started later: `_ages` counts their steps, and `_early` masks the cache entries from
    before their start. All rows write at the same time index, so a write to the cache is one copy.
    """

    def __init__(
        self,
        decoder: PackedDecoder,
        banks: list[tuple[Tensor, Tensor]],
        mask: Tensor,
        full: bool,
        width: int,
        max_length: int,
    ) -> None:
        self._decoder, self._width, self._max_length = decoder, width, max_length
        self._sentences, self._size = mask.shape
        self._heads = decoder.layers[0].heads.count
        self._first, self._t = 0, 0  # the cache is in use from `_first` to `_t`
        self._places = decoder.words.places(max_length)
        self._banks, like = banks, banks[0][0]
        self._hidden: Tensor | None = None  # (B·H, 1, S), added to scores: -inf for padding
        if not full:
            hidden = torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill_(~mask, -torch.inf)
            self._hidden = hidden.repeat_interleave(self._heads, 0)[:, None]
        room = min(_FIRST_ROOM, max_length)
        shape = (room, self._sentences * width, decoder.layers[0].heads.width)
        self._caches = [(like.new_empty(shape), like.new_empty(shape)) for _ in decoder.layers]
        self._spare: list[tuple[Tensor, Tensor]] = []
        # the lengths of the sources; not read on a GPU, where this would sync
        self._sizes = mask.sum(1).tolist() if mask.device.type == "cpu" else [self._size] * self._sentences
        self._begun: list[int] | None = None  # the step in which each sentence started, once they differ
        self._ages: Tensor | None = None  # (N,): steps since the start of each row, once they differ
        self._by_kernels = False
        self._native: NativeDecoder | None = None
        self._desk = Desk()
        self._starts: Tensor | None = None  # (N,): `_begun` of every row
        self._origins: Tensor | None = None  # (T, N): the cache row with step t of each row's past; None: its own row
        self._other_origins: Tensor | None = None  # buffer for the next `_origins`
        self._early: Tensor | None = (
            None  # (N·H, 1, T), added to scores: -inf before a row's start; without native code
        )

    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        decoder, t = self._decoder, self._t
        if t == 0:  # fixed at the first step: a search passes a tape in all steps or in none
            rotates = decoder.layers[0].heads.rotate is not None
            recorded = tape is not None and any(tape.at(layer.heads.site) is not None for layer in decoder.layers)
            self._by_kernels = not recorded and not rotates and fusable(decoder.words.weight)
            self._native = decoder.native
        if self._native is not None:
            return self._step_native(self._native, tokens, tape)
        x = F.embedding(tokens, decoder.words.weight)
        if self._places is None:
            x *= decoder.words.scale
        else:
            place = self._places[t] if self._ages is None else F.embedding(self._ages, self._places)
            x = torch.add(place, x, alpha=decoder.words.scale)
        if t == self._caches[0][0].shape[0]:
            self._make_room()
        size = self._size if tape is not None else max(self._sizes)
        hidden = None if self._hidden is None else self._hidden[..., :size]
        for layer, cache, (keys, values) in zip(decoder.layers, self._caches, self._banks, strict=True):
            x = self._attend_to_self(layer, x, cache, tape)
            x = self._attend_to_source(layer, x, keys[..., :size], values[:, :size], hidden, tape)
            x = layer.feed(x, layer.around_feed)
        self._advance_time()
        return decoder.output(decoder.norm(x))

    def _step_native(self, native: NativeDecoder, tokens: Tensor, tape: Tape | None) -> Tensor:
        """Run the whole step in native code."""
        if self._t == self._caches[0][0].shape[0]:
            self._make_room()
        if self._begun is not None and self._starts is None:
            self._starts = torch.tensor(self._begun, device="cpu").repeat_interleave(self._width)
        at = Progress(
            self._places, self._ages, self._starts, self._origins, self._caches, self._banks, self._hidden,
            self._width, self._t, max(self._sizes), None if tape is None else self._attention_buffers(len(tokens)),
        )  # fmt: skip
        logits = native.step(tokens, at, self._desk)
        if tape is not None and at.looks is not None:
            for layer, back, source in zip(self._decoder.layers, *at.looks, strict=True):
                layer.heads.record(back, tape)
                layer.cross.record(source, tape)
        self._advance_time()
        return logits

    def _attention_buffers(self, rows: int) -> tuple[Tensor, Tensor]:
        like, layers = self._caches[0][0], len(self._decoder.layers)
        back, source = (like.new_zeros(layers, rows, self._heads, 1, size) for size in (self._max_length, self._size))
        return back, source

    def _advance_time(self) -> None:
        self._t += 1
        if self._ages is not None:
            self._ages.add_(1).clamp_(max=self._max_length - 1)  # rows of finished sentences stay until replaced

    def follow(self, rows: Tensor) -> None:
        if self._by_kernels or self._native is not None:
            if self._origins is None or self._other_origins is None:
                times = self._max_length if self._by_kernels else self._caches[0][0].shape[0]
                self._origins = torch.arange(len(rows), device=rows.device).repeat(times, 1)
                self._other_origins = self._origins.clone()
            old, new = self._origins, self._other_origins
            torch.index_select(old[: self._t], 1, rows, out=new[: self._t])
            self._origins, self._other_origins = new, old
            return
        if not self._spare:
            self._spare = [(torch.empty_like(keys), torch.empty_like(values)) for keys, values in self._caches]
        filled = slice(self._first, self._t)
        for pair, spare in zip(self._caches, self._spare, strict=True):
            for cache, free in zip(pair, spare, strict=True):
                torch.index_select(cache[filled], 1, rows, out=free[filled])
        self._caches, self._spare = self._spare, self._caches

    def keep(self, sentences: Tensor) -> None:
        assert not self._by_kernels, "finished rows are not removed on a GPU"
        self._gather()
        rows, of_heads = rows_of(sentences, self._width), rows_of(sentences, self._heads)
        self._caches = [(keys.index_select(1, rows), values.index_select(1, rows)) for keys, values in self._caches]
        self._banks = [
            (keys.index_select(0, of_heads), values.index_select(0, of_heads)) for keys, values in self._banks
        ]
        self._hidden = None if self._hidden is None else self._hidden.index_select(0, of_heads)
        self._sizes = [self._sizes[row] for row in sentences.tolist()]
        self._sentences, self._spare = len(sentences), []
        if self._begun is not None and self._ages is not None:
            self._begun = [self._begun[row] for row in sentences.tolist()]
            self._ages = self._ages.index_select(0, rows)
            self._first, self._starts = min(self._begun), None
        if self._early is not None:
            self._early = self._early.index_select(0, rows_of(rows, self._heads))

    def _gather(self) -> None:
        """Move the past of each row to its own row of the caches."""
        if self._origins is None:
            return
        used = slice(self._first, self._t)
        places = self._origins[used, :, None].expand(-1, -1, self._caches[0][0].shape[2])
        for pair in self._caches:
            for cache in pair:
                cache[used] = cache[used].gather(1, places)
        self._origins = self._other_origins = None

    def replace(self, sentences: Tensor, others: DecodingState, which: Tensor) -> None:
        assert not self._by_kernels, "sentences are not replaced on a GPU"
        assert isinstance(others, TransformerDecodingState)
        like = self._caches[0][0]
        if self._begun is None or self._ages is None:
            self._begun = [0] * self._sentences
            self._ages = torch.full((like.shape[1],), self._t, device=like.device)
            if self._native is None:
                self._early = like.new_zeros(like.shape[1] * self._heads, 1, like.shape[0])
        rows, of_heads = rows_of(sentences, self._width), rows_of(sentences, self._heads)
        self._ages[rows] = 0
        if self._early is not None:
            mine = rows_of(rows, self._heads)
            self._early[mine, :, : self._t] = -torch.inf
            self._early[mine, :, self._t :] = 0.0
        for row in sentences.tolist():
            self._begun[row] = self._t
        self._first, self._starts = min(self._begun), None
        self._replace_banks(of_heads, others, rows_of(which, self._heads))
        for row, other in zip(sentences.tolist(), which.tolist(), strict=True):
            self._sizes[row] = others._sizes[other]

    def _replace_banks(self, places: Tensor, others: TransformerDecodingState, theirs: Tensor) -> None:
        """Write the banks of other sentences into rows `places`; mask what is longer than their source."""
        if self._hidden is None:
            self._hidden = self._banks[0][0].new_zeros(self._sentences * self._heads, 1, self._size)
        more, size = others._size - self._size, others._size
        if more > 0:
            self._banks = [(F.pad(keys, (0, more)), F.pad(values, (0, 0, 0, more))) for keys, values in self._banks]
            self._hidden, self._size = F.pad(self._hidden, (0, more), value=-torch.inf), size
        self._hidden[places, :, size:] = -torch.inf
        self._hidden[places, :, :size] = 0.0 if others._hidden is None else others._hidden[theirs]
        for (keys, values), (new_keys, new_values) in zip(self._banks, others._banks, strict=True):
            keys[..., :size].index_copy_(0, places, new_keys.index_select(0, theirs))
            values[:, :size].index_copy_(0, places, new_values.index_select(0, theirs))

    def _make_room(self) -> None:
        """Reallocate the caches at twice the used size, without the entries that no row attends to any more."""
        used = slice(self._first, self._t)
        room = max(_FIRST_ROOM, 2 * (self._t - self._first))
        for number, pair in enumerate(self._caches):
            keys, values = (part.new_empty(room, *part.shape[1:]) for part in pair)
            for new, old in zip((keys, values), pair, strict=True):
                new[: self._t - self._first] = old[used]
            self._caches[number] = keys, values
        if self._begun is not None:
            self._begun, self._starts = [begun - self._first for begun in self._begun], None
        if self._early is not None:
            self._early = F.pad(self._early[..., used], (0, room - (self._t - self._first)))
        if self._native is not None and self._origins is not None:
            origins = torch.arange(self._origins.shape[1], device="cpu").repeat(room, 1)
            origins[: self._t - self._first] = self._origins[used]
            self._origins, self._other_origins = origins, origins.clone()
        self._first, self._t, self._spare = 0, self._t - self._first, []

    def _attend_to_self(
        self, layer: PackedDecoderLayer, x: Tensor, cache: tuple[Tensor, Tensor], tape: Tape | None
    ) -> Tensor:
        heads, t, rows = layer.heads, self._t, x.shape[0]
        assert heads.joined is not None
        joined = heads.joined(layer.around_self.before(x))
        if self._by_kernels:
            from saccade.kernels.dot.step import attend_written

            context = attend_written(joined, *cache, self._origins, t, heads.count)
            return close(heads.output, context, x, layer.around_self)
        joined = joined.view(rows, 3, heads.count, -1)
        query, keys = joined[:, 0], joined[:, 1]
        if heads.rotate is not None:
            query, keys = self._rotated(heads.rotate, query), self._rotated(heads.rotate, keys)
        cache[0][t].view_as(keys).copy_(keys)
        cache[1][t].view_as(keys).copy_(joined[:, 2])
        past_keys, past_values = (
            part[self._first : t + 1].view(t + 1 - self._first, rows * heads.count, -1) for part in cache
        )
        folded, keys = query.reshape(rows * heads.count, 1, -1), past_keys.permute(1, 2, 0)
        if self._early is None:
            scores = torch.bmm(folded, keys)  # (N·H, 1, t+1)
        else:
            scores = torch.baddbmm(self._early[..., self._first : t + 1], folded, keys)
        weights = torch.softmax(scores, -1)
        if tape is not None:
            heads.record(F.pad(weights.view(rows, heads.count, 1, -1), (0, self._max_length - t - 1)), tape)
        context = torch.bmm(weights, past_values.transpose(0, 1)).view(rows, -1)
        return close(heads.output, context, x, layer.around_self)

    def _attend_to_source(
        self,
        layer: PackedDecoderLayer,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        hidden: Tensor | None,
        tape: Tape | None,
    ) -> Tensor:
        heads, sentences, width = layer.cross, self._sentences, self._width
        query = heads.query(layer.around_cross.before(x))
        if self._by_kernels:
            from saccade.kernels.dot.step import attend_source

            weights = None
            if tape is not None and tape.at(heads.site) is not None:
                shape = (x.shape[0], heads.count, keys.shape[-1])
                weights = torch.empty(shape, dtype=torch.float32, device=x.device)
                heads.record(weights[:, :, None], tape)
            context = attend_source(query, keys, values, hidden, heads.count, weights)
            return close(heads.output, context, x, layer.around_cross)
        query = query.view(x.shape[0], heads.count, -1)
        if heads.rotate is not None:
            query = self._rotated(heads.rotate, query)
        folded = query.view(sentences, width, heads.count, -1).transpose(1, 2)
        folded = folded.reshape(sentences * heads.count, width, -1)
        scores = torch.bmm(folded, keys) if hidden is None else torch.baddbmm(hidden, folded, keys)  # (B·H, K, S)
        weights = torch.softmax(scores, -1)
        if tape is not None:
            spread = weights.view(sentences, heads.count, width, -1).transpose(1, 2)
            heads.record(spread.reshape(x.shape[0], heads.count, 1, -1), tape)
        context = torch.bmm(weights, values).view(sentences, heads.count, width, -1).transpose(1, 2)
        return close(heads.output, context.reshape(x.shape[0], -1), x, layer.around_cross)

    def _rotated(self, rotate: Rotate, x: Tensor) -> Tensor:
        """Rotate queries or keys (N, H, D) by the current position of each row."""
        position = torch.full((1, 1), self._t, device=x.device) if self._ages is None else self._ages[:, None]
        return rotate(x.unsqueeze(-2), position).squeeze(-2)

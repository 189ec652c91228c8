"""The Transformer made ready to write: packed weights, flat tensors, caches that grow with what is written."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import MultiHead, Tape, site_of
from saccade.attention.aligns import Softmax
from saccade.attention.multihead import Rotate
from saccade.attention.scores import DotScore, ScaledDot
from saccade.attention.windows import Global
from saccade.batch import Batch, check_tokens
from saccade.kernels.native.products import NativeProduct, is_native
from saccade.kernels.native.transformer import Desk, NativeDecoder, NativeEncoder, Parts, Progress, suits
from saccade.kernels.packed import Precision, Product, pack
from saccade.kernels.residual import residual_norm
from saccade.kernels.ways import fusable
from saccade.layers.transformer import DecoderLayer, EncoderLayer, FeedForward, PlacedEmbedding, Residual
from saccade.models.base import source_of
from saccade.models.writer import Draft, Writer, rows_of

__all__ = ["TransformerWriter", "fits"]

_FIRST_ROOM = 16
"""The words that a cache has room for at first."""


def fits(attention: object) -> bool:
    """Whether an attention is the plain one: scaled or unscaled inner products, softmax, nothing hidden."""
    if type(attention) is not MultiHead:
        return False
    inner = attention.inner
    plain = type(inner.score) in (DotScore, ScaledDot) and type(inner.align) is Softmax and type(inner.window) is Global
    return plain and inner.align.fusable


class Norm:
    """LayerNorm, or nothing."""

    def __init__(self, norm: nn.Module) -> None:
        self.norm = norm if isinstance(norm, nn.LayerNorm) else None

    def __call__(self, x: Tensor) -> Tensor:
        norm = self.norm
        return x if norm is None else F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


class Around:
    """The norm before a sub-layer and the one after it, of which one is nothing."""

    def __init__(self, around: Residual) -> None:
        nothing = nn.Identity()
        self.before = Norm(around.norm if around.pre else nothing)
        self.after = Norm(nothing if around.pre else around.norm)


class Heads:
    """A MultiHead with its products packed: queries, keys and values of one input in one, the scale inside."""

    def __init__(self, attention: MultiHead, precision: Precision, *, apart: bool) -> None:
        self.site, self.owner = site_of(attention), attention.inner
        self.count, self.width = attention.heads, attention.width
        self.rotate: Rotate | None = attention.rotate
        scale = attention.inner.score.as_dot(attention.query.weight, attention.query.weight)
        assert scale is not None
        query, key, value = attention.query, attention.key, attention.value
        asked = (query.weight * scale.scale, None if query.bias is None else query.bias * scale.scale)
        kept = _side_by_side([(key.weight, key.bias), (value.weight, value.bias)])
        self.joined: Product | None = None
        if apart:
            self.query, self.kept = pack(*asked, precision=precision), pack(*kept, precision=precision)
        else:
            self.joined = pack(*_side_by_side([asked, kept]), precision=precision)
        self.output = pack(attention.output.weight, attention.output.bias, precision=precision)

    def record(self, weights: Tensor, tape: Tape) -> None:
        """Put weights (N, H, T, S) on a tape."""
        tape.write(self.site, weights, owner=self.owner)


def close(product: Product, inner: Tensor, x: Tensor, around: Around) -> Tensor:
    """The end of a sub-layer: its last product, the sum with what it was given, and a norm after it."""
    norm = around.after.norm
    if norm is None or not fusable(x):
        return around.after(product.added(inner, x))
    return residual_norm(x, product(inner), norm.weight, norm.bias, norm.eps, 0.0, False)


class Feed:
    """The feed-forward layers, packed."""

    def __init__(self, layers: FeedForward, precision: Precision) -> None:
        inner, outer = (part for part in layers if isinstance(part, nn.Linear))
        self.inner = pack(inner.weight, inner.bias, precision=precision)
        self.outer = pack(outer.weight, outer.bias, precision=precision)

    def __call__(self, x: Tensor, around: Around) -> Tensor:
        return close(self.outer, self.inner.rectified(around.before(x)), x, around)


class PackedEncoderLayer:
    """An EncoderLayer on flat rows (B·S, W)."""

    def __init__(self, layer: EncoderLayer, precision: Precision) -> None:
        self.heads = Heads(layer.self_attention, precision, apart=False)
        self.feed = Feed(layer.feed_forward, precision)
        self.around_self, self.around_feed = Around(layer.around_self), Around(layer.around_feed)

    def __call__(self, x: Tensor, mask: Tensor, full: bool, tape: Tape | None) -> Tensor:
        """mask (B, S); `full`: whether it keeps everything."""
        heads, (sentences, size) = self.heads, mask.shape
        assert heads.joined is not None
        joined = heads.joined(self.around_self.before(x)).view(sentences, size, 3, heads.count, -1)
        query, keys, values = joined.permute(2, 0, 3, 1, 4)  # each (B, H, S, D)
        if heads.rotate is not None:
            query, keys = heads.rotate(query, None), heads.rotate(keys, None)
        seen = None if full else mask[:, None, None]
        if tape is None:
            context = F.scaled_dot_product_attention(query, keys, values, seen, scale=1.0)
        else:
            scores = query @ keys.mT
            weights = torch.softmax(scores if seen is None else scores.masked_fill(~seen, -torch.inf), -1)
            heads.record(weights, tape)
            context = weights @ values
        context = context.transpose(1, 2).reshape(sentences * size, -1)
        x = close(heads.output, context, x, self.around_self)
        return self.feed(x, self.around_feed)

    def native_parts(self) -> Parts | None:
        """What it is made of for our own code, where everything is such that there is one."""
        products = (self.heads.joined, self.heads.output, self.feed.inner, self.feed.outer)
        return _native_parts((self.around_self, self.around_feed), products, (self.heads,))


class PackedDecoderLayer:
    """A DecoderLayer for one word at a time on rows (N, W)."""

    def __init__(self, layer: DecoderLayer, precision: Precision) -> None:
        assert layer.cross is not None
        assert layer.around_cross is not None
        self.heads = Heads(layer.self_attention, precision, apart=False)
        self.cross = Heads(layer.cross, precision, apart=True)
        self.feed = Feed(layer.feed_forward, precision)
        self.around_self, self.around_feed = Around(layer.around_self), Around(layer.around_feed)
        self.around_cross = Around(layer.around_cross)

    def native_parts(self) -> Parts | None:
        """What it is made of for our own code, where everything is such that there is one."""
        products = (
            self.heads.joined, self.heads.output, self.cross.query, self.cross.output, self.feed.inner, self.feed.outer
        )  # fmt: skip
        around = (self.around_self, self.around_cross, self.around_feed)
        return _native_parts(around, products, (self.heads, self.cross))


def _native_parts(
    around: tuple[Around, ...], products: tuple[Product | None, ...], heads: tuple[Heads, ...]
) -> Parts | None:
    ours = [product for product in products if isinstance(product, NativeProduct)]
    norms = [norm.norm for each in around for norm in (each.before, each.after)]
    if len(ours) < len(products) or any(each.rotate is not None for each in heads) or not all(map(suits, norms)):
        return None
    return Parts(norms, ours)


class TransformerWriter(Writer):
    """A Transformer with plain attention everywhere; see `fits`."""

    replaces = True

    def __init__(
        self,
        embeddings: tuple[nn.Embedding, nn.Embedding],
        places: tuple[PlacedEmbedding, PlacedEmbedding],
        scale: float,
        encoder: tuple[list[EncoderLayer], nn.Module],
        decoder: tuple[list[DecoderLayer], nn.Module],
        output: nn.Linear,
        precision: Precision,
    ) -> None:
        self.source, self.target = embeddings
        self.source_place, self.target_place = places
        self.scale = scale
        self.encoder, self.encoder_norm = [PackedEncoderLayer(part, precision) for part in encoder[0]], Norm(encoder[1])
        self.decoder, self.decoder_norm = [PackedDecoderLayer(part, precision) for part in decoder[0]], Norm(decoder[1])
        self.output = pack(output.weight, output.bias, precision=precision)
        self.native, self.native_reader = self._native(), self._native_reader()

    def _native(self) -> NativeDecoder | None:
        parts = [part for layer in self.decoder if (part := layer.native_parts()) is not None]
        words, heads = self.target.weight.detach(), self._heads()
        whole = len(parts) == len(self.decoder) and isinstance(self.output, NativeProduct) and heads is not None
        if not whole or not is_native(words) or not suits(self.decoder_norm.norm):
            return None
        assert isinstance(self.output, NativeProduct)
        assert heads is not None
        return NativeDecoder(words, self.scale, parts, self.decoder_norm.norm, self.output, heads)

    def _native_reader(self) -> NativeEncoder | None:
        parts = [part for layer in self.encoder if (part := layer.native_parts()) is not None]
        kept = [layer.cross.kept for layer in self.decoder if isinstance(layer.cross.kept, NativeProduct)]
        words, heads = self.source.weight.detach(), self._heads()
        whole = len(parts) == len(self.encoder) and len(kept) == len(self.decoder) and heads is not None
        if not whole or not is_native(words) or not suits(self.encoder_norm.norm):
            return None
        assert heads is not None
        return NativeEncoder(words, self.scale, parts, self.encoder_norm.norm, kept, heads)

    def _heads(self) -> int | None:
        """How many heads every attention has; None where they differ."""
        counts = {layer.heads.count for layer in self.encoder} | {layer.heads.count for layer in self.decoder}
        counts |= {layer.cross.count for layer in self.decoder}
        return counts.pop() if len(counts) == 1 else None

    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> Draft:
        tokens, mask = source_of(batch)
        check_tokens("source", tokens, self.source.num_embeddings)
        self.target_place.check_length(max_length)
        full = mask.device.type == "cpu" and bool(mask.all())  # elsewhere to ask is to wait
        if self.native_reader is not None and tape is None:
            self.source_place.check_length(tokens.shape[1])
            banks = self.native_reader.read(tokens, mask, self.places(self.source_place, tokens.shape[1]))
            return TransformerDraft(self, banks, mask, full, width, max_length)
        x = self.source_place(F.embedding(tokens, self.source.weight) * self.scale).flatten(0, 1)
        for layer in self.encoder:
            x = layer(x, mask, full, tape)
        read = self.encoder_norm(x)
        banks = [_bank(layer.cross, read, mask) for layer in self.decoder]
        return TransformerDraft(self, banks, mask, full, width, max_length)

    def places(self, place: PlacedEmbedding, length: int) -> Tensor | None:
        """The position codes (T, W) of the first words."""
        if place.positions is None:
            return None
        table: Tensor = place.positions(torch.arange(length, device=self.target.weight.device)[None])[0]
        return table.to(self.target.weight.dtype).contiguous()


def _bank(cross: Heads, source: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Keys (B·H, D, S) and values (B·H, S, D) of a source (B·S, W)."""
    split = cross.kept(source).view(*mask.shape, 2, cross.count, -1)
    keys, values = split.permute(2, 0, 3, 1, 4)  # each (B, H, S, D)
    if cross.rotate is not None:
        keys = cross.rotate(keys, None)
    return keys.mT.flatten(0, 1).contiguous(), values.flatten(0, 1).contiguous()


class TransformerDraft(Draft):
    """Caches (T, N, W) of what was written, first the time, so that what is filled lies together; banks of the source.

    A bank has keys (B·H, D, S) and values (B·H, S, D); the K hypotheses of a sentence are K queries of its row.
    Sentences that took the place of others began later: they are `ages` old and do not see what stands in the cache
    from before their time (`_early`). Everybody's time is the same, so writing to the cache stays one copy.
    """

    def __init__(
        self,
        writer: TransformerWriter,
        banks: list[tuple[Tensor, Tensor]],
        mask: Tensor,
        full: bool,
        width: int,
        max_length: int,
    ) -> None:
        self._writer, self._width, self._max_length = writer, width, max_length
        self._sentences, self._size = mask.shape
        self._heads = writer.decoder[0].heads.count
        self._first, self._t = 0, 0  # the cache is used from here to there
        self._places = writer.places(writer.target_place, max_length)
        self._banks, like = banks, banks[0][0]
        self._hidden: Tensor | None = None  # (B·H, 1, S): what is added to scores
        if not full:
            hidden = torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill_(~mask, -torch.inf)
            self._hidden = hidden.repeat_interleave(self._heads, 0)[:, None]
        room = min(_FIRST_ROOM, max_length)
        shape = (room, self._sentences * width, writer.decoder[0].heads.width)
        self._caches = [(like.new_empty(shape), like.new_empty(shape)) for _ in writer.decoder]
        self._spare: list[tuple[Tensor, Tensor]] = []
        # of the sources, where to ask is not to wait
        self._sizes = mask.sum(1).tolist() if mask.device.type == "cpu" else [self._size] * self._sentences
        self._begun: list[int] | None = None  # when each sentence began, once that differs
        self._ages: Tensor | None = None  # (N,)
        self._by_kernels = False
        self._native: NativeDecoder | None = None
        self._desk = Desk()
        self._starts: Tensor | None = None  # (N,): `begun` of every row
        self._origins: Tensor | None = None  # (T, N): where in the caches a row's past is, if that is not its own row
        self._other_origins: Tensor | None = None  # where the next ones are written
        self._early: Tensor | None = None  # (N·H, 1, T)

    def step(self, tokens: Tensor, *, tape: Tape | None = None) -> Tensor:
        writer, t = self._writer, self._t
        if t == 0:  # a search records all steps or none
            rotates = writer.decoder[0].heads.rotate is not None
            self._by_kernels = tape is None and not rotates and fusable(writer.target.weight)
            self._native = writer.native if tape is None else None
        if self._native is not None:
            return self._step_at_once(self._native, tokens)
        x = F.embedding(tokens, writer.target.weight)
        if self._places is None:
            x *= writer.scale
        else:
            place = self._places[t] if self._ages is None else F.embedding(self._ages, self._places)
            x = torch.add(place, x, alpha=writer.scale)
        if t == self._caches[0][0].shape[0]:
            self._make_room()
        size = self._size if tape is not None else max(self._sizes)
        hidden = None if self._hidden is None else self._hidden[..., :size]
        for layer, cache, (keys, values) in zip(writer.decoder, self._caches, self._banks, strict=True):
            x = self._look_back(layer, x, cache, tape)
            x = self._look_at_source(layer, x, keys[..., :size], values[:, :size], hidden, tape)
            x = layer.feed(x, layer.around_feed)
        self._pass_time()
        return writer.output(writer.decoder_norm(x))

    def _step_at_once(self, native: NativeDecoder, tokens: Tensor) -> Tensor:
        """All of it by our own code."""
        if self._t == self._caches[0][0].shape[0]:
            self._make_room()
        if self._begun is not None and self._starts is None:
            self._starts = torch.tensor(self._begun, device="cpu").repeat_interleave(self._width)
        at = Progress(
            self._places, self._ages, self._starts, self._origins, self._caches, self._banks, self._hidden,
            self._width, self._t, max(self._sizes),
        )  # fmt: skip
        logits = native.step(tokens, at, self._desk)
        self._pass_time()
        return logits

    def _pass_time(self) -> None:
        self._t += 1
        if self._ages is not None:
            self._ages.add_(1).clamp_(max=self._max_length - 1)  # those that are done wait for others to replace them

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
        assert not self._by_kernels, "rows of a GPU cost little, and are kept"
        self._gather()
        rows, of_heads = rows_of(sentences, self._width), rows_of(sentences, self._heads)
        self._caches = [(keys.index_select(1, rows), values.index_select(1, rows)) for keys, values in self._caches]
        self._banks = [
            (keys.index_select(0, of_heads), values.index_select(0, of_heads)) for keys, values in self._banks
        ]
        self._hidden = None if self._hidden is None else self._hidden.index_select(0, of_heads)
        self._sizes = [self._sizes[row] for row in sentences.tolist()]
        self._sentences, self._spare = len(sentences), []
        if self._begun is not None and self._ages is not None and self._early is not None:
            self._begun = [self._begun[row] for row in sentences.tolist()]
            self._ages = self._ages.index_select(0, rows)
            self._early = self._early.index_select(0, rows_of(rows, self._heads))
            self._first, self._starts = min(self._begun), None

    def _gather(self) -> None:
        """Bring everybody's past to its own row."""
        if self._origins is None:
            return
        used = slice(self._first, self._t)
        places = self._origins[used, :, None].expand(-1, -1, self._caches[0][0].shape[2])
        for pair in self._caches:
            for cache in pair:
                cache[used] = cache[used].gather(1, places)
        self._origins = self._other_origins = None

    def replace(self, sentences: Tensor, others: Draft, which: Tensor) -> None:
        assert not self._by_kernels, "rows of a GPU cost little, and are not exchanged"
        assert isinstance(others, TransformerDraft)
        like = self._caches[0][0]
        if self._begun is None or self._ages is None or self._early is None:
            self._begun = [0] * self._sentences
            self._ages = torch.full((like.shape[1],), self._t, device=like.device)
            self._early = like.new_zeros(like.shape[1] * self._heads, 1, like.shape[0])
        rows, of_heads = rows_of(sentences, self._width), rows_of(sentences, self._heads)
        self._ages[rows] = 0
        mine = rows_of(rows, self._heads)
        self._early[mine, :, : self._t] = -torch.inf
        self._early[mine, :, self._t :] = 0.0
        for row in sentences.tolist():
            self._begun[row] = self._t
        self._first, self._starts = min(self._begun), None
        self._read_instead(of_heads, others, rows_of(which, self._heads))
        for row, other in zip(sentences.tolist(), which.tolist(), strict=True):
            self._sizes[row] = others._sizes[other]

    def _read_instead(self, places: Tensor, others: TransformerDraft, theirs: Tensor) -> None:
        """Put the banks of other sentences in the places of some; shorter ones are hidden behind their end."""
        if self._hidden is None:
            self._hidden = self._banks[0][0].new_zeros(self._sentences * self._heads, 1, self._size)
        more, size = others._size - self._size, others._size
        if more > 0:
            self._banks = [(F.pad(keys, (0, more)), F.pad(values, (0, 0, 0, more))) for keys, values in self._banks]
            self._hidden, self._size = F.pad(self._hidden, (0, more), value=-torch.inf), size
        self._hidden[places, :, size:] = -torch.inf
        self._hidden[places, :, :size] = 0.0 if others._hidden is None else others._hidden[theirs]
        for (keys, values), (new_keys, new_values) in zip(self._banks, others._banks, strict=True):
            keys[places, :, :size] = new_keys[theirs]
            values[places, :size] = new_values[theirs]

    def _make_room(self) -> None:
        """Forget what nobody sees any more, or else double the cache."""
        used = slice(self._first, self._t)
        room = max(_FIRST_ROOM, 2 * (self._t - self._first))
        for number, pair in enumerate(self._caches):
            keys, values = (part.new_empty(room, *part.shape[1:]) for part in pair)
            for new, old in zip((keys, values), pair, strict=True):
                new[: self._t - self._first] = old[used]
            self._caches[number] = keys, values
        if self._early is not None and self._begun is not None:
            self._early = F.pad(self._early[..., used], (0, room - (self._t - self._first)))
            self._begun, self._starts = [begun - self._first for begun in self._begun], None
        if self._native is not None and self._origins is not None:
            origins = torch.arange(self._origins.shape[1], device="cpu").repeat(room, 1)
            origins[: self._t - self._first] = self._origins[used]
            self._origins, self._other_origins = origins, origins.clone()
        self._first, self._t, self._spare = 0, self._t - self._first, []

    def _look_back(
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
        asked, keys = query.reshape(rows * heads.count, 1, -1), past_keys.permute(1, 2, 0)
        if self._early is None:
            scores = torch.bmm(asked, keys)  # (N·H, 1, t+1)
        else:
            scores = torch.baddbmm(self._early[..., self._first : t + 1], asked, keys)
        weights = torch.softmax(scores, -1)
        if tape is not None:
            heads.record(F.pad(weights.view(rows, heads.count, 1, -1), (0, self._max_length - t - 1)), tape)
        context = torch.bmm(weights, past_values.transpose(0, 1)).view(rows, -1)
        return close(heads.output, context, x, layer.around_self)

    def _look_at_source(
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

            context = attend_source(query, keys, values, hidden, heads.count)
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
        """(N, H, D) turned by the present position of each."""
        position = torch.full((1, 1), self._t, device=x.device) if self._ages is None else self._ages[:, None]
        return rotate(x.unsqueeze(-2), position).squeeze(-2)


def _side_by_side(layers: list[tuple[Tensor, Tensor | None]]) -> tuple[Tensor, Tensor | None]:
    """Weights and biases of several layers that read the same, as those of one."""
    weights, biases = zip(*layers, strict=True)
    bias = None if biases[0] is None else torch.cat([part for part in biases if part is not None])
    return torch.cat(weights), bias

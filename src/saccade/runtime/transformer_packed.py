"""Packed layers of a Transformer, which compute on rows of words instead of sentences.

Each class packs one kind of layer. Its modules go through `exactly`: another type, a forward hook or a replaced
method raises Inexact, and the model is decoded by its own `step`.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import Attention, MultiHead, Tape, site_of
from saccade.attention.aligns import Softmax
from saccade.attention.multihead import Rotate
from saccade.attention.scores import DotScore, ScaledDot
from saccade.attention.windows import Global
from saccade.kernels.dispatch import fusable
from saccade.kernels.native.gemm import NativeProduct
from saccade.kernels.native.transformer import Parts, suits
from saccade.kernels.packed import Precision, Product, pack
from saccade.kernels.residual import residual_norm
from saccade.layers.positions import Learned, Rotary, Sinusoidal
from saccade.layers.transformer import DecoderLayer, EncoderLayer, FeedForward, PlacedEmbedding, Residual
from saccade.runtime.exactness import Inexact, exactly

__all__ = ["Norm", "PackedDecoderLayer", "PackedEncoderLayer", "Words", "close"]


class Words:
    """The word embedding of the source or the target, with its positional encodings."""

    def __init__(self, embedding: nn.Embedding, place: PlacedEmbedding, scale: float) -> None:
        self.embedding, self.place, self.scale = (
            exactly(embedding, nn.Embedding),
            exactly(place, PlacedEmbedding),
            scale,
        )
        if embedding.max_norm is not None:
            raise Inexact("its embedding rescales vectors that are longer than max_norm")
        if place.positions is not None:
            exactly(place.positions, Learned, Sinusoidal)

    @property
    def weight(self) -> Tensor:
        return self.embedding.weight

    def places(self, length: int) -> Tensor | None:
        """Return the positional encodings (T, W) of the first `length` positions; None if there are none to add."""
        if self.place.positions is None:
            return None
        table: Tensor = self.place.positions(torch.arange(length, device=self.weight.device)[None])[0]
        return table.to(self.weight.dtype).contiguous()


class Norm:
    """LayerNorm or the identity."""

    def __init__(self, norm: nn.Module) -> None:
        exactly(norm, nn.LayerNorm, nn.Identity)
        self.norm = norm if isinstance(norm, nn.LayerNorm) else None
        if self.norm is not None and (self.norm.weight is None or self.norm.bias is None):
            raise Inexact("it has a LayerNorm without weight or bias")

    def __call__(self, x: Tensor) -> Tensor:
        norm = self.norm
        return x if norm is None else F.layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


class Around:
    """The norms before and after a sub-layer, one of which is the identity."""

    def __init__(self, around: Residual) -> None:
        self.pre, nothing = exactly(around, Residual).pre, nn.Identity()
        self.before = Norm(around.norm if around.pre else nothing)
        self.after = Norm(nothing if around.pre else around.norm)


def _check_alike(*around: Around) -> None:
    """Raise Inexact unless all sub-layers are pre-norm or all are post-norm, as the model's fused norms assume."""
    if len({each.pre for each in around}) > 1:
        raise Inexact("it has a layer with norms before some sub-layers and after others")


class Heads:
    """A MultiHead with packed matmuls and the scale of the score folded into the query projection.

    Queries, keys and values of one input are one matmul; with `apart`, queries have their own.
    """

    def __init__(self, attention: MultiHead, precision: Precision, *, apart: bool) -> None:
        query, key, value, output = _plain_layers(attention)
        self.site, self.owner = site_of(attention), attention.inner
        self.count, self.width = attention.heads, attention.width
        self.rotate: Rotate | None = attention.rotate
        scale = attention.inner.score.as_dot(query.weight, query.weight)
        assert scale is not None
        asked = (query.weight * scale.scale, None if query.bias is None else query.bias * scale.scale)
        kept = _side_by_side([(key.weight, key.bias), (value.weight, value.bias)])
        self.joined: Product | None = None
        if apart:
            self.query, self.kept = pack(*asked, precision=precision), pack(*kept, precision=precision)
        else:
            self.joined = pack(*_side_by_side([asked, kept]), precision=precision)
        self.output = pack(output.weight, output.bias, precision=precision)

    def bank(self, source: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys (B·H, D, S) and values (B·H, S, D) of a source (B·S, W)."""
        split = self.kept(source).view(*mask.shape, 2, self.count, -1)
        keys, values = split.permute(2, 0, 3, 1, 4)  # each (B, H, S, D)
        if self.rotate is not None:
            keys = self.rotate(keys, None)
        return keys.mT.flatten(0, 1).contiguous(), values.flatten(0, 1).contiguous()

    def record(self, weights: Tensor, tape: Tape) -> None:
        """Write attention weights (N, H, T, S) to a tape."""
        tape.write(self.site, weights, owner=self.owner)


def _plain_layers(attention: MultiHead) -> list[nn.Linear]:
    """Return the projections; raise Inexact unless this is (scaled) dot-product softmax attention over all keys."""
    inner = exactly(exactly(attention, MultiHead).inner, Attention)
    exactly(inner.score, DotScore, ScaledDot)
    exactly(inner.window, Global)
    if not exactly(inner.align, Softmax).fusable:
        raise Inexact("it has a softmax with a temperature")
    if not inner.itself:
        raise Inexact("its words do not attend to themselves")
    if attention.rotate is not None:
        exactly(attention.rotate, Rotary)
    layers = [exactly(part, nn.Linear) for part in (attention.query, attention.key, attention.value, attention.output)]
    if len({layer.bias is None for layer in layers}) > 1:
        raise Inexact("some projections of an attention have a bias and some have none")
    return layers


def close(product: Product, inner: Tensor, x: Tensor, around: Around) -> Tensor:
    """Finish a sub-layer: compute its last matmul, the residual sum with `x`, and the norm after it."""
    norm = around.after.norm
    if norm is None or not fusable(x):
        return around.after(product.added(inner, x))
    return residual_norm(x, product(inner), norm.weight, norm.bias, norm.eps, 0.0, False)


class Feed:
    """Packed feed-forward layers."""

    def __init__(self, layers: FeedForward, precision: Precision) -> None:
        if len(exactly(layers, FeedForward)) != 3:
            raise Inexact(f"it has a feed-forward of {len(layers)} layers")
        inner, outer = exactly(layers[0], nn.Linear), exactly(layers[2], nn.Linear)
        exactly(layers[1], nn.ReLU)
        self.inner = pack(inner.weight, inner.bias, precision=precision)
        self.outer = pack(outer.weight, outer.bias, precision=precision)

    def __call__(self, x: Tensor, around: Around) -> Tensor:
        return close(self.outer, self.inner.rectified(around.before(x)), x, around)


class PackedEncoderLayer:
    """A packed EncoderLayer on flat rows (B·S, W)."""

    def __init__(self, layer: EncoderLayer, precision: Precision) -> None:
        exactly(layer, EncoderLayer)
        self.heads = Heads(layer.self_attention, precision, apart=False)
        self.feed = Feed(layer.feed_forward, precision)
        self.around_self, self.around_feed = Around(layer.around_self), Around(layer.around_feed)
        _check_alike(self.around_self, self.around_feed)

    def __call__(self, x: Tensor, mask: Tensor, full: bool, tape: Tape | None) -> Tensor:
        """Apply the layer to x (B·S, W); `full`: whether the mask (B, S) is all True."""
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
        """Return the norms and matmuls for native code; None if a part is not supported there."""
        matmuls = (self.heads.joined, self.heads.output, self.feed.inner, self.feed.outer)
        return _native_parts((self.around_self, self.around_feed), matmuls, (self.heads,))


class PackedDecoderLayer:
    """A packed DecoderLayer for single steps on rows (N, W)."""

    def __init__(self, layer: DecoderLayer, precision: Precision) -> None:
        exactly(layer, DecoderLayer)
        assert layer.cross is not None
        assert layer.around_cross is not None
        self.heads = Heads(layer.self_attention, precision, apart=False)
        self.cross = Heads(layer.cross, precision, apart=True)
        self.feed = Feed(layer.feed_forward, precision)
        self.around_self, self.around_feed = Around(layer.around_self), Around(layer.around_feed)
        self.around_cross = Around(layer.around_cross)
        _check_alike(self.around_self, self.around_cross, self.around_feed)

    def native_parts(self) -> Parts | None:
        """Return the norms and matmuls for native code; None if a part is not supported there."""
        matmuls = (
            self.heads.joined, self.heads.output, self.cross.query, self.cross.output, self.feed.inner, self.feed.outer
        )  # fmt: skip
        around = (self.around_self, self.around_cross, self.around_feed)
        return _native_parts(around, matmuls, (self.heads, self.cross))


def _native_parts(
    around: tuple[Around, ...], matmuls: tuple[Product | None, ...], heads: tuple[Heads, ...]
) -> Parts | None:
    ours = [product for product in matmuls if isinstance(product, NativeProduct)]
    norms = [norm.norm for each in around for norm in (each.before, each.after)]
    if len(ours) < len(matmuls) or any(each.rotate is not None for each in heads) or not all(map(suits, norms)):
        return None
    return Parts(norms, ours)


def _side_by_side(layers: list[tuple[Tensor, Tensor | None]]) -> tuple[Tensor, Tensor | None]:
    """Concatenate the weights and biases of layers with the same input into those of one layer."""
    weights, biases = zip(*layers, strict=True)
    bias = None if biases[0] is None else torch.cat([part for part in biases if part is not None])
    return torch.cat(weights), bias

"""The Transformer made ready to write."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import Tape
from saccade.batch import Batch, check_tokens
from saccade.kernels.native.products import NativeProduct, is_native
from saccade.kernels.native.transformer import NativeDecoder, NativeEncoder, suits
from saccade.kernels.packed import Precision, Product, pack
from saccade.layers.stack import Layers
from saccade.layers.transformer import TransformerDecoder, TransformerEncoder
from saccade.masks import is_full
from saccade.models.base import source_of
from saccade.models.transformer import Transformer
from saccade.runtime.exact import exactly, own_methods
from saccade.runtime.transformer_draft import PackedDecoder, TransformerDraft
from saccade.runtime.transformer_packed import Norm, PackedDecoderLayer, PackedEncoderLayer, Words
from saccade.runtime.writer import Draft, Writer

__all__ = ["TransformerWriter", "pack_transformer"]


def pack_transformer(model: Transformer, precision: Precision) -> Writer:
    """Return the writer of a Transformer; raises Inexact where its layers or steps are others than the paper's."""
    own_methods(model, Transformer, ("encode", "start", "step", "_embed"))
    source = Words(model.source_embedding, model.source_place, model.scale)
    target = Words(model.target_embedding, model.target_place, model.scale)
    return TransformerWriter(source, target, model.encoder, model.decoder, model.output, precision)


class TransformerWriter(Writer):
    """A Transformer of the paper's layers alone: softmax over inner products, ReLU, LayerNorm. Else raises Inexact."""

    replaces = True

    def __init__(
        self,
        source: Words,
        target: Words,
        encoder: TransformerEncoder,
        decoder: TransformerDecoder,
        output: nn.Linear,
        precision: Precision,
    ) -> None:
        self._words = source
        exactly(encoder, TransformerEncoder), exactly(decoder, TransformerDecoder), exactly(output, nn.Linear)
        for stack in (encoder.layers, decoder.layers):
            exactly(stack, Layers)
        self._layers, self._norm = [PackedEncoderLayer(part, precision) for part in encoder.layers], Norm(encoder.norm)
        layers, norm = [PackedDecoderLayer(part, precision) for part in decoder.layers], Norm(decoder.norm)
        product = pack(output.weight, output.bias, precision=precision)
        counts = {heads.count for layer in layers for heads in (layer.heads, layer.cross)}
        counts |= {layer.heads.count for layer in self._layers}
        heads = counts.pop() if len(counts) == 1 else None
        native = _native_decoder(target, layers, norm, product, heads)
        self.decoder = PackedDecoder(target, layers, norm, product, native)
        self._native = _native_encoder(self._words, self._layers, self._norm, layers, heads)

    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> Draft:
        tokens, mask = source_of(batch)
        check_tokens("source", tokens, self._words.embedding.num_embeddings)
        self.decoder.words.place.check_length(max_length)
        full = is_full(mask)
        banks = self._banks(tokens, mask, full, tape)
        return TransformerDraft(self.decoder, banks, mask, full, width, max_length)

    def _banks(self, tokens: Tensor, mask: Tensor, full: bool, tape: Tape | None) -> list[tuple[Tensor, Tensor]]:
        """What each layer of the decoder looks at."""
        words = self._words
        if self._native is not None:
            words.place.check_length(tokens.shape[1])
            looks = None if tape is None else self._room_for_looks(*tokens.shape)
            banks = self._native.read(tokens, mask, words.places(tokens.shape[1]), looks)
            if tape is not None and looks is not None:
                for layer, weights in zip(self._layers, looks, strict=True):
                    layer.heads.record(weights, tape)
            return banks
        x = words.place(F.embedding(tokens, words.weight) * words.scale).flatten(0, 1)
        for layer in self._layers:
            x = layer(x, mask, full, tape)
        read = self._norm(x)
        return [layer.cross.bank(read, mask) for layer in self.decoder.layers]

    def _room_for_looks(self, sentences: int, size: int) -> Tensor:
        return self._words.weight.new_zeros(len(self._layers), sentences, self._layers[0].heads.count, size, size)


def _native_decoder(
    words: Words, layers: list[PackedDecoderLayer], norm: Norm, output: Product, heads: int | None
) -> NativeDecoder | None:
    """All of it by our own code; None where some part has none."""
    parts = [part for layer in layers if (part := layer.native_parts()) is not None]
    if heads is None or len(parts) < len(layers) or not isinstance(output, NativeProduct):
        return None
    weight = words.weight.detach()
    if not is_native(weight) or not suits(norm.norm):
        return None
    return NativeDecoder(weight, words.scale, parts, norm.norm, output, heads)


def _native_encoder(
    words: Words, layers: list[PackedEncoderLayer], norm: Norm, readers: list[PackedDecoderLayer], heads: int | None
) -> NativeEncoder | None:
    parts = [part for layer in layers if (part := layer.native_parts()) is not None]
    kept = [layer.cross.kept for layer in readers if isinstance(layer.cross.kept, NativeProduct)]
    weight = words.weight.detach()
    if heads is None or len(parts) < len(layers) or len(kept) < len(readers):
        return None
    if not is_native(weight) or not suits(norm.norm):
        return None
    return NativeEncoder(weight, words.scale, parts, norm.norm, kept, heads)

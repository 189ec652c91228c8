"""The decoding engine of the Transformer."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import Tape
from saccade.batch import Batch, check_tokens
from saccade.kernels.native.gemm import NativeProduct, is_native
from saccade.kernels.native.transformer import NativeDecoder, NativeEncoder, suits
from saccade.kernels.packed import Precision, Product, pack
from saccade.layers.stack import Layers
from saccade.layers.transformer import TransformerDecoder, TransformerEncoder
from saccade.masks import is_full
from saccade.models.base import source_of
from saccade.models.transformer import Transformer
from saccade.runtime.engine import DecodingEngine, DecodingState
from saccade.runtime.exactness import exactly, own_methods
from saccade.runtime.transformer_packed import Norm, PackedDecoderLayer, PackedEncoderLayer, Words
from saccade.runtime.transformer_state import PackedDecoder, TransformerDecodingState

__all__ = ["TransformerEngine", "pack_transformer"]


def pack_transformer(model: Transformer, precision: Precision) -> DecodingEngine:
    """Return the engine of a Transformer; raise Inexact if its layers or steps differ from the paper's."""
    own_methods(model, Transformer, ("encode", "init_state", "step", "_embed"))
    source = Words(model.source_embedding, model.source_place, model.scale)
    target = Words(model.target_embedding, model.target_place, model.scale)
    return TransformerEngine(source, target, model.encoder, model.decoder, model.output, precision)


_LONGEST_NATIVE = 128
"""Tokens of the longest source that the native encoder reads; for longer ones, torch's blocked attention is faster."""


class TransformerEngine(DecodingEngine):
    """Engine for Transformers of the paper's layers: dot-product softmax attention, ReLU, LayerNorm.

    Raises Inexact for others.
    """

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

    def read(self, batch: Batch, width: int, max_length: int, *, tape: Tape | None = None) -> DecodingState:
        tokens, mask = source_of(batch)
        check_tokens("source", tokens, self._words.embedding.num_embeddings)
        self.decoder.words.place.check_length(max_length)
        full = is_full(mask)
        banks = self._banks(tokens, mask, full, tape)
        return TransformerDecodingState(self.decoder, banks, mask, full, width, max_length)

    def _banks(self, tokens: Tensor, mask: Tensor, full: bool, tape: Tape | None) -> list[tuple[Tensor, Tensor]]:
        """Encode the source; return keys and values for the cross-attention of each decoder layer."""
        words = self._words
        if self._native is not None and tokens.shape[1] <= _LONGEST_NATIVE:
            words.place.check_length(tokens.shape[1])
            attention = None if tape is None else self._attention_buffer(*tokens.shape)
            banks = self._native.read(tokens, mask, words.places(tokens.shape[1]), attention)
            if tape is not None and attention is not None:
                for layer, weights in zip(self._layers, attention, strict=True):
                    layer.heads.record(weights, tape)
            return banks
        x = words.place(F.embedding(tokens, words.weight) * words.scale).flatten(0, 1)
        for layer in self._layers:
            x = layer(x, mask, full, tape)
        annotations = self._norm(x)
        return [layer.cross.bank(annotations, mask) for layer in self.decoder.layers]

    def _attention_buffer(self, sentences: int, size: int) -> Tensor:
        return self._words.weight.new_zeros(len(self._layers), sentences, self._layers[0].heads.count, size, size)


def _native_decoder(
    words: Words, layers: list[PackedDecoderLayer], norm: Norm, output: Product, heads: int | None
) -> NativeDecoder | None:
    """Return the whole decoder in native code; None if a part is not supported there."""
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

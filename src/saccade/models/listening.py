"""Speech recognition: a recurrent decoder that attends to the frames of a recording, and writes what is said."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention import Tape
from saccade.batch import Batch
from saccade.config import Config, Depth, Share, Width
from saccade.errors import ConfigError, DataError
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import Encoder, EncoderOutput, RecurrentEncoder
from saccade.layers.listener import Pyramid, SoundEncoder, Subsampled, Subsampling
from saccade.models.family import Family
from saccade.models.model_config import AttentionConfig, CellName, DecoderConfig, InitConfig, SelfAttentionConfig
from saccade.models.recurrent import RecurrentSeq2Seq, attach_decoder
from saccade.models.transformer import TransformerConfig

__all__ = ["HEARD", "Listener", "ListenerConfig", "SoundEncoderConfig", "frames_of"]

HEARD = "heard"
"""Name, on a tape, of the encoder's annotations, which the CTC term of an objective reads."""


class SoundEncoderConfig(Config):
    """The encoder of recordings."""

    kind: Literal["pyramid", "convolution", "transformer", "conformer"] = "pyramid"
    """pyramid: recurrent layers of which the last read pairs (Listen, Attend and Spell); convolution: two
    convolutions, each of which halves the frames, under recurrent layers; transformer, conformer: the same convolutions
    under such an encoder."""
    cell: CellName = "lstm"
    width: Width = 256
    """Width of each direction, or of a Transformer."""
    layers: Depth = 4
    factor: Literal[1, 2, 4, 8, 16] = 8
    """For a pyramid: frames that a state of the top layer covers."""
    channels: Width = 32
    """For the convolutions: their channels."""
    heads: Width = 4
    """For a Transformer or Conformer."""
    feed_forward: Width = 1024
    """For a Transformer or Conformer: width of its feed-forward layers."""
    kernel: Annotated[int, Field(ge=1, le=255)] = 31
    """For a Conformer: keys that its convolutions read, an odd number."""
    dropout: Share = 0.0
    """Dropout between layers."""

    @model_validator(mode="after")
    def _enough_layers(self) -> SoundEncoderConfig:
        if self.kind == "pyramid" and self.factor > 2**self.layers:
            raise ValueError(f"factor is {self.factor}, but {self.layers} layers halve at most {self.layers} times")
        if not self.kernel % 2:
            raise ValueError(f"kernel is {self.kernel}, but must be odd, so that a convolution has a center")
        return self

    def build(self, input_width: int) -> SoundEncoder:
        """Build the encoder for frames of this width."""
        drops = Dropout(self.dropout)
        if self.kind == "pyramid":
            return Pyramid(self.cell, input_width, self.width, self.layers, self.factor, dropout=drops)
        inner = self._transformer() if self.kind in ("transformer", "conformer") else RecurrentEncoder(
            self.cell, 2 * self.width, self.width, self.layers, bidirectional=True, dropout=drops
        )  # fmt: skip
        return Subsampled(Subsampling(input_width, inner.width, self.channels), inner, drops)

    def _transformer(self) -> Encoder:
        """Build a pre-norm Transformer encoder with sinusoidal positions, or a Conformer with rotary ones."""
        conformer = self.kind == "conformer"
        family = TransformerConfig(
            positions="rotary" if conformer else "sinusoidal",
            width=self.width,
            feed_forward=self.feed_forward,
            layers=self.layers,
            dropout=self.dropout,
            norm="pre",
            attention=SelfAttentionConfig(score="scaled-dot", heads=self.heads),
        )
        return family.conformer_of_vectors(self.kernel) if conformer else family.encoder_of_vectors()


def frames_of(batch: Batch, width: int) -> tuple[Tensor, Tensor]:
    """Return the frames (B, S, width) of a batch and their mask; raise DataError if it has none."""
    frames, mask = (batch.source, batch.source_mask) if isinstance(batch, Batch) else (None, None)
    if frames is None or mask is None or frames.dim() != 3 or frames.shape[-1] != width:
        was = "missing" if frames is None else str(tuple(frames.shape))
        raise DataError(f"source is {was}, but this model reads frames (B, S, {width}) of a spectrogram.")
    return frames, mask


class Listener(RecurrentSeq2Seq):
    """A recurrent decoder over the encoder of a recording.

    `frames`: values per frame. Keys are fewer than frames: `visible` returns the mask of keys. With `ctc`, a linear
    layer predicts the tokens from each annotation too, for the term `ctc` of an objective.
    """

    encoder: SoundEncoder

    def prepare(self, frames: int, *, ctc: bool) -> None:
        """Set the width of a frame, and add the layer of CTC if wanted."""
        self.frames = frames
        self.ctc = nn.Linear(self.encoder.width, self.vocabulary) if ctc else None

    def read_source(self, batch: Batch, tape: Tape | None) -> tuple[EncoderOutput, Tensor]:
        frames, mask = frames_of(batch, self.frames)
        encoded, mask = self.encoder.listen(frames.to(self.output.weight.dtype), mask, tape=tape)
        if tape is not None and self.ctc is not None:
            tape.tensors[HEARD] = encoded.annotations
        return encoded, mask

    def listened(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities (B, S, V) of tokens by CTC at each key, and the mask of keys (B, S)."""
        if self.ctc is None:
            raise ConfigError("this model has no CTC layer: train with model.ctc and the term objective.ctc.")
        encoded, mask = self.read_source(batch, None)
        return self.ctc(encoded.annotations).float().log_softmax(-1), mask

    def visible(self, batch: Batch) -> dict[str, Tensor]:
        return {} if batch.source_mask is None else {"source": self.encoder.keys(batch.source_mask)}

    def linked(self, batch: Batch) -> Tensor:
        links, factor = super().linked(batch), self.encoder.factor
        keys: Tensor = F.pad(links, (0, -links.shape[2] % factor)).unflatten(2, (-1, factor)).sum(3)
        return keys


class ListenerConfig(Family):
    """Listen, Attend and Spell and its variants."""

    reads: ClassVar[str] = "sound"

    sound_encoder: SoundEncoderConfig = SoundEncoderConfig()
    embedding: Width = 256
    decoder: DecoderConfig = DecoderConfig(
        cell="lstm", attend_from="current", input_feeding=True, feed="context", initial_state="zero", layers=2
    )
    attention: AttentionConfig = AttentionConfig(score="projected-dot")
    ctc: bool = False
    """Whether the encoder alone predicts the tokens, too; the term `ctc` of the objective trains it."""
    init: InitConfig = InitConfig()

    @model_validator(mode="after")
    def _check_combination(self) -> ListenerConfig:
        self.decoder.check_attending()
        return self

    def recognizer(self, frames: int, vocabulary: int) -> Listener:
        """Build a model that reads frames and writes a sequence."""
        encoder = self.sound_encoder.build(frames)
        parts = (vocabulary, self.embedding, self.decoder, self.attention, self.decoder.drops(), Listener)
        model = attach_decoder(None, encoder, *parts)
        assert isinstance(model, Listener)
        model.prepare(frames, ctc=self.ctc)
        self.init.apply(model)
        return model

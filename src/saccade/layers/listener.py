"""Encoders of speech: from the frames of a recording to fewer, wider annotations.

Each halves the number of frames once or several times. A key of the decoder's attention then covers `factor` frames,
and `keys` maps the mask of frames to the mask of keys. Padding never reaches an annotation, so a
recording is encoded the same alone and in a batch.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention import Tape
from saccade.kernels.dropout import Dropout
from saccade.layers.encoder import Encoder, EncoderOutput, RecurrentEncoder
from saccade.layers.stack import Layers

__all__ = ["Pyramid", "SoundEncoder", "Subsampled", "Subsampling", "halved"]


class SoundEncoder(Encoder):
    """listen(frames (B, S, D), mask (B, S)) -> annotations (B, ⌈S / factor⌉, width) and their mask."""

    factor: int
    """Frames that an annotation covers, a power of 2."""

    def listen(self, frames: Tensor, mask: Tensor, *, tape: Tape | None = None) -> tuple[EncoderOutput, Tensor]:
        """Encode recordings."""
        raise TypeError(f"{type(self).__name__} must implement listen()")

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> EncoderOutput:
        return self.listen(inputs, mask, tape=tape)[0]

    def keys(self, mask: Tensor) -> Tensor:
        """Return the mask (B, ⌈S / factor⌉) of annotations: an annotation is real if its first frame is."""
        return mask[:, :: self.factor]


def halved(frames: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate pairs of frames: (B, S, D) -> (B, ⌈S / 2⌉, 2 D), and their mask.

    [x_0 ; x_1], [x_2 ; x_3], …; zeros complete the last pair of a recording with an odd number of frames.
    """
    frames = frames.masked_fill(~mask[..., None], 0.0)
    frames = F.pad(frames, (0, 0, 0, frames.shape[1] % 2))
    return frames.unflatten(1, (-1, 2)).flatten(2), mask[:, ::2]


class Pyramid(SoundEncoder):
    """The listener of Listen, Attend and Spell: each upper layer reads pairs of the states below.

        h_j[i] = pBLSTM(h_j[i-1], [h_{j-1}[2i] ; h_{j-1}[2i+1]])

    The first layers read every state, and the last log2(factor) layers read pairs. With factor 1 this is a plain
    bidirectional encoder, as in Chorowski et al. 2015, arXiv:1506.07503.
    Paper: Chan et al. 2016, arXiv:1508.01211, equation 5.
    """

    def __init__(
        self,
        cell: str,
        input_width: int,
        width: int,
        layers: int = 3,
        factor: int = 4,
        *,
        dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        self.factor, self.width, self.dropout = factor, 2 * width, dropout or Dropout(0.0)
        self.plain = layers - (factor.bit_length() - 1)
        """Number of layers that read every state below."""
        below = [input_width, *[2 * width] * (layers - 1)]
        sizes = [size * (1 + (layer >= self.plain)) for layer, size in enumerate(below)]
        self.layers: Layers[RecurrentEncoder] = Layers(
            RecurrentEncoder(cell, size, width, bidirectional=True) for size in sizes
        )
        for layer in self.layers:
            layer.finals = False

    def listen(self, frames: Tensor, mask: Tensor, *, tape: Tape | None = None) -> tuple[EncoderOutput, Tensor]:
        output = EncoderOutput(frames, frames[:, 0])
        for number, layer in enumerate(self.layers):
            below = output.annotations if number == 0 else self.dropout(output.annotations)
            if number >= self.plain:
                below, mask = halved(below, mask)
            output = layer(below, mask)
        return output, mask


class Subsampling(nn.Module):
    """Two convolutions over time and frequency, each of which halves both, and a linear layer.

    x (B, S, D) -> (B, ⌈S / 4⌉, width). A kernel is 3 × 3. There is no batch norm: it would make an output depend on
    the rest of the batch in training.
    """

    factor = 4

    def __init__(self, input_width: int, width: int, channels: int = 32) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, channels, 3, stride=2, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.output = nn.Linear(channels * -(-input_width // 4), width)

    def forward(self, frames: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return fewer, wider frames and their mask."""
        seen = frames[:, None]
        for convolution in (self.first, self.second):
            seen = torch.relu(convolution(seen.masked_fill(~mask[:, None, :, None], 0.0)))
            mask = mask[:, ::2]
        out: Tensor = self.output(seen.transpose(1, 2).flatten(2))
        return out, mask


class Subsampled(SoundEncoder):
    """Any encoder over subsampled frames."""

    def __init__(self, subsampling: Subsampling, inner: Encoder, dropout: Dropout | None = None) -> None:
        super().__init__()
        self.subsampling, self.inner, self.dropout = subsampling, inner, dropout or Dropout(0.0)
        self.factor, self.width = subsampling.factor, inner.width

    def listen(self, frames: Tensor, mask: Tensor, *, tape: Tape | None = None) -> tuple[EncoderOutput, Tensor]:
        below, mask = self.subsampling(frames, mask)
        return self.inner(self.dropout(below), mask, tape=tape), mask

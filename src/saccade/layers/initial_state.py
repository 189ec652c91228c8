"""How a decoder starts: from the encoder's reading to its first state."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade import masks
from saccade.errors import ConfigError, lookup
from saccade.layers.cells import CellStack
from saccade.layers.encoder import Encoder, Reading, RecurrentEncoder

__all__ = ["STARTS", "Start", "build_start"]


class Start(nn.Module):
    """start(reading, mask (B, S)) -> the decoder's first state (B, layers, state_width)."""

    reads_finals = False
    """Whether it starts from the encoder's last states."""

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__()
        if isinstance(encoder, RecurrentEncoder):
            encoder.finals = self.reads_finals
        self.shape = (decoder.layers, decoder.state_width)

    def forward(self, reading: Reading, mask: Tensor) -> Tensor:
        """The first state."""
        raise TypeError(f"{type(self).__name__} does not say how to start: write forward()")


class Zero(Start):
    """Nothing: all the decoder knows of the source is what attention brings."""

    def forward(self, reading: Reading, mask: Tensor) -> Tensor:
        return reading.annotations.new_zeros(reading.annotations.shape[0], *self.shape)


class Final(Start):
    """The encoder's last states, layer by layer (Sutskever, Luong); both directions side by side."""

    reads_finals = True

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__(encoder, decoder)
        recurrent = _recurrent("final", encoder)
        have = (len(recurrent.layers), recurrent.state_width * len(recurrent.backwards))
        if have != self.shape:
            raise ConfigError(
                f"start 'final' hands the encoder's states over as they are, but it has {have[0]} layers of {have[1]} "
                f"numbers and the decoder {self.shape[0]} of {self.shape[1]}. Make cell, layers and width equal (a "
                "bidirectional encoder counts twice), or use start 'project'."
            )
        self.parts = recurrent.state_width // recurrent.cell_width  # h alone, or h and c

    def forward(self, reading: Reading, mask: Tensor) -> Tensor:
        assert reading.finals is not None
        states = reading.finals.unflatten(-1, (self.parts, -1))  # (B, L, directions, parts, width)
        out: Tensor = states.transpose(2, 3).flatten(2)
        return out


class _Projected(Start):
    """tanh(W x) of some summary x of the source."""

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__(encoder, decoder)
        self.layer = nn.Linear(self.summary_width(encoder), self.shape[0] * self.shape[1])

    def forward(self, reading: Reading, mask: Tensor) -> Tensor:
        out: Tensor = torch.tanh(self.layer(self.summary(reading, mask))).unflatten(-1, self.shape)
        return out

    def summary_width(self, encoder: Encoder) -> int:
        return encoder.width

    def summary(self, reading: Reading, mask: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} does not say what sums a source up: write summary()")


class Project(_Projected):
    """tanh(W [the encoder's last states]), for any two shapes (Cho: h'_0 = tanh(V c))."""

    reads_finals = True

    def summary_width(self, encoder: Encoder) -> int:
        recurrent = _recurrent("project", encoder)
        return len(recurrent.layers) * len(recurrent.backwards) * recurrent.state_width

    def summary(self, reading: Reading, mask: Tensor) -> Tensor:
        assert reading.finals is not None
        return reading.finals.flatten(1)


class FirstBackward(_Projected):
    """tanh(W_s h←_1): the backward state at the first word, which has read the whole sentence (Bahdanau)."""

    def summary_width(self, encoder: Encoder) -> int:
        recurrent = _recurrent("first-backward", encoder)
        if len(recurrent.backwards) != 2:
            raise ConfigError(
                "start 'first-backward' needs a bidirectional encoder. Set encoder.bidirectional to true."
            )
        return recurrent.cell_width

    def summary(self, reading: Reading, mask: Tensor) -> Tensor:
        return reading.annotations[:, 0].chunk(2, -1)[1]


class Mean(_Projected):
    """tanh(W · the mean annotation)."""

    def summary(self, reading: Reading, mask: Tensor) -> Tensor:
        return masks.mean(reading.annotations, mask)


class MeanDeep(Mean):
    """Two layers on the mean annotation, the first of which h and c share: tanh(W max(0, V mean)) (Xu)."""

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__(encoder, decoder)
        self.shared = nn.Linear(encoder.width, encoder.width)

    def summary(self, reading: Reading, mask: Tensor) -> Tensor:
        return torch.relu(self.shared(super().summary(reading, mask)))


class Last(_Projected):
    """tanh(W · what the encoder ends with: the annotation that has read everything, of each direction)."""

    def summary(self, reading: Reading, mask: Tensor) -> Tensor:
        return reading.last


def _recurrent(start: str, encoder: Encoder) -> RecurrentEncoder:
    if not isinstance(encoder, RecurrentEncoder):
        raise ConfigError(
            f"start {start!r} takes a recurrent encoder's states, but {type(encoder).__name__} hands over annotations "
            "alone. Use start 'mean', 'last' or 'zero'."
        )
    if not encoder.uniform:
        raise ConfigError(
            f"start {start!r} takes the last states of all layers, but only the lowest of this encoder read both ways. "
            "Use start 'mean', 'last' or 'zero', or leave encoder.bidirectional_layers out."
        )
    return encoder


STARTS = {
    "zero": Zero,
    "final": Final,
    "project": Project,
    "first-backward": FirstBackward,
    "mean": Mean,
    "mean-deep": MeanDeep,
    "last": Last,
}


def build_start(name: str, encoder: Encoder, decoder: CellStack) -> Start:
    """A start by its name in STARTS."""
    return lookup("start", name, STARTS)(encoder, decoder)

"""Initial states of a decoder, computed from the encoder's output."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade import masks
from saccade.errors import ConfigError, lookup
from saccade.layers.cells import CellStack
from saccade.layers.encoder import Encoder, EncoderOutput, RecurrentEncoder

__all__ = ["INITIAL_STATES", "InitialState", "build_initial_state"]


class InitialState(nn.Module):
    """initial_state(encoded, mask (B, S)) -> the decoder's first state (B, layers, state_width)."""

    reads_finals = False
    """Whether it reads the encoder's last states."""

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__()
        if isinstance(encoder, RecurrentEncoder):
            encoder.finals = self.reads_finals
        self.shape = (decoder.layers, decoder.state_width)

    def forward(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        """Return the first state."""
        raise TypeError(f"{type(self).__name__} must implement forward()")


class Zero(InitialState):
    """Zeros: the decoder reads the source through attention alone."""

    def forward(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        return encoded.annotations.new_zeros(encoded.annotations.shape[0], *self.shape)


class Final(InitialState):
    """The encoder's last states, layer by layer (Sutskever, Luong); both directions concatenated."""

    reads_finals = True

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__(encoder, decoder)
        recurrent = _recurrent("final", encoder)
        have = (len(recurrent.layers), recurrent.state_width * len(recurrent.backwards))
        if have != self.shape:
            raise ConfigError(
                f"initial_state 'final' copies the encoder's states, but the encoder has {have[0]} layers of {have[1]} "
                f"numbers and the decoder {self.shape[0]} of {self.shape[1]}. Make cell, layers and width equal (a "
                "bidirectional encoder counts twice), or use initial_state 'project'."
            )
        self.parts = recurrent.state_width // recurrent.cell_width  # h alone, or h and c

    def forward(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        assert encoded.finals is not None
        states = encoded.finals.unflatten(-1, (self.parts, -1))  # (B, L, directions, parts, width)
        out: Tensor = states.transpose(2, 3).flatten(2)
        return out


class _Projected(InitialState):
    """tanh(W x) of a summary x of the source."""

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__(encoder, decoder)
        self.layer = nn.Linear(self.summary_width(encoder), self.shape[0] * self.shape[1])

    def forward(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        out: Tensor = torch.tanh(self.layer(self.summary(encoded, mask))).unflatten(-1, self.shape)
        return out

    def summary_width(self, encoder: Encoder) -> int:
        return encoder.width

    def summary(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} must implement summary()")


class Project(_Projected):
    """tanh(W [the encoder's last states]), for encoder and decoder of any shapes (Cho: h'_0 = tanh(V c))."""

    reads_finals = True

    def summary_width(self, encoder: Encoder) -> int:
        recurrent = _recurrent("project", encoder)
        return len(recurrent.layers) * len(recurrent.backwards) * recurrent.state_width

    def summary(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        assert encoded.finals is not None
        return encoded.finals.flatten(1)


class FirstBackward(_Projected):
    """tanh(W_s h←_1): the backward state at the first word, which has read the whole sentence (Bahdanau)."""

    def summary_width(self, encoder: Encoder) -> int:
        recurrent = _recurrent("first-backward", encoder)
        if len(recurrent.backwards) != 2:
            raise ConfigError(
                "initial_state 'first-backward' needs a bidirectional encoder. Set encoder.bidirectional to true."
            )
        return recurrent.cell_width

    def summary(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        return encoded.annotations[:, 0].chunk(2, -1)[1]


class Mean(_Projected):
    """tanh(W · the mean annotation)."""

    def summary(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        return masks.mean(encoded.annotations, mask)


class MeanDeep(Mean):
    """tanh(W max(0, V mean)) of the mean annotation, where h and c share V (Xu)."""

    def __init__(self, encoder: Encoder, decoder: CellStack) -> None:
        super().__init__(encoder, decoder)
        self.shared = nn.Linear(encoder.width, encoder.width)

    def summary(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        return torch.relu(self.shared(super().summary(encoded, mask)))


class Last(_Projected):
    """tanh(W x), where x is the annotation that each direction has after it read the whole source."""

    def summary(self, encoded: EncoderOutput, mask: Tensor) -> Tensor:
        return encoded.last


def _recurrent(start: str, encoder: Encoder) -> RecurrentEncoder:
    if not isinstance(encoder, RecurrentEncoder):
        raise ConfigError(
            f"initial_state {start!r} takes a recurrent encoder's states, but {type(encoder).__name__} returns "
            "annotations only. Use initial_state 'mean', 'last' or 'zero'."
        )
    if not encoder.uniform:
        raise ConfigError(
            f"initial_state {start!r} takes the last states of all layers, but only the lowest layers of this encoder "
            "are bidirectional. Use initial_state 'mean', 'last' or 'zero', or leave encoder.bidirectional_layers out."
        )
    return encoder


INITIAL_STATES = {
    "zero": Zero,
    "final": Final,
    "project": Project,
    "first-backward": FirstBackward,
    "mean": Mean,
    "mean-deep": MeanDeep,
    "last": Last,
}


def build_initial_state(name: str, encoder: Encoder, decoder: CellStack) -> InitialState:
    """Build an initial state by its name in INITIAL_STATES."""
    return lookup("initial state", name, INITIAL_STATES)(encoder, decoder)

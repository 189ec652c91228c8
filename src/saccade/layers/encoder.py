"""Recurrent encoders: from a sentence to annotations."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade import masks, pytree
from saccade.attention import Tape
from saccade.kernels.dropout import Dropout
from saccade.layers.causal import CausalLayer
from saccade.layers.cells import Cell, build_cell
from saccade.layers.stack import Layers

__all__ = ["Encoder", "EncoderOutput", "ReaderEncoder", "RecurrentEncoder"]


@pytree.node
class EncoderOutput:
    """Output of an encoder.

    annotations (B, S, width), one per input position, in input order. last (B, width): for each direction, the
    annotation after the whole input was read. finals (B, layers, directions, state_width): the states after the last
    word read; None if the encoder keeps none.
    """

    annotations: Tensor
    last: Tensor
    finals: Tensor | None = None


class Encoder(nn.Module):
    """encoder(inputs (B, S, D), mask (B, S)) -> EncoderOutput."""

    width: int
    """The width of an annotation."""

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> EncoderOutput:
        """Encode whole sentences."""
        raise TypeError(f"{type(self).__name__} must implement forward()")


class RecurrentEncoder(Encoder):
    """A stack of recurrent layers over the source, in one direction or both.

    Bidirectional: every layer reads in both directions, with separate weights, and outputs [forward ; backward]. With
    `bidirectional_layers` only that many of the lowest layers do; those above read from left to right (Wu et al. 2016).
    With `residual` a layer's input is added to its output, from layer `residual_from` on, counted from 1.
    Reversed (`reverse`): the one direction runs from the last word to the first, so that the words the decoder
    needs first are read last (Sutskever et al. 2014). In every case annotations are in input order, so attention
    refers to the input as it was given.
    """

    def __init__(
        self,
        cell: str,
        input_width: int,
        width: int,
        layers: int = 1,
        *,
        bidirectional: bool = False,
        bidirectional_layers: int | None = None,
        reverse: bool = False,
        residual: bool = False,
        residual_from: int = 2,
        dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        both = (bidirectional_layers or layers) if bidirectional else 0
        self.ways = tuple((False, True) if layer < both else (reverse,) for layer in range(layers))
        """For each layer, whether each of its directions reads backwards."""
        self.width = width * len(self.backwards)
        inputs = [input_width, *(width * len(ways) for ways in self.ways[:-1])]
        self.layers: Layers[Layers[Cell]] = Layers(
            Layers(build_cell(cell, size, width) for _ in ways) for size, ways in zip(inputs, self.ways, strict=True)
        )
        self.cell_width, self.dropout = width, dropout or Dropout(0.0)
        self.residual, self.residual_from = residual, residual_from
        self.finals = self.uniform
        """Whether to return the last states: an LSTM's last memory costs extra."""

    @property
    def backwards(self) -> tuple[bool, ...]:
        """For each direction of the top layer, whether it reads backwards."""
        return self.ways[-1]

    @property
    def uniform(self) -> bool:
        """Whether all layers have the same directions, so that their last states fit into one tensor."""
        return len(set(self.ways)) == 1

    @property
    def state_width(self) -> int:
        """The width of one direction's state."""
        return self.layers.at(0).at(0).state_width

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> EncoderOutput:
        finals = []
        output = inputs
        read = _read if self.finals else _read_hiddens
        for number, directions in enumerate(self.layers):
            below = output if number == 0 else self.dropout(output)
            pairs = zip(directions, self.ways[number], strict=True)
            hiddens, states = zip(*(read(cell, below, mask, way) for cell, way in pairs), strict=True)
            output = torch.cat(hiddens, -1)
            if self.residual and number + 1 >= self.residual_from:
                output = output + below
            if self.finals:
                finals.append(torch.stack(states, 1))  # (B, directions, state_width)
        return EncoderOutput(output, self._last(output, mask), torch.stack(finals, 1) if finals else None)

    def _last(self, annotations: Tensor, mask: Tensor) -> Tensor:
        """Return each direction's final annotation: at the last word, or at the first if read backwards."""
        halves = zip(annotations.chunk(len(self.backwards), -1), self.backwards, strict=True)
        return torch.cat([half[:, 0] if backwards else masks.last(half, mask) for half, backwards in halves], -1)


def _read(cell: Cell, inputs: Tensor, mask: Tensor, backwards: bool) -> tuple[Tensor, Tensor]:
    start = inputs.new_zeros(inputs.shape[0], cell.state_width)
    cell.check_sequence(inputs, start, mask)
    if backwards:
        inputs = masks.reverse(inputs, mask)
    hiddens, final = cell.sequence(inputs, start, mask)
    return (masks.reverse(hiddens, mask) if backwards else hiddens), final


def _read_hiddens(cell: Cell, inputs: Tensor, mask: Tensor, backwards: bool) -> tuple[Tensor, None]:
    if not backwards:
        return cell.hiddens(inputs, mask), None
    return masks.reverse(cell.hiddens(masks.reverse(inputs, mask), mask), mask), None


class ReaderEncoder(Encoder):
    """A causal layer as an encoder: its outputs are the annotations."""

    def __init__(self, reader: CausalLayer) -> None:
        super().__init__()
        self.reader, self.width = reader, reader.width

    def forward(self, inputs: Tensor, mask: Tensor, *, tape: Tape | None = None) -> EncoderOutput:
        annotations = self.reader(inputs, tape=tape)
        return EncoderOutput(annotations, masks.last(annotations, mask))

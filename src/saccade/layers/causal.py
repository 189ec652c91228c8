"""Reader: whatever reads a sequence from left to right, a word at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade import tree
from saccade.attention import Tape
from saccade.kernels.dropout import Dropout
from saccade.layers.cells import CellStack, check_inputs
from saccade.layers.stack import Layers

__all__ = ["PlainReader", "Reader", "StackedReader"]


class Reader(nn.Module, ABC):
    """reader(inputs (B, T, input_width)) -> outputs (B, T, width); output t knows inputs 0..t.

    `start` and `step` do the same one word at a time, with a state of fixed shape: what a language model
    writes with. `forward` walks through `step` unless a reader knows a faster way.
    """

    input_width: int
    width: int

    @abstractmethod
    def start(self, rows: int, max_length: int, like: Tensor) -> Any:
        """The state before the first of at most `max_length` words; device and dtype as `like`."""

    @abstractmethod
    def step(self, inputs: Tensor, state: Any, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        """Inputs (N, input_width) -> output (N, width), state. The old state must not be used again."""

    def forward(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Whole sentences."""
        state = self.start(inputs.shape[0], inputs.shape[1], inputs)
        outputs = []
        for t in range(inputs.shape[1]):
            output, state = self.step(inputs[:, t], state, tape=tape)
            outputs.append(output)
        return torch.stack(outputs, 1)


class PlainReader(Reader):
    """A recurrent network without attention: all it knows of the past is its state."""

    def __init__(
        self,
        cell: str,
        input_width: int,
        width: int,
        layers: int = 1,
        *,
        residual: bool = False,
        residual_from: int = 2,
        dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        self.cells = CellStack(
            cell, input_width, width, layers, residual=residual, residual_from=residual_from, dropout=dropout
        )
        self.input_width, self.width = input_width, width

    def start(self, rows: int, max_length: int, like: Tensor) -> Tensor:
        return like.new_zeros(rows, self.cells.layers, self.cells.state_width)

    def step(self, inputs: Tensor, state: Tensor, *, tape: Tape | None = None) -> tuple[Tensor, Tensor]:
        check_inputs(inputs, self.input_width, rank=2)
        return self.cells.advance(self.cells.first.project(inputs), state)

    def forward(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        return self.cells.sequence(inputs, self.start(inputs.shape[0], inputs.shape[1], inputs))[0]


@tree.node
class StackState:
    """The states of the layers of a StackedReader."""

    layers: tuple[Any, ...]


class StackedReader(Reader):
    """Readers on top of each other; with `skip`, the upper ones see the words as well: [below ; word]."""

    def __init__(self, layers: Sequence[Reader], *, skip: bool = False, dropout: Dropout | None = None) -> None:
        super().__init__()
        self.layers: Layers[Reader] = Layers(layers)
        self.skip, self.dropout = skip, dropout or Dropout(0.0)
        self.input_width, self.width = layers[0].input_width, layers[-1].width

    def start(self, rows: int, max_length: int, like: Tensor) -> StackState:
        return StackState(tuple(layer.start(rows, max_length, like) for layer in self.layers))

    def step(self, inputs: Tensor, state: StackState, *, tape: Tape | None = None) -> tuple[Tensor, StackState]:
        output = inputs
        states = []
        for number, (layer, before) in enumerate(zip(self.layers, state.layers, strict=True)):
            output, after = layer.step(self._enter(number, output, inputs), before, tape=tape)
            states.append(after)
        return output, StackState(tuple(states))

    def forward(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        output = inputs
        for number, layer in enumerate(self.layers):
            output = layer(self._enter(number, output, inputs), tape=tape)
        return output

    def _enter(self, number: int, below: Tensor, words: Tensor) -> Tensor:
        if number == 0:
            return words
        below = self.dropout(below)
        return torch.cat([below, words], -1) if self.skip else below

"""Causal layers: they read a sequence from left to right, one word at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Tape
from saccade.kernels.dropout import Dropout
from saccade.layers.cells import CellStack, check_inputs
from saccade.layers.stack import Layers

__all__ = ["CausalLayer", "PlainReader", "StackedReader"]


class CausalLayer(nn.Module, ABC):
    """layer(inputs (B, T, input_width)) -> outputs (B, T, width); output t depends on inputs 0..t.

    `start` and `step` compute the same one word at a time, with a state of fixed shape; a language model generates
    with them. `forward` is a loop over `step` unless a subclass has a faster way.
    """

    input_width: int
    width: int

    @abstractmethod
    def start(self, rows: int, max_length: int, like: Tensor) -> Any:
        """Return the state before the first of at most `max_length` words; device and dtype as `like`."""

    @abstractmethod
    def step(self, inputs: Tensor, state: Any, *, tape: Tape | None = None) -> tuple[Tensor, Any]:
        """Advance one step: inputs (N, input_width) -> output (N, width), state; the old state must not be reused."""

    def forward(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Read whole sentences."""
        state = self.start(inputs.shape[0], inputs.shape[1], inputs)
        outputs = []
        for t in range(inputs.shape[1]):
            output, state = self.step(inputs[:, t], state, tape=tape)
            outputs.append(output)
        return torch.stack(outputs, 1)


class PlainReader(CausalLayer):
    """A recurrent network without attention."""

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


@pytree.node
class StackState:
    """The states of the layers of a StackedReader."""

    layers: tuple[Any, ...]


class StackedReader(CausalLayer):
    """A stack of causal layers; with `skip`, the upper ones also read the words: [below ; word]."""

    def __init__(self, layers: Sequence[CausalLayer], *, skip: bool = False, dropout: Dropout | None = None) -> None:
        super().__init__()
        self.layers: Layers[CausalLayer] = Layers(layers)
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

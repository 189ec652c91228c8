"""Recurrent cells, and a stack of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from saccade import masks
from saccade.errors import DataError, ShapeError, lookup
from saccade.kernels.cells import gru_cell, lstm_cell, mix
from saccade.kernels.deferred_weight_grad import deferred_gradients
from saccade.kernels.dropout import Dropout
from saccade.kernels.graph_capture import is_recorded
from saccade.layers.stack import Layers

__all__ = [
    "CELLS",
    "GRU",
    "LSTM",
    "BahdanauGRU",
    "Cell",
    "CellStack",
    "ChoGRU",
    "Layered",
    "ResetBeforeGRU",
    "StackAdvance",
    "Tanh",
    "build_cell",
    "check_inputs",
]


LONG = 64
"""Steps above which training on a CPU does not pack sequences; see `LSTM.hiddens`."""
Parts = tuple[Tensor, ...]
"""A state split into tensors: (h,), or an LSTM's (h, c), each (N, width)."""
Advance = Callable[[Tensor, Parts], Parts]
"""Projected inputs (N, gates) and the previous state -> the next state."""


class Cell(nn.Module, ABC):
    """One recurrent layer, split into input projection and recurrence.

        gates = W_i x + b        `project`: needs no state, so all steps are computed at once
        state' = advance(gates, state)

    The state is one tensor (N, state_width) whose first `width` entries are the hidden state h; an LSTM has
    its memory c after them. A loop keeps the state in parts, see `recurrence`. `project` can use the columns of W_i
    from `first` on: with an input [word ; context], a decoder projects all words before its loop, and each context
    inside the loop.
    """

    def __init__(self, input_width: int, width: int, state_width: int) -> None:
        super().__init__()
        self.input_width, self.width, self.state_width = input_width, width, state_width

    @property
    @abstractmethod
    def input_weight(self) -> Tensor:
        """W_i, (gates, input_width)."""

    @property
    @abstractmethod
    def input_bias(self) -> Tensor:
        """b, (gates,)."""

    @abstractmethod
    def recurrence(self) -> Advance:
        """Return the step function of a loop; it splits the weights once, not in every step."""

    def advance(self, gates: Tensor, state: Tensor) -> Tensor:
        """Return the next state (N, state_width) from projected inputs (N, gates) and the previous state."""
        return join(self.recurrence()(gates, self.split(state)))

    def split(self, state: Tensor) -> Parts:
        """Split a state (N, state_width) into its parts."""
        parts: Parts = state.split(self.width, -1)
        return parts

    def project(self, inputs: Tensor, first: int = 0) -> Tensor:
        """Multiply inputs (..., D) by columns first..first+D of W_i; the bias is added if `first` is 0."""
        weight = self.input_weight[:, first : first + inputs.shape[-1]]
        return F.linear(inputs, weight, self.input_bias if first == 0 else None)

    def projection(self, first: int) -> Callable[[Tensor], Tensor]:
        """Return `project` for the columns from `first` on, without the bias.

        The columns are sliced once here, so that the backward pass of a loop assembles their gradient once.
        """
        weight = self.input_weight[:, first:]
        return lambda inputs: F.linear(inputs, weight)

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Advance one step: inputs (N, input_width), state (N, state_width) -> next state."""
        check_inputs(inputs, self.input_width, rank=2)
        return self.advance(self.project(inputs), state)

    def sequence(self, inputs: Tensor, state: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run many steps: inputs (B, T, input_width) -> hidden states (B, T, width), last state (B, state_width).

        Where the mask (B, T) is False, the state does not change.
        """
        self.check_sequence(inputs, state, mask)
        gates, advance = self.project(inputs), self.recurrence()
        parts, hiddens = self.split(state), []
        mask = None if mask is not None and masks.is_full(mask) else mask
        with deferred_gradients(inputs.device):
            for t, gates_now in enumerate(gates.unbind(1)):
                after = advance(gates_now, parts)
                if mask is not None:
                    kept = mask[:, t, None]
                    after = tuple(torch.where(kept, new, old) for new, old in zip(after, parts, strict=True))
                parts = after
                hiddens.append(parts[0])
        return torch.stack(hiddens, 1), join(parts)

    def hiddens(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Return the hidden states of `sequence` from a zero state, if the last state is not needed."""
        return self.sequence(inputs, inputs.new_zeros(inputs.shape[0], self.state_width), mask)[0]

    def check_sequence(self, inputs: Tensor, state: Tensor, mask: Tensor | None) -> None:
        """Raise if shapes or dtypes do not match; torch's kernels would read past the end of a narrow input."""
        check_inputs(inputs, self.input_width, rank=3)
        dtype = self.input_weight.dtype
        if inputs.dtype != dtype and not torch.is_autocast_enabled(inputs.device.type):
            raise ShapeError(f"inputs are {inputs.dtype}, but this cell is {dtype}. Convert one of them with .to().")
        if state.shape != (inputs.shape[0], self.state_width):
            raise ShapeError(
                f"state is {tuple(state.shape)}, but inputs are {tuple(inputs.shape)} and a state of this cell "
                f"{self.state_width} wide, so it must be {(inputs.shape[0], self.state_width)}."
            )
        if mask is not None and mask.shape != inputs.shape[:2]:
            raise ShapeError(
                f"mask is {tuple(mask.shape)}, but inputs are {tuple(inputs.shape)}, so it must be "
                f"{tuple(inputs.shape[:2])}. Build it with masks.padding(lengths)."
            )


def join(parts: Parts) -> Tensor:
    """Concatenate the parts of a state to one tensor (N, state_width)."""
    return parts[0] if len(parts) == 1 else torch.cat(parts, -1)


def check_inputs(inputs: Tensor, width: int, rank: int) -> None:
    """Raise unless inputs are one step (N, width), or at rank 3 several steps (B, T, width)."""
    if inputs.dim() != rank or inputs.shape[-1] != width or 0 in inputs.shape:
        form = f"(N, {width})" if rank == 2 else f"(B, T, {width})"
        raise ShapeError(f"inputs are {tuple(inputs.shape)}, but this layer reads {form}, with no axis of 0.")


class _TorchCell(Cell):
    """A cell whose parameters are in torch's own module, so that whole sequences use torch's fast kernels.

    The module is an RNNBase, the base class of nn.RNN, nn.GRU and nn.LSTM. torch.compile traces a step with it as
    one graph, but breaks the graph at any of those three.
    """

    mode: ClassVar[str]
    kernel: ClassVar[Callable[..., tuple[Tensor, ...]]]

    def __init__(self, input_width: int, width: int, state_width: int) -> None:
        super().__init__(input_width, width, state_width)
        self.rnn = nn.RNNBase(self.mode, input_width, width, batch_first=True)

    @property
    def input_weight(self) -> Tensor:
        return self.rnn.weight_ih_l0  # type: ignore[return-value]

    @property
    def input_bias(self) -> Tensor:
        return self.rnn.bias_ih_l0  # type: ignore[return-value]

    def recur(self, hidden: Tensor) -> Tensor:
        """Compute W_h h + b_h."""
        return F.linear(hidden, self.rnn.weight_hh_l0, self.rnn.bias_hh_l0)  # type: ignore[arg-type]

    def run(self, *inputs: Any, packed: bool = False) -> tuple[Tensor, ...]:
        """Call the kernel with this cell's parameters: biases, one layer, no dropout, one direction, batch first.

        The kernel's `train` argument says whether a backward pass may follow; without dropout it means nothing else.
        """
        options = (True, 1, 0.0, torch.is_grad_enabled(), False) + (() if packed else (True,))
        kind, weights = inputs[0].device.type, self.rnn.all_weights[0]
        autocast = kind == "cuda" and torch.is_autocast_enabled(kind)
        dtype = torch.get_autocast_dtype(kind) if autocast else weights[0].dtype
        # Autocast runs these kernels in float16 even if it is set to bfloat16; small gradients would underflow.
        # cuDNN needs the weights in one buffer, which torch does not prepare for bfloat16.
        if kind != "cuda" or (not autocast and dtype != torch.bfloat16):
            return self.kernel(*inputs, weights, *options)
        flat = torch.cat([weight.flatten() for weight in weights]).to(dtype)
        parts = flat.split([weight.numel() for weight in weights])
        shaped = [part.view_as(weight) for part, weight in zip(parts, weights, strict=True)]
        with torch.autocast(kind, enabled=False):
            return self.kernel(*(_cast(part, dtype) for part in inputs), shaped, *options)

    def sequence(self, inputs: Tensor, state: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        self.check_sequence(inputs, state, mask)
        hiddens, final = self.run(inputs, state[None].contiguous())
        if mask is None:
            return hiddens, final[0]
        return hiddens, masks.last(hiddens, mask)


def _cast(part: Any, dtype: torch.dtype) -> Any:
    """Convert a kernel's input, a tensor or a tuple of states, to a dtype; integer tensors are unchanged."""
    if isinstance(part, tuple):
        return tuple(state.to(dtype) for state in part)
    return part.to(dtype) if part.is_floating_point() else part


class Tanh(_TorchCell):
    """The vanilla RNN.

    h' = tanh(W_i x + b_i + W_h h + b_h)
    """

    mode, kernel = "RNN_TANH", staticmethod(torch.rnn_tanh)

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(input_width, width, width)

    def recurrence(self) -> Advance:
        return lambda gates, parts: (torch.tanh(gates + self.recur(parts[0])),)


class GRU(_TorchCell):
    """Torch's GRU: the reset gate applies after the matrix, the update gate keeps the old state.

    r, z = σ(W_rz x + U_rz h)        n = tanh(W_n x + r · (U_n h + b_n))        h' = (1 - z) · n + z · h
    """

    mode, kernel = "GRU", staticmethod(torch.gru)

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(input_width, width, width)

    def recurrence(self) -> Advance:
        return lambda gates, parts: (gru_cell(gates, self.recur(parts[0]), parts[0]),)


class LSTM(_TorchCell):
    """The LSTM.

    i, f, o = σ(W x + U h)    g = tanh(W_g x + U_g h)    c' = f · c + i · g    h' = o · tanh(c')

    state = [h ; c].
    """

    mode, kernel = "LSTM", staticmethod(torch.lstm)

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(input_width, width, 2 * width)

    def recurrence(self) -> Advance:
        return lambda gates, parts: lstm_cell(gates, self.recur(parts[0]), parts[1])

    def advance(self, gates: Tensor, state: Tensor, extra: Tensor | None = None) -> Tensor:
        """Return the next state; `extra` is added to the memory c' before h' is computed (the LSTMN's deep fusion)."""
        hidden, memory = self.split(state)
        return join(lstm_cell(gates, self.recur(hidden), memory, extra))

    def sequence(self, inputs: Tensor, state: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        self.check_sequence(inputs, state, mask)
        hidden, memory = (part[None].contiguous() for part in state.chunk(2, -1))
        if mask is None:
            hiddens, hidden, memory = self.run(inputs, (hidden, memory))
            return hiddens, torch.cat([hidden[0], memory[0]], -1)
        if is_recorded(inputs):
            return Cell.sequence(self, inputs, state, mask)
        # packed sequences cannot be traced; as a decorator, `disable` would import torch's compiler, which is slow
        packed = torch.compiler.disable(self._packed) if torch.compiler.is_compiling() else self._packed
        out: tuple[Tensor, Tensor] = packed(inputs, hidden, memory, mask)
        return out

    def hiddens(self, inputs: Tensor, mask: Tensor) -> Tensor:
        # Padding comes after the words, so packing is not needed. It would synchronize the GPU to read the lengths.
        # On a CPU, the backward pass of a packed sequence fills a tensor as large as all inputs for every step.
        if not inputs.is_cuda and not (torch.is_grad_enabled() and inputs.shape[1] > LONG):
            return super().hiddens(inputs, mask)
        zeros = inputs.new_zeros(1, inputs.shape[0], self.width)
        return self.run(inputs, (zeros, zeros))[0]

    def _packed(self, inputs: Tensor, hidden: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Run a packed sequence: torch returns the memory of the last step only, here each sentence's own last step."""
        lengths = masks.lengths_of(mask).cpu()
        if int(lengths.min()) == 0:
            raise DataError(f"sentence {int(lengths.argmin())} of the batch is empty: its mask keeps nothing.")
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        assert packed.sorted_indices is not None
        assert packed.unsorted_indices is not None
        first = (hidden.index_select(1, packed.sorted_indices), memory.index_select(1, packed.sorted_indices))
        data, hidden, memory = self.run(packed.data, packed.batch_sizes, first, packed=True)
        hiddens, _ = pad_packed_sequence(packed._replace(data=data), batch_first=True, total_length=inputs.shape[1])
        return hiddens, torch.cat([hidden[0], memory[0]], -1).index_select(0, packed.unsorted_indices)


class ResetBeforeGRU(Cell):
    """The GRU of the papers: the reset gate applies before the matrix.

        r, z = σ(W_rz x + U_rz h)        h̃ = tanh(W x + U (r · h))
        Cho:       h' = z · h + (1 - z) · h̃              (z keeps the old state)
        Bahdanau:  h' = (1 - z) · h + z · h̃              (z takes the new one)

    Papers: Cho et al. 2014, arXiv:1406.1078, section 2.3; Bahdanau et al. 2015, arXiv:1409.0473, appendix A.1.1.
    """

    def __init__(self, input_width: int, width: int, *, update_takes_new: bool) -> None:
        super().__init__(input_width, width, width)
        self.update_takes_new = update_takes_new
        bound = 1 / math.sqrt(width)
        self.weight_ih = nn.Parameter(torch.empty(3 * width, input_width).uniform_(-bound, bound))
        self.weight_hh = nn.Parameter(torch.empty(3 * width, width).uniform_(-bound, bound))
        self.bias_ih = nn.Parameter(torch.zeros(3 * width))

    @property
    def input_weight(self) -> Tensor:
        return self.weight_ih

    @property
    def input_bias(self) -> Tensor:
        return self.bias_ih

    def recurrence(self) -> Advance:
        sizes = [2 * self.width, self.width]
        of_gates, of_candidate = self.weight_hh.split(sizes)

        def advance(gates: Tensor, parts: Parts) -> Parts:
            (state,) = parts
            gates, proposal = gates.split(sizes, -1)
            reset, update = torch.sigmoid(gates + F.linear(state, of_gates)).chunk(2, -1)
            candidate = torch.tanh(proposal + F.linear(reset * state, of_candidate))
            return (mix(state, candidate, update) if self.update_takes_new else mix(candidate, state, update),)

        return advance


class ChoGRU(ResetBeforeGRU):
    """The update gate keeps the old state."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(input_width, width, update_takes_new=False)


class BahdanauGRU(ResetBeforeGRU):
    """The update gate takes the new state."""

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(input_width, width, update_takes_new=True)


CELLS: dict[str, Callable[[int, int], Cell]] = {
    "tanh": Tanh,
    "gru": GRU,
    "lstm": LSTM,
    "gru-cho": ChoGRU,
    "gru-bahdanau": BahdanauGRU,
}


def build_cell(name: str, input_width: int, width: int) -> Cell:
    """Build a cell by its name in CELLS."""
    return lookup("cell", name, CELLS)(input_width, width)


Layered = tuple[Parts, ...]
"""The states of a stack: the parts of each layer's state."""


class StackAdvance(Protocol):
    """The step function of a stack."""

    def __call__(self, gates: Tensor, layered: Layered, beside: Tensor | None = None) -> tuple[Tensor, Layered]:
        """Map the first layer's projected inputs (N, gates) and the upper layers' `beside` to output and states."""


class CellStack(nn.Module):
    """A stack of recurrent layers of one cell type; upper layers read the hidden states of the layer below.

    State (N, layers, state_width). With `residual` a layer's input is added to its output, from layer `residual_from`
    on, counted from 1. Layers above the first also read `beside` (N, beside_width), as [below ; beside]; a residual
    connection adds `below` alone. Dropout applies between layers; locked dropout uses one mask for all steps.
    """

    def __init__(
        self,
        cell: str,
        input_width: int,
        width: int,
        layers: int = 1,
        *,
        residual: bool = False,
        residual_from: int = 2,
        beside_width: int = 0,
        dropout: Dropout | None = None,
    ) -> None:
        super().__init__()
        inputs = [input_width, *[width + beside_width] * (layers - 1)]
        self.cells: Layers[Cell] = Layers(build_cell(cell, size, width) for size in inputs)
        self.input_width, self.width, self.layers = input_width, width, layers
        self.residual, self.residual_from, self.beside_width = residual, residual_from, beside_width
        self.dropout = dropout or Dropout(0.0)

    @property
    def first(self) -> Cell:
        """The lowest cell; a decoder calls its `project` before the loop."""
        return self.cells.at(0)

    @property
    def state_width(self) -> int:
        """The width of each layer's state."""
        return self.first.state_width

    def split(self, state: Tensor) -> Layered:
        """Split a state (N, layers, state_width) into the parts that a loop keeps."""
        return tuple(cell.split(part) for cell, part in zip(self.cells, state.unbind(1), strict=True))

    def join(self, layered: Layered) -> Tensor:
        """Join parts to a state, the inverse of `split`; with one layer the result may share its memory."""
        states = [join(parts) for parts in layered]
        return states[0][:, None] if len(states) == 1 else torch.stack(states, 1)

    def advance(self, gates: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Advance one step: projected inputs of the first layer (N, gates) -> output (N, width), state."""
        output, layered = self.recurrence()(gates, self.split(state))
        return output, self.join(layered)

    def recurrence(self) -> StackAdvance:
        """Return the step function of a loop; the top layer's hidden state is `layered[-1][0]`."""
        steps = [cell.recurrence() for cell in self.cells]
        drops = [self.dropout.over_steps() for _ in steps]

        def advance(gates: Tensor, layered: Layered, beside: Tensor | None = None) -> tuple[Tensor, Layered]:
            states = []
            output = gates
            layers = zip(self.cells, steps, drops, layered, strict=True)
            for layer, (cell, step, drop, before) in enumerate(layers):
                inputs = output if layer == 0 else drop(output)
                after = step(inputs if layer == 0 else cell.project(self.widened(inputs, beside)), before)
                output = after[0] + inputs if self.adds(layer) else after[0]
                states.append(after)
            return output, tuple(states)

        return advance

    def sequence(self, inputs: Tensor, state: Tensor, beside: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Run many steps, one call per layer: inputs (B, T, input_width) -> outputs (B, T, width), last state."""
        states = []
        output = inputs
        for layer, cell in enumerate(self.cells):
            inputs = output if layer == 0 else self.dropout(output)
            hiddens, after = cell.sequence(inputs if layer == 0 else self.widened(inputs, beside), state[:, layer])
            output = hiddens + inputs if self.adds(layer) else hiddens
            states.append(after)
        return output, torch.stack(states, 1)

    def adds(self, layer: int) -> bool:
        """Return whether a layer, counted from 0, has a residual connection."""
        return self.residual and layer + 1 >= self.residual_from

    def widened(self, below: Tensor, beside: Tensor | None) -> Tensor:
        """Return the inputs of an upper layer: [below ; beside], or `below` if beside_width is 0."""
        if not self.beside_width:
            return below
        assert beside is not None, "beside_width is set, so `beside` is needed"
        return torch.cat([below, beside], -1)

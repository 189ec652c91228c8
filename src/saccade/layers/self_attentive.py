"""SimpleRNN + self-attention: an RNN that attends to its own earlier states."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from saccade import pytree
from saccade.attention import Attention, AttentionState, Cache, MultiHead, Tape
from saccade.errors import unknown_name
from saccade.kernels.deferred_weight_grad import deferred_gradients
from saccade.layers.causal import CausalLayer
from saccade.layers.cells import build_cell, check_inputs

__all__ = ["SelfAttentiveRNN", "SelfAttentiveState"]


@pytree.node
class SelfAttentiveState:
    """State of a SelfAttentiveRNN.

    own: the states so far. recurrent (N, state_width): [context ; an LSTM's memory]. hidden (N, width): the last state.
    """

    own: Cache
    recurrent: Tensor
    hidden: Tensor
    past: AttentionState | None


class SelfAttentiveRNN(CausalLayer):
    """An RNN that reads an attention context over all states so far instead of the last state.

        h[t] = tanh(A [x[t] ; c[t-1]] + b)                       c[0] = 0
        c[t] = Σ_{i ≤ t} a[t, i] h[i],   a[t] = align(score(h[t], h[i]))

    The sum includes the current state, so c[1] = h[1]. `cell`: any cell; a GRU or LSTM also gets c[t-1] in place of
    h[t-1]. `keep_state`: the input becomes [x[t] ; h[t-1]], in addition to c[t-1]. `output`: the "state" h[t], the
    "context" c[t], or "both".
    """

    def __init__(
        self,
        attention: Attention | MultiHead,
        input_width: int,
        width: int,
        *,
        cell: str = "tanh",
        keep_state: bool = False,
        output: Literal["state", "context", "both"] = "both",
    ) -> None:
        super().__init__()
        if output not in ("state", "context", "both"):
            raise unknown_name("output", output, ("state", "context", "both"))
        self.attention = attention
        self.cell = build_cell(cell, input_width + width * keep_state, width)
        self.keep_state, self.output = keep_state, output
        self.input_width, self.hidden_width = input_width, width
        self.width = 2 * width if output == "both" else width

    def start(self, rows: int, max_length: int, like: Tensor) -> SelfAttentiveState:
        own = Cache.empty(self.attention, rows, max_length, self.hidden_width, like)
        return SelfAttentiveState(
            own,
            like.new_zeros(rows, self.cell.state_width),
            like.new_zeros(rows, self.hidden_width),
            self.attention.start(own.bank(ahead=1)),
        )

    def step(
        self, inputs: Tensor, state: SelfAttentiveState, *, tape: Tape | None = None
    ) -> tuple[Tensor, SelfAttentiveState]:
        check_inputs(inputs, self.input_width, rank=2)
        return self._advance(self.cell.project(inputs), state, tape)

    def forward(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        check_inputs(inputs, self.input_width, rank=3)
        gates = self.cell.project(inputs)  # projects the words of all steps in one matmul
        state = self.start(inputs.shape[0], inputs.shape[1], inputs)
        outputs = []
        with deferred_gradients(inputs.device):
            for t in range(inputs.shape[1]):
                output, state = self._advance(gates[:, t], state, tape)
                outputs.append(output)
        return torch.stack(outputs, 1)

    def _advance(
        self, gates: Tensor, state: SelfAttentiveState, tape: Tape | None
    ) -> tuple[Tensor, SelfAttentiveState]:
        if self.keep_state:
            gates = gates + self.cell.project(state.hidden, first=self.input_width)
        after = self.cell.advance(gates, state.recurrent)
        hidden, memory = after[:, : self.hidden_width], after[:, self.hidden_width :]
        position = state.own.count[:, None]
        own = state.own.add(*self.attention.project(hidden[:, None]))
        attended = self.attention(hidden[:, None], own.bank(), positions=position, past=state.past, tape=tape)
        context = attended.context[:, 0]
        kept = hidden.clone(memory_format=torch.contiguous_format)
        state = SelfAttentiveState(own, torch.cat([context, memory], -1), kept, attended.past)
        if self.output == "both":
            return torch.cat([hidden, context], -1), state
        return (hidden if self.output == "state" else context), state

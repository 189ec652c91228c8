"""The LSTMN: an LSTM that attends to all its earlier states instead of reading only the last."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from saccade import pytree
from saccade.attention import Attention, AttentionState, Bank, Cache, MultiHead, Tape
from saccade.kernels.deferred_weight_grad import deferred_gradients
from saccade.layers.causal import CausalLayer
from saccade.layers.cells import LSTM, check_inputs

__all__ = ["LSTMN", "DeepFusion", "LSTMNState"]


@pytree.node
class LSTMNState:
    """State of an LSTMN.

    own: the tapes [h ; c] so far. position (N,): the number of words read, not counting a seed.
    summary (N, D): h̃ of the last step. fused (N, D): γ̃, with deep fusion.
    """

    own: Cache
    position: Tensor
    summary: Tensor
    fused: Tensor | None
    past: AttentionState | None
    fusion_past: AttentionState | None


class LSTMN(CausalLayer):
    """An LSTM that attends to all its earlier hidden and memory states, the paper's two tapes.

        a[t, i] = align(score([x[t] ; h̃[t-1]], h[i])),  i < t
        h̃[t] = Σ a[t, i] h[i]        c̃[t] = Σ a[t, i] c[i]          (the same weights for both tapes)
        h[t], c[t] = LSTM(x[t], h̃[t], c̃[t])

    An empty tape gives zeros, so the first step is an LSTM's. With the additive score this is the paper's
    a = v·tanh(W_h h[i] + W_x x[t] + W_h̃ h̃[t-1]).
    Paper: Cheng et al. 2016, arXiv:1601.06733, equations 4 to 9.
    """

    def __init__(
        self, attention: Attention | MultiHead, input_width: int, width: int, *, fusion: DeepFusion | None = None
    ) -> None:
        super().__init__()
        self.attention, self.fusion = attention, fusion
        self.cell = LSTM(input_width, width)
        self.input_width, self.width = input_width, width

    def start(
        self, rows: int, max_length: int, like: Tensor, *, seed: Tensor | None = None, source: Bank | None = None
    ) -> LSTMNState:
        """Return the first state; `seed` (rows, 2·width): an [h ; c] to start the tapes, such as an encoder's last."""
        size = max_length if seed is None else max_length + 1
        own = Cache.empty(self.attention, rows, size, 2 * self.width, like)
        if seed is not None:
            own = self._remember(own, seed)
        position = torch.zeros(rows, dtype=torch.long, device=like.device)
        zeros, past = like.new_zeros(rows, self.width), self.attention.start(own.bank())
        if self.fusion is None or source is None:
            return LSTMNState(own, position, zeros, None, past, None)
        return LSTMNState(own, position, zeros, zeros.clone(), past, self.fusion.attention.start(source, rows))

    def step(
        self, inputs: Tensor, state: LSTMNState, *, source: Bank | None = None, tape: Tape | None = None
    ) -> tuple[Tensor, LSTMNState]:
        """Advance one step; `source` holds the other sequence's tapes, for deep fusion."""
        check_inputs(inputs, self.input_width, rank=2)
        after, state = self._advance(inputs, self.cell.project(inputs), state, source, tape)
        return after[:, : self.width], state

    def forward(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        return self.read(inputs, tape=tape)[..., : self.width]

    def read(self, inputs: Tensor, *, tape: Tape | None = None) -> Tensor:
        """Return both tapes (B, T, 2·width), to which a second sequence can attend."""
        return self.extend(inputs, self.start(inputs.shape[0], inputs.shape[1], inputs), tape=tape)[0]

    def extend(
        self, inputs: Tensor, state: LSTMNState, *, source: Bank | None = None, tape: Tape | None = None
    ) -> tuple[Tensor, LSTMNState]:
        """Run many steps: inputs (N, T, input_width) -> tapes [h ; c] (N, T, 2·width), state."""
        check_inputs(inputs, self.input_width, rank=3)
        gates = self.cell.project(inputs)  # projects the words of all steps in one matmul
        tapes = []
        with deferred_gradients(inputs.device):
            for t in range(inputs.shape[1]):
                after, state = self._advance(inputs[:, t], gates[:, t], state, source, tape)
                tapes.append(after)
        return torch.stack(tapes, 1), state

    def _advance(
        self, inputs: Tensor, gates: Tensor, state: LSTMNState, source: Bank | None, tape: Tape | None
    ) -> tuple[Tensor, LSTMNState]:
        query = torch.cat([inputs, state.summary], -1)[:, None]  # (N, 1, E + D)
        place = state.own.count[:, None]
        attended = self.attention(query, state.own.bank(), positions=place, past=state.past, tape=tape)
        recalled = attended.context[:, 0]  # [h̃ ; c̃]
        extra = fused = fusion_past = None
        if self.fusion is not None and source is not None and state.fused is not None:
            extra, fused, fusion_past = self.fusion(
                inputs, state.fused, source, position=state.position[:, None], past=state.fusion_past, tape=tape
            )
        after = self.cell.advance(gates, recalled, extra)  # [h ; c]
        own = self._remember(state.own, after)
        summary = recalled[:, : self.width].clone(memory_format=torch.contiguous_format)
        return after, LSTMNState(own, state.position + 1, summary, fused, attended.past, fusion_past)

    def _remember(self, own: Cache, state: Tensor) -> Cache:
        hidden = state[:, None, : self.width]
        return own.add(*self.attention.project(hidden, state[:, None]))


class DeepFusion(nn.Module):
    """Deep fusion: an LSTMN step attends to the tapes of another sequence.

        b[t, j] = align(score([x[t] ; γ̃[t-1]], γ[j]))
        γ̃[t] = Σ b[t, j] γ[j]        α̃[t] = Σ b[t, j] α[j]
        r[t] = σ(W_r [γ̃[t] ; x[t]])        added to the memory: r[t] · α̃[t]

    γ, α: the other sequence's hidden and memory tapes.
    Paper: Cheng et al. 2016, arXiv:1601.06733, section 3.2, equations 12 to 17.
    """

    def __init__(self, attention: Attention | MultiHead, input_width: int, width: int) -> None:
        super().__init__()
        self.attention = attention
        self.gate = nn.Linear(width + input_width, width)

    def forward(
        self,
        inputs: Tensor,
        fused: Tensor,
        source: Bank,
        *,
        position: Tensor | None = None,
        past: AttentionState | None = None,
        tape: Tape | None = None,
    ) -> tuple[Tensor, Tensor, AttentionState | None]:
        """Map inputs (N, E) and the last step's γ̃ (N, D) to r · α̃, the new γ̃ and the attention state."""
        query = torch.cat([inputs, fused], -1)[:, None]
        attended = self.attention(query, source, positions=position, past=past, tape=tape)
        hidden, memory = attended.context[:, 0].chunk(2, -1)
        gate = torch.sigmoid(self.gate(torch.cat([hidden, inputs], -1)))
        return gate * memory, hidden.clone(memory_format=torch.contiguous_format), attended.past

"""LSTM and GRU cells by definition: the reference for `fused.py`."""

import torch
from torch import Tensor

__all__ = ["mix", "naive_gru_cell", "naive_lstm_cell"]


def naive_lstm_cell(
    gates: Tensor, of_hidden: Tensor, memory: Tensor, extra: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute i, f, o = σ(…), g = tanh(…), c' = f · c + i · g [+ extra], h' = o · tanh(c').

    gates, of_hidden (N, 4D): the inputs' and the hidden state's terms of i, f, g, o; memory c (N, D) -> h', c'
    """
    i, f, g, o = (gates + of_hidden).chunk(4, -1)
    memory = torch.sigmoid(f) * memory + torch.sigmoid(i) * torch.tanh(g)
    if extra is not None:
        memory = memory + extra
    return torch.sigmoid(o) * torch.tanh(memory), memory


def naive_gru_cell(gates: Tensor, of_hidden: Tensor, hidden: Tensor) -> Tensor:
    """Compute r, z = σ(…), n = tanh(gates_n + r · of_hidden_n), h' = (1 - z) · n + z · h.

    gates, of_hidden (N, 3D): the inputs' and the hidden state's terms of r, z, n; hidden h (N, D) -> h'
    """
    width = hidden.shape[-1]
    gates, proposal = gates.split([2 * width, width], -1)
    of_gates, of_proposal = of_hidden.split([2 * width, width], -1)
    reset, update = torch.sigmoid(gates + of_gates).chunk(2, -1)
    return mix(torch.tanh(proposal + reset * of_proposal), hidden, update)


def mix(old: Tensor, new: Tensor, share: Tensor) -> Tensor:
    """Compute (1 - share) · old + share · new; unlike torch.lerp it takes the mixed dtypes of autocast."""
    return old + share * (new - old)

"""Choose the implementation of recurrent cells."""

from __future__ import annotations

from torch import Tensor

from saccade.kernels.cells.naive import naive_gru_cell, naive_lstm_cell
from saccade.kernels.dispatch import fusable

__all__ = ["gru_cell", "lstm_cell"]


def lstm_cell(gates: Tensor, of_hidden: Tensor, memory: Tensor, extra: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Compute `naive_lstm_cell`, fused on a GPU with Triton."""
    if not fusable(gates, of_hidden, memory, extra):
        return naive_lstm_cell(gates, of_hidden, memory, extra)
    from saccade.kernels.cells.fused import fused_lstm_cell

    return fused_lstm_cell(gates, of_hidden, memory, extra)


def gru_cell(gates: Tensor, of_hidden: Tensor, hidden: Tensor) -> Tensor:
    """Compute `naive_gru_cell`, fused on a GPU with Triton."""
    if not fusable(gates, of_hidden, hidden):
        return naive_gru_cell(gates, of_hidden, hidden)
    from saccade.kernels.cells.fused import fused_gru_cell

    return fused_gru_cell(gates, of_hidden, hidden)

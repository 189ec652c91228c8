"""LSTM and GRU cells after their matmuls: gates and states."""

from saccade.kernels.cells.choose import gru_cell, lstm_cell
from saccade.kernels.cells.naive import mix

__all__ = ["gru_cell", "lstm_cell", "mix"]

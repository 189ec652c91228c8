"""Dropout: torch's own on accelerators, a cheaper draw on the CPU."""

from saccade.kernels.dropout.bytewise import Dropout, dropout

__all__ = ["Dropout", "dropout"]

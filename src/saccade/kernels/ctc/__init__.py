"""The loss of connectionist temporal classification (CTC)."""

from saccade.kernels.ctc.recursion import ctc_losses

__all__ = ["ctc_losses"]

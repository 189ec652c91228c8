"""Softmax attention over inner products: the fused form where nobody needs the weights."""

from saccade.kernels.dot.sdpa import Sight, fused_attention

__all__ = ["Sight", "fused_attention"]

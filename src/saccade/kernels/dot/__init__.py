"""Softmax attention over inner products: fused kernels for callers that need no attention weights."""

from saccade.kernels.dot.few import few_collect
from saccade.kernels.dot.sdpa import Sight, fused_attention

__all__ = ["Sight", "few_collect", "fused_attention"]

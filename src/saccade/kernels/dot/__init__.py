"""Softmax attention over inner products: the fused form where nobody needs the weights."""

from saccade.kernels.dot.few import few_collect
from saccade.kernels.dot.sdpa import Sight, fused_attention

__all__ = ["Sight", "few_collect", "fused_attention"]

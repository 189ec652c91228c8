"""Additive scores, v · tanh(q + k): by definition where that is small, else without T·S·A numbers in memory."""

from saccade.kernels.additive.choose import additive_scores

__all__ = ["additive_scores"]

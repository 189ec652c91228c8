"""Additive scores, v · tanh(q + k), and attention by them: T·S·A numbers are in memory only where they are few."""

from saccade.kernels.additive.choose import additive_attend, additive_collect, additive_scores

__all__ = ["additive_attend", "additive_collect", "additive_scores"]

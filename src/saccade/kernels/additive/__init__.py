"""Additive scores, v · tanh(q + k), and attention with them; large inputs never store all T·S·A numbers."""

from saccade.kernels.additive.choose import additive_attend, additive_collect, additive_scores, attends_at_once
from saccade.kernels.additive.collect import collected_matrix

__all__ = ["additive_attend", "additive_collect", "additive_scores", "attends_at_once", "collected_matrix"]

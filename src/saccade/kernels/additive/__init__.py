"""Additive scores, v · tanh(q + k), and attention by them: T·S·A numbers are in memory only where they are few."""

from saccade.kernels.additive.choose import additive_attend, additive_collect, additive_scores, attends_at_once
from saccade.kernels.additive.collect import collected_matrix

__all__ = ["additive_attend", "additive_collect", "additive_scores", "attends_at_once", "collected_matrix"]

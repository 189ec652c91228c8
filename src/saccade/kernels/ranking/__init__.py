"""The best words of rows of logits, without computing all log-probabilities."""

from saccade.kernels.ranking.choose import best, best_together

__all__ = ["best", "best_together"]

"""The best of many words, without the probabilities of all."""

from saccade.kernels.ranking.choose import best, best_together

__all__ = ["best", "best_together"]

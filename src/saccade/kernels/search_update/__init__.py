"""The state update of a search after each step: live hypotheses, finished hypotheses and finished sentences."""

from saccade.kernels.search_update.state import Beams, Pool, Walks

__all__ = ["Beams", "Pool", "Walks"]

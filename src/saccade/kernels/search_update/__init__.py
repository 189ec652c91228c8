"""A step of a search by its bookkeeping: who goes on, who has ended, who is done."""

from saccade.kernels.beams.state import Beams, Pool, Walks

__all__ = ["Beams", "Pool", "Walks"]

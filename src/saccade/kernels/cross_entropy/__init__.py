"""Cross-entropy of an output layer over many classes, with label smoothing, a few rows of logits at a time."""

from saccade.kernels.cross_entropy.choose import cross_entropy
from saccade.kernels.cross_entropy.chunked import chunked_from_logits as from_logits
from saccade.kernels.cross_entropy.losses import Losses

__all__ = ["Losses", "cross_entropy", "from_logits"]

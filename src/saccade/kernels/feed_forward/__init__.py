"""Two linear layers with a ReLU between them, as one operation where they learn on a GPU."""

from saccade.kernels.feed_forward.choose import feed_forward

__all__ = ["feed_forward"]

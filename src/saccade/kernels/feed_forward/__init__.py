"""Two linear layers with a ReLU between them; one operation when training on a GPU."""

from saccade.kernels.feed_forward.choose import feed_forward

__all__ = ["feed_forward"]

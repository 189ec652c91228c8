"""Linear layers with a fast bias gradient, and several layers over one input as one matmul."""

from saccade.kernels.linear.choose import bare, learns, linear, together

__all__ = ["bare", "learns", "linear", "together"]

"""Linear layers with a fast gradient of the bias, and several over one input as one product."""

from saccade.kernels.linear.choose import bare, learns, linear, together

__all__ = ["bare", "learns", "linear", "together"]

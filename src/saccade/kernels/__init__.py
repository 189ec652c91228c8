"""Fast kernels, one folder per operation; tests compare each with a reference in `naive.py` or in the tests.

In all of them `to_x` is the gradient of the loss with respect to `x`.
"""

from saccade.deprecated import renamed
from saccade.kernels.dispatch import disable_fused

__all__ = ["disable_fused"]

__getattr__ = renamed(__name__, {"plain": ("saccade.kernels", "disable_fused")})
